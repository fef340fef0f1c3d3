"""Extraction: choose which tensors exist in memory and which kernel computes each, so that the whole
program's estimated time is least.

Cost is counted over the DAG (a tensor read twice is computed once). The search starts where merges that are
always right have been made, then takes single tensors out of memory while the total falls. It is
deterministic.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...errors import LoweringError
from .analysis import Analysis, is_leaf
from .body import BodyTooLarge, Evaluator
from .cost import Machine, kernel_seconds
from .egraph import Node
from .kernels import Kernel, build
from .placement import MOST_MERGED, first_placement

CHANGED = 0.1
"""Part of the tensors whose place a restart changes."""

KEPT_FORMS = 3
"""Earlier forms of a kernel kept for when a move is taken back."""


@dataclass(frozen=True, eq=False)
class Built:
    """A kernel under a choice: `consulted` are the places of tensors it asked for."""

    consulted: dict[int, bool]
    kernel: Kernel | None
    seconds: float


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
        self.forced: set[int] = set(self.roots)
        self._present: dict[int, Built] = {}
        self._earlier: dict[int, list[Built]] = {}
        self._consulters: dict[int, set[int]] = {}
        self._rejected: dict[int, frozenset[Built]] = {}

    def extract(self, sweeps: int = 4, restarts: int = 0, seed: int = 0) -> Choice:
        """Run the search: up to `sweeps` passes over the program, then again from `restarts` random changes
        of the best choice so far.
        """
        for tensor in self.analysis.stored:
            self.memory[tensor] = True
        self._merge(self._reachable())
        best = self._improve(sweeps)
        generator = random.Random(seed)
        for _ in range(restarts):
            before = dict(self.memory)
            for tensor in self.analysis.stored:
                if tensor not in self.forced and generator.random() < CHANGED:
                    self._place(tensor, not self._in_memory(tensor))
            self.repair()
            found = self._improve(sweeps)
            if found.seconds < best.seconds * (1 - 1e-9):
                best = found
            else:
                for tensor, place in before.items():
                    if self._in_memory(tensor) != place:
                        self._place(tensor, place)
        return best

    def _improve(self, sweeps: int) -> Choice:
        for _ in range(sweeps):
            if not self._sweep(self._reachable()):
                break
        return self.choice()

    def choice(self) -> Choice:
        """The kernels of the present placement."""
        order = self._reachable()
        return Choice({t: self._require(t) for t in order}, order, sum(self._cost(t) for t in order))

    def repair(self) -> None:
        """Store the tensors that stand in the way of a reachable tensor's kernel, until each has one."""
        while (stuck := self._without_kernel()) is not None:
            inlined = [t for t, stored in self._lookup(stuck).consulted.items() if not stored]
            if not inlined:
                self._require(stuck)
            for tensor in inlined:
                self._place(tensor, True)

    def _without_kernel(self) -> int | None:
        return next((t for t in self._reachable() if self._lookup(t).kernel is None), None)

    # Kernels of the present choice.

    def _in_memory(self, tensor: int) -> bool:
        return self.memory.get(tensor, True)

    def _place(self, tensor: int, in_memory: bool) -> None:
        """Move a tensor in or out of memory; kernels that asked for its place are looked up again."""
        self.memory[tensor] = in_memory
        for user in self._consulters.pop(tensor, ()):
            built = self._present.pop(user, None)
            if built is not None:
                earlier = self._earlier.setdefault(user, [])
                earlier.insert(0, built)
                del earlier[KEPT_FORMS:]

    def _lookup(self, tensor: int) -> Built:
        built = self._present.get(tensor)
        if built is None:
            earlier = (b for b in self._earlier.get(tensor, ()) if self._valid(b))
            built = next(earlier, None) or self._best(tensor)
            self._present[tensor] = built
            for other in built.consulted:
                self._consulters.setdefault(other, set()).add(tensor)
        return built

    def _valid(self, built: Built) -> bool:
        return all(self._in_memory(t) == place for t, place in built.consulted.items())

    def _best(self, tensor: int) -> Built:
        """The cheapest producer under the present choice."""
        forms = [self._build(tensor, node) for node in self.analysis.stored[tensor]]
        best = min(forms, key=lambda form: form.seconds)
        for form in forms:
            best.consulted.update(form.consulted)
        return best

    def _build(self, tensor: int, node: Node) -> Built:
        consulted: dict[int, bool] = {}

        def ask(other: int) -> bool:
            place = consulted[other] = self._in_memory(other)
            return place

        if node.op == "Region" and node.args[1] not in self.analysis.inline:
            return Built(consulted, None, math.inf)
        try:
            kernel = build(Evaluator(self.analysis, tensor, ask), tensor, node)
        except BodyTooLarge:
            return Built(consulted, None, math.inf)
        if kernel is None or not all([ask(operand) for operand in kernel.operands]):
            return Built(consulted, None, math.inf)
        seconds = kernel_seconds(kernel, self.graph, self.analysis.symbols, self.machine)
        return Built(consulted, kernel, 0.0 if node.op == "Panel" else seconds)

    def _cost(self, tensor: int) -> float:
        return 0.0 if is_leaf(self.graph, tensor) else self._lookup(tensor).seconds

    def _require(self, tensor: int) -> Kernel:
        kernel = self._lookup(tensor).kernel
        if kernel is None:
            raise LoweringError(
                f"no kernel computes a tensor of shape {self.graph.types[tensor].dims}: a rule is missing"
            )
        return kernel

    def _needs(self, tensor: int) -> Iterable[int]:
        kernel = self._lookup(tensor).kernel
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

    def _merge(self, order: list[int]) -> None:
        """Make the merges of the first placement, except those that no kernel can hold."""
        merged = first_placement({t: self._require(t) for t in order}, order, self.forced, self.graph)
        for tensors in merged.values():
            for tensor in tensors:
                self._place(tensor, False)
        for kernel, tensors in merged.items():
            if self._lookup(kernel).kernel is None:
                for tensor in tensors:
                    self._place(tensor, True)

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

    def _grows_too_large(self, tensor: int, users: set[int]) -> bool:
        """Whether a user would hold too many values, were the tensor computed at each place that reads it."""
        inner = self._lookup(tensor).kernel
        for user in users:
            outer = self._lookup(user).kernel
            if inner is None or outer is None:
                continue
            reads = sum(v.op == "load" and v.attrs[0] == tensor for v in outer.values)
            if len(outer.values) + reads * len(inner.values) > MOST_MERGED:
                return True
        return False

    def _try_inline(self, tensor: int, users: dict[int, set[int]]) -> bool:
        """Take one tensor out of memory if its users together get no slower than they and it are now."""
        affected = {u for u in users.get(tensor, ()) if tensor in self._needs(u)}
        forms = frozenset(self._lookup(u) for u in affected)
        if not affected or self._rejected.get(tensor) == forms:
            return False
        if self._grows_too_large(tensor, affected):
            return False
        before = sum(self._cost(u) for u in affected) + self._cost(tensor)
        self._place(tensor, False)
        after = sum(self._cost(u) for u in affected)
        if after > before:
            self._place(tensor, True)
            self._rejected[tensor] = forms
            return False
        for user in affected:
            for need in self._needs(user):
                users.setdefault(need, set()).add(user)
        return True
