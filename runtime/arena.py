"""Temporary memory of a compiled program: one block per concurrent call, laid out for the call's sizes.

Offsets are planned for symbols rounded up to powers of two and serve every smaller assignment, so a cache
that grows by one row per call is planned anew only when it doubles.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from luminal.errors import RuntimeFailure

from ..dialects.symbolic import compiled
from ..passes.plan_memory import ALIGNMENT, Layout, place, round_up
from ..passes.schedule import Schedule


@dataclass(frozen=True)
class ArenaPlan:
    """Offsets of the arena's blocks, the sizes they were planned for, and the bytes in all."""

    offsets: np.ndarray
    sizes: tuple[int, ...]
    total: int


class ArenaPlanner:
    """Plans of one program by symbol values; keeps the latest ones."""

    _KEPT = 64

    def __init__(self, schedule: Schedule, layout: Layout, max_memory: int | None = None) -> None:
        self._symbols = schedule.symbols
        self._blocks = layout.arena_blocks
        self._static = sum(layout.static_blocks)
        self._max_memory = max_memory
        # Few distinct expressions: layers repeat the same sizes.
        expressions = list(dict.fromkeys(block.size for block in self._blocks))
        self._evaluate = compiled(tuple(expressions), len(self._symbols))
        self._expression_of = [expressions.index(block.size) for block in self._blocks]
        self._plans: dict[tuple[int, ...], ArenaPlan] = {}
        self._lock = threading.Lock()

    def plan(self, values: tuple[int, ...]) -> ArenaPlan:
        """A plan that holds every block at these symbol values.

        Raises RuntimeFailure if it exceeds `max_memory`.
        """
        sizes = self._evaluate(values)
        rounded = round_up(self._symbols, values)
        with self._lock:
            plan = self._plans.get(rounded)
            if plan is None or any(need > have for need, have in zip(sizes, plan.sizes, strict=True)):
                # Planning for the larger of both covers a size that shrinks where a symbol grows.
                plan = self._make(tuple(map(max, sizes, self._evaluate(rounded))))
                if self._too_big(plan):
                    plan = self._make(sizes)
                if self._too_big(plan):
                    named = ", ".join(f"{s.name} = {v}" for s, v in zip(self._symbols, values, strict=True))
                    need = f"a call needs {plan.total + self._static} bytes besides its inputs and results"
                    sizes_text = named or "all sizes are fixed"
                    raise RuntimeFailure(f"{need} ({sizes_text}); max_memory is {self._max_memory}")
                if len(self._plans) >= self._KEPT:
                    self._plans.pop(next(iter(self._plans)))
                self._plans[rounded] = plan
        return plan

    def _too_big(self, plan: ArenaPlan) -> bool:
        return self._max_memory is not None and plan.total + self._static > self._max_memory

    def _make(self, sizes: tuple[int, ...]) -> ArenaPlan:
        offsets, total = place(self._blocks, [sizes[k] for k in self._expression_of])
        return ArenaPlan(np.array(offsets, np.uint64), sizes, total)

    @property
    def largest(self) -> int:
        """Bytes of the largest plan that calls have needed so far; 0 before the first."""
        with self._lock:
            return max((plan.total for plan in self._plans.values()), default=0)

    def block_size(self, plan: ArenaPlan, block: int) -> int:
        """Bytes planned for an arena block."""
        return plan.sizes[self._expression_of[block]]


def aligned(size: int) -> np.ndarray:
    """Uninitialised bytes whose address is a multiple of the arena's alignment."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]
