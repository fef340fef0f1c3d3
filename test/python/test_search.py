"""The search: what it measures decides, its budget holds, and memory stays within its limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import nn

import luminal
from luminal.dialects.mlir import ir
from luminal.errors import LuminalError
from luminal.passes.eqsat.cost import Machine
from luminal.passes.eqsat.samples import KernelSample
from luminal.passes.luminal_eqsat import LuminalEqsatOptions, luminal_eqsat
from luminal.passes.torch_to_luminal.frontend import import_exported_program


def randn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Chain(nn.Module):
    """A product, then a row-wise normalization and another product: many ways to cut it into kernels."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.up, self.down = nn.Linear(16, 48), nn.Linear(48, 16)

    def forward(self, x):
        return self.down(torch.softmax(torch.tanh(self.up(x)), -1)) + x


class FakeTimer:
    """Answers by a function of the kernel's text; counts what it is asked."""

    machine = Machine()

    def __init__(self, seconds: Callable[[str], float | None]) -> None:
        self.seconds = seconds
        self.asked: list[str] = []

    def time(
        self,
        samples: Sequence[KernelSample],
        limits: Sequence[float | None] | None = None,
        again: bool = False,
    ) -> list[float | None]:
        if not again:
            self.asked += [sample.text for sample in samples]
        assert all(sample.module.verify() for sample in samples)
        return [self.seconds(sample.text) for sample in samples]


def searched(module: nn.Module, args: tuple[torch.Tensor, ...], timer: FakeTimer | None) -> tuple[str, dict]:
    exported = torch.export.export(module, args, strict=False)
    program = import_exported_program(exported)
    with program.module.context, ir.Location.unknown():
        statistics = luminal_eqsat(program.module.operation, LuminalEqsatOptions(), timer)
        return str(program.module), dict(statistics)


def test_the_faster_kernels_win_whatever_the_estimate_says() -> None:
    args = (randn(8, 16),)
    by_estimate, _ = searched(Chain(), args, None)
    launches = FakeTimer(lambda text: 1e-3)
    fewest, _ = searched(Chain(), args, launches)
    loves_tanh = FakeTimer(
        lambda text: 1e-6 if text.count("kernel.tanh") == 1 and "contract" not in text else 1e-3
    )
    apart, _ = searched(Chain(), args, loves_tanh)
    assert by_estimate.count('"kernel.tanh"') >= 1
    assert fewest.count('"kernel.region"') <= by_estimate.count('"kernel.region"')
    assert apart != fewest


def test_every_distinct_kernel_is_asked_for_once() -> None:
    timer = FakeTimer(lambda text: 1e-6 * (1 + len(text) % 7))
    _, statistics = searched(Chain(), (randn(8, 16),), timer)
    assert timer.asked
    assert len(set(timer.asked)) == len(timer.asked)
    assert any(found["candidates"] for found in statistics["alternatives"])


def test_without_figures_the_estimate_stands() -> None:
    silent = FakeTimer(lambda text: None)
    text, _ = searched(Chain(), (randn(8, 16),), silent)
    assert text == searched(Chain(), (randn(8, 16),), None)[0]


def test_equal_figures_give_equal_programs() -> None:
    texts = {
        searched(Chain(), (randn(8, 16),), FakeTimer(lambda text: 1e-6 * (1 + hash_of(text) % 97)))[0]
        for _ in range(2)
    }
    assert len(texts) == 1


def hash_of(text: str) -> int:
    return sum(ord(c) * (i + 1) for i, c in enumerate(text))


@pytest.mark.parametrize("salt", range(6))
def test_whatever_is_measured_the_result_is_eagers(salt: int) -> None:
    """Figures at random lead to programs that no estimate would choose."""
    from luminal.runtime.interpreter.kernel import run_l2

    module, x = Chain().eval(), randn(8, 16)
    exported = torch.export.export(module, (x,), strict=False)
    program = import_exported_program(exported)
    arrays = [(a.tensor if a.tensor is not None else x).detach().numpy() for a in program.arguments]
    timer = FakeTimer(lambda text: 1e-6 * (1 + (hash_of(text) * (salt + 3)) % 101))
    with program.module.context, ir.Location.unknown():
        luminal_eqsat(program.module.operation, LuminalEqsatOptions(), timer)
        (result,) = run_l2(program.module, arrays)
    torch.testing.assert_close(torch.from_numpy(result), module(x), rtol=1e-5, atol=1e-5)


def test_measured_on_this_machine(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LUMINAL_TUNING_DB", str(tmp_path / "tuning"))
    module, x = Chain().eval(), randn(8, 16)
    options = {"search_seconds": 20.0, "search_candidates": 12}
    compiled = luminal.compile(module, (x,), options=options)
    torch.testing.assert_close(compiled(x), module(x), rtol=1e-5, atol=1e-5)
    outcomes = [entry.outcome for entry in compiled.statistics["search"]["log"]]
    assert 0 < outcomes.count("measured") + outcomes.count("rough") <= 12
    again = luminal.compile(module, (x,), options=options)
    assert "measured" in outcomes
    assert "known" in [entry.outcome for entry in again.statistics["search"]["log"]]


class Unfused(nn.Module):
    """Two products with a softmax between: by contractions alone the matrix between must be stored."""

    def forward(self, q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2), -1) @ v


ARGS = randn(2, 128, 8), randn(2, 128, 8, seed=1), randn(2, 128, 8, seed=2)
MATRIX = 2 * 128 * 128 * 4


def test_less_memory_where_it_is_short() -> None:
    plenty = luminal.compile(Unfused(), ARGS, options=without_attention(10 * MATRIX))
    assert plenty.statistics["luminal-eqsat"]["planned bytes"] == 2 * MATRIX
    short = luminal.compile(Unfused(), ARGS, options=without_attention(MATRIX))
    assert short.statistics["luminal-eqsat"]["planned bytes"] <= MATRIX
    torch.testing.assert_close(short(*ARGS), Unfused()(*ARGS), rtol=1e-5, atol=1e-5)


def test_an_impossible_limit_says_the_least_possible() -> None:
    with pytest.raises(LuminalError, match=rf"max_memory is 100 bytes, but the least .* is {MATRIX} bytes"):
        luminal.compile(Unfused(), ARGS, options=without_attention(100))


def without_attention(limit: int) -> dict:
    return {"max_memory": limit, "disable_rules": ("attention",)}
