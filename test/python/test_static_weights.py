"""What weights alone determine is computed once, when they are loaded, and not in each call."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import luminal
from luminal.runtime import pipeline


class Model(torch.nn.Module):
    """`function(x, *weights)` with the weights as parameters."""

    def __init__(self, function: Callable[..., torch.Tensor], *weights: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        self.weights = torch.nn.ParameterList(weights)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x, *self.weights)


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


MODELS = {
    "scaled weight": (lambda x, w: x @ (w.t() * 0.3), (randn(128, 128),), ["kernel.mul"]),
    "weight norm": (
        lambda x, v, g: x @ (v * (g / v.norm(dim=1, keepdim=True))).t(),
        (randn(128, 128), randn(128, 1, seed=1)),
        ["kernel.div", "kernel.sqrt"],
    ),
    "half weight": (lambda x, w: x @ w.float().t(), (randn(128, 128).half(),), ["kernel.cast"]),
    "concatenated weights": (
        lambda x, a, b: x @ torch.cat([a, b]).t(),
        (randn(64, 128), randn(64, 128, seed=1)),
        ["kernel.select"],
    ),
    "reduced weight": (lambda x, w: x * w.exp().sum(0), (randn(128, 128),), ["kernel.exp"]),
    "elementwise": (lambda x, w: x * w.tanh().exp(), (randn(128, 128),), ["kernel.exp", "kernel.tanh"]),
}


@pytest.mark.parametrize("name", MODELS)
def test_work_on_weights_is_done_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, weights, once = MODELS[name]
    kernels: dict[str, str] = {}
    build = pipeline.Program

    def spy(schedule, layout, *rest):  # type: ignore[no-untyped-def]
        for kind, steps in (("static", layout.static_steps), ("call", layout.steps)):
            kernels[kind] = "".join(str(schedule.kernels[schedule.steps[s].kernel].op) for s in steps)
        return build(schedule, layout, *rest)

    monkeypatch.setattr(pipeline, "Program", spy)
    model, x = Model(function, *weights).eval(), randn(128, 128, seed=2)
    compiled = luminal.compile(model, (x,))
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-3)
        for op in once:
            assert f'"{op}"' in kernels["static"]
            assert f'"{op}"' not in kernels["call"]
        model.weights[0].mul_(0.5)  # a change in place is noticed: the work is done again
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-3)
