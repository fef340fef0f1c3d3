"""Extraction: choose which tensors exist in memory and which kernel computes each, so that the whole
program's estimated time is least.

Cost is counted over the DAG (a tensor read twice is computed once). The search starts with every tensor in
memory, then moves single tensors
in and out of memory while the total falls. It is deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...errors import LoweringError
from .analysis import Analysis, is_leaf
from .body import Evaluator
from .cost import Machine, kernel_seconds
from .kernels import Kernel, build


@dataclass
class Choice:
    """The chosen kernels by tensor class, with the program's estimated seconds."""

    kernels: dict[int, Kernel]
    order: list[int]
    seconds: float


@dataclass
class Extractor:
    """Extracts one function. `roots`: tensor classes that must exist (results, call operands)."""

    analysis: Analysis
    roots: list[int]
    machine: Machine = field(default_factory=Machine)

    def __post_init__(self) -> None:
        self.graph = self.analysis.graph
        self.memory: dict[int, bool] = {}
        self.forced: set[int] = set()
        self._kernels: dict[int, list[tuple[dict[int, bool], Kernel | None, float]]] = {}

    def extract(self, sweeps: int = 4) -> Choice:
        """Run the search."""
        for tensor in self.analysis.stored:
            self.memory[tensor] = True
        for root in self.roots:
            self.forced.add(root)
        order = self._reachable()
        for _ in range(sweeps):
            if not self._sweep(order):
                break
            order = self._reachable()
        order = self._reachable()
        kernels = {t: self._require(t) for t in order}
        return Choice(kernels, order, sum(self._cost(t) for t in order))

    # Kernels of the present choice.

    def _in_memory(self, tensor: int) -> bool:
        return self.memory.get(tensor, True)

    def _lookup(self, tensor: int) -> tuple[Kernel | None, float]:
        for consulted, kernel, seconds in self._kernels.get(tensor, ()):
            if all(self._in_memory(t) == place for t, place in consulted.items()):
                return kernel, seconds
        found = min(
            (self._build(tensor, i) for i in range(len(self.analysis.stored[tensor]))), key=lambda f: f[2]
        )
        self._kernels.setdefault(tensor, []).append(found)
        return found[1], found[2]

    def _build(self, tensor: int, index: int) -> tuple[dict[int, bool], Kernel | None, float]:
        consulted: dict[int, bool] = {}

        def ask(other: int) -> bool:
            place = consulted[other] = self._in_memory(other)
            return place

        node = self.analysis.stored[tensor][index]
        if node.op == "Region" and node.args[1] not in self.analysis.inline:
            return consulted, None, math.inf
        kernel = build(Evaluator(self.analysis, tensor, ask), tensor, node)
        if kernel is None or not all([ask(operand) for operand in kernel.operands]):
            return consulted, None, math.inf
        seconds = kernel_seconds(kernel, self.graph, self.analysis.symbols, self.machine)
        if node.op == "Panel":
            seconds = 0.0
        return consulted, kernel, seconds

    def _cost(self, tensor: int) -> float:
        return 0.0 if is_leaf(self.graph, tensor) else self._lookup(tensor)[1]

    def _require(self, tensor: int) -> Kernel:
        kernel = self._lookup(tensor)[0]
        if kernel is None:
            raise LoweringError(
                f"no kernel computes a tensor of shape {self.graph.types[tensor].dims}: a rule is missing"
            )
        return kernel

    def _needs(self, tensor: int) -> Iterable[int]:
        kernel = self._lookup(tensor)[0]
        return () if kernel is None else kernel.needs

    def _reachable(self) -> list[int]:
        """Tensors to compute for the roots, producers first."""
        order: dict[int, None] = {}
        for root in self.roots:
            self._visit(root, order, set())
        return list(order)

    def _visit(self, tensor: int, order: dict[int, None], pending: set[int]) -> None:
        if tensor in order or is_leaf(self.graph, tensor):
            return
        if tensor in pending:
            raise LoweringError("extraction found a cycle between kernels")
        pending.add(tensor)
        for need in self._needs(tensor):
            self._visit(need, order, pending)
        order[tensor] = None

    # Search.

    def _sweep(self, order: list[int]) -> bool:
        improved = False
        users = self._users(order)
        for tensor in order:
            if tensor in self.forced:
                continue
            improved |= self._try_inline(tensor, users)
        return improved

    def _users(self, order: list[int]) -> dict[int, set[int]]:
        users: dict[int, set[int]] = {}
        for t in order:
            for need in self._needs(t):
                users.setdefault(need, set()).add(t)
        return users

    def _try_inline(self, tensor: int, users: dict[int, set[int]]) -> bool:
        """Take one tensor out of memory if its users together get no slower than they and it are now."""
        affected = {u for u in users.get(tensor, ()) if tensor in self._needs(u)}
        if not affected:
            return False
        before = sum(self._cost(u) for u in affected) + self._cost(tensor)
        self.memory[tensor] = False
        after = sum(self._cost(u) for u in affected)
        if after > before:
            self.memory[tensor] = True
            return False
        for user in affected:
            for need in self._needs(user):
                users.setdefault(need, set()).add(user)
        return True
