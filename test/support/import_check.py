"""Compare the import of a function, run by the L1 reference interpreter, with PyTorch eager."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_leaves

from luminal.passes.torch_to_luminal.frontend import ImportedProgram, import_exported_program
from luminal.runtime.binding import draw_seed
from luminal.runtime.interpreter import run_l1

DYNAMIC = torch.export.Dim.DYNAMIC
NAN, INF = float("nan"), float("inf")
# (relative, absolute) tolerance by dtype: sums may be taken in another order, halves may round once less.
TOLERANCE = {
    torch.float64: (1e-9, 1e-9),
    torch.float32: (1e-4, 1e-5),
    torch.float16: (2e-3, 1e-3),
    torch.bfloat16: (1e-2, 1e-2),
}


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def randn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Seeded normal values."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def import_function(
    function: Callable[..., Any], *arguments: Any, dynamic: Sequence[dict[int, Any] | None] | None = None
) -> ImportedProgram:
    """Export `function` and import it. `dynamic` gives one {axis: Dim} (or None) per argument."""
    shapes = (tuple(dynamic),) if dynamic is not None else None
    return import_exported_program(
        torch.export.export(_Module(function), arguments, dynamic_shapes=shapes, strict=False)
    )


def interpret(program: ImportedProgram, arguments: Sequence[Any]) -> list[Any]:
    """The program's outputs on these inputs, by the reference interpreter."""
    flat = tree_leaves(arguments)
    operands = [
        draw_seed() if a.kind == "seed" else flat[a.position] if a.position is not None else a.tensor
        for a in program.arguments
    ]
    results = run_l1(program.module, [_to_numpy(operand) for operand in operands])
    return [output.value if output.result is None else results[output.result] for output in program.outputs]


def check(
    function: Callable[..., Any],
    *arguments: Any,
    more: Sequence[Sequence[Any]] = (),
    dynamic: Sequence[dict[int, Any] | None] | None = None,
    exact: bool = False,
    signed_zero: bool = False,
) -> ImportedProgram:
    """Assert that the import agrees with eager on `arguments` and on each tuple of `more`."""
    program = import_function(function, *arguments, dynamic=dynamic)
    for inputs in (arguments, *more):
        wanted = tree_leaves(function(*(v.clone() if isinstance(v, torch.Tensor) else v for v in inputs)))
        got = interpret(program, inputs)
        assert len(got) == len(wanted)
        for number, (ours, theirs) in enumerate(zip(got, wanted, strict=True)):
            if isinstance(theirs, torch.Tensor):
                _compare(ours, theirs, f"output {number}", exact, signed_zero)
    return program


def _to_numpy(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16)
    return tensor.numpy()


def _compare(ours: np.ndarray, theirs: torch.Tensor, where: str, exact: bool, signed_zero: bool) -> None:
    mine = torch.from_numpy(np.array(ours.view(np.int16) if ours.dtype == np.uint16 else ours))
    mine = mine.view(torch.bfloat16) if ours.dtype == np.uint16 else mine
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, where
    if not theirs.dtype.is_floating_point:
        assert torch.equal(mine, theirs), f"{where}: {mine} != {theirs}"
        return
    relative, absolute = (0.0, 0.0) if exact else TOLERANCE[theirs.dtype]
    close = torch.allclose(mine, theirs, rtol=relative, atol=absolute, equal_nan=True)
    assert close, f"{where}: {mine} != {theirs}"
    if signed_zero:
        numbers = ~theirs.isnan()
        assert torch.equal(torch.signbit(mine)[numbers], torch.signbit(theirs)[numbers]), where
