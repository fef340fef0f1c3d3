"""Saturation stays linear in the program: random elementwise DAGs of 200 steps, and long chains.

Bounds are on e-nodes and rounds, not on seconds: a rule that multiplies forms shows at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch

from luminal.dialects.mlir import ir
from luminal.dialects.types import scope_of
from luminal.passes.canonicalize_views import CanonicalizeViewsOptions, canonicalize_views
from luminal.passes.eqsat.encode import Encoder
from luminal.passes.eqsat.index_table import IndexTable
from luminal.passes.eqsat.saturate import Saturation, Statistics
from luminal.passes.torch_to_luminal.frontend import import_exported_program

STEPS = 200
Pool = list[torch.Tensor]


def chain(pool: Pool, draw: random.Random) -> torch.Tensor:
    """Each step reads the last value and an input."""
    return draw.choice((torch.add, torch.mul, torch.sub))(pool[-1], pool[draw.randrange(3)])


def diamonds(pool: Pool, draw: random.Random) -> torch.Tensor:
    """Two paths from one value meet again."""
    x = pool[-1]
    return draw.choice((torch.add, torch.mul))(x.sin() if draw.random() < 0.5 else x.neg(), x)


def fan_out(pool: Pool, draw: random.Random) -> torch.Tensor:
    """Any two earlier values."""
    return draw.choice((torch.add, torch.mul, torch.sub, torch.maximum))(draw.choice(pool), draw.choice(pool))


def broadcasts(pool: Pool, draw: random.Random) -> torch.Tensor:
    """Rows and columns of earlier values are spread."""
    x, y = draw.choice(pool[-8:]), draw.choice(pool)
    return x + (y[:1] if draw.random() < 0.5 else y[:, :1])


def choices(pool: Pool, draw: random.Random) -> torch.Tensor:
    """Selects by comparisons."""
    x, y, z = (draw.choice(pool[-10:]) for _ in range(3))
    return torch.where(x < y, z, x)


def casts(pool: Pool, draw: random.Random) -> torch.Tensor:
    """Half types in between."""
    x = draw.choice(pool[-5:])
    half = draw.choice((torch.float16, torch.bfloat16))
    return x.to(half).float() * draw.choice(pool)


KINDS: dict[str, tuple[Callable[[Pool, random.Random], torch.Tensor], int]] = {
    "chain": (chain, 12),
    "diamonds": (diamonds, 12),
    "fan-out": (fan_out, 20),
    "broadcasts": (broadcasts, 20),
    "choices": (choices, 40),
    "casts": (casts, 25),
}
"""A step, and how many e-nodes it may cost."""


class Drawn(torch.nn.Module):
    """A program of STEPS steps."""

    def __init__(self, step: Callable[[Pool, random.Random], torch.Tensor]) -> None:
        super().__init__()
        self.step = step

    def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        pool, draw = [a, b, c], random.Random(0)
        for _ in range(STEPS):
            pool.append(self.step(pool, draw))
        return pool[-1]


def saturated(module: torch.nn.Module, *inputs: torch.Tensor, fast_math: bool = False) -> Statistics:
    imported = import_exported_program(torch.export.export(module, inputs, strict=False))
    with imported.module.context, ir.Location.unknown():
        canonicalize_views(imported.module.operation, CanonicalizeViewsOptions())
        (function,) = [
            o.operation for o in imported.module.body.operations if o.operation.name == "func.func"
        ]
        with scope_of(function):
            table = IndexTable(32)
            saturation = Saturation(table, fast_math=fast_math)
            saturation.saturate(Encoder(table).encode(function))
    return saturation.statistics


@pytest.mark.parametrize("fast_math", [False, True], ids=["exact", "fast"])
@pytest.mark.parametrize("kind", KINDS)
def test_random_programs(kind: str, fast_math: bool) -> None:
    step, nodes = KINDS[kind]
    inputs = [torch.ones(8, 16) for _ in range(3)]
    found = saturated(Drawn(step), *inputs, fast_math=fast_math)
    assert found.nodes < nodes * STEPS
    assert found.rounds <= 4


class Sum(torch.nn.Module):
    """One long sum."""

    def __init__(self, terms: int) -> None:
        super().__init__()
        self.terms = terms

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = x
        for k in range(self.terms):
            total = total + x * float(k + 2)
        return total


@pytest.mark.parametrize("fast_math", [False, True], ids=["exact", "fast"])
def test_a_long_sum_grows_with_its_length(fast_math: bool) -> None:
    short, long = (saturated(Sum(n), torch.ones(64), fast_math=fast_math).nodes for n in (50, 200))
    assert long < 5 * short
