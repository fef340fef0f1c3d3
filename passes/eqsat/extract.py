"""Extraction: choose which tensors exist in memory, which kernel computes each and which node each
expression, so that the whole program's time is least.

Cost is counted over the DAG (a tensor read twice is computed once). The search starts where merges that are
always right have been made, then takes single tensors out of memory, and exchanges the nodes of loops, while
the total falls. It is deterministic.
"""

from __future__ import annotations

import random

from .egraph import Node
from .placement import MOST_MERGED, first_placement
from .state import Built, Choice, State, Undone

CHANGED = 0.1
"""Part of the tensors whose place a restart changes."""

CHAIN = 4
"""Producers in a row that a kernel may take in after one of its loops has been exchanged."""


class Extractor(State):
    """Extracts one function."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._rejected: dict[int, frozenset[Built]] = {}

    def extract(self, sweeps: int = 4, restarts: int = 0, seed: int = 0) -> Choice:
        """Run the search: up to `sweeps` passes over the program, then again from `restarts` random changes
        of the best choice so far.
        """
        for tensor in self.analysis.stored:
            self.decide(tensor, True)
        self._merge(self.reachable())
        best = self._improve(sweeps)
        generator = random.Random(seed)
        for _ in range(restarts):
            with self.trial():
                self._shake(generator)
                found = self._improve(sweeps)
                if found.seconds >= best.seconds * (1 - 1e-9):
                    raise Undone
                best = found
        return best

    def _shake(self, generator: random.Random) -> None:
        for tensor in self.analysis.stored:
            if tensor not in self.forced and generator.random() < CHANGED:
                self.decide(tensor, not self.in_memory(tensor))
        for cls, nodes in self.analysis.choices.items():
            if generator.random() < CHANGED:
                self.decide(cls, generator.choice(nodes))
        self.repair()

    def _improve(self, sweeps: int) -> Choice:
        for _ in range(sweeps):
            improved = self._sweep(self.reachable())
            if not (self._exchange() or improved):
                break
        return self.choice()

    def _merge(self, order: list[int]) -> None:
        """Make the merges of the first placement, except those that no kernel can hold."""
        merged = first_placement({t: self.require(t) for t in order}, order, self.forced, self.graph)
        for tensors in merged.values():
            for tensor in tensors:
                self.decide(tensor, False)
        for kernel, tensors in merged.items():
            if self.lookup(kernel).kernel is None:
                for tensor in tensors:
                    self.decide(tensor, True)

    # Tensors out of memory.

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
            for need in self.needs(t):
                users.setdefault(need, set()).add(t)
        return users

    def _grows_too_large(self, tensor: int, users: set[int]) -> bool:
        """Whether a user would hold too many values, were the tensor computed at each place that reads it."""
        inner = self.lookup(tensor).kernel
        for user in users:
            outer = self.lookup(user).kernel
            if inner is None or outer is None:
                continue
            reads = sum(v.op == "load" and v.attrs[0] == tensor for v in outer.values)
            if len(outer.values) + reads * len(inner.values) > MOST_MERGED:
                return True
        return False

    def _try_inline(self, tensor: int, users: dict[int, set[int]]) -> bool:
        """Take one tensor out of memory if its users together get no slower than they and it are now."""
        affected = {u for u in users.get(tensor, ()) if tensor in self.needs(u)}
        forms = frozenset(self.lookup(u) for u in affected)
        if not affected or self._rejected.get(tensor) == forms:
            return False
        if self._grows_too_large(tensor, affected):
            return False
        before = sum(self.cost(u) for u in affected) + self.cost(tensor)
        with self.trial():
            self.decide(tensor, False)
            if sum(self.cost(u) for u in affected) > before:
                raise Undone
        if self.in_memory(tensor):
            self._rejected[tensor] = forms
            return False
        for user in affected:
            for need in self.needs(user):
                users.setdefault(need, set()).add(user)
        return True

    # Other nodes for loops.

    def _exchange(self) -> bool:
        """Try the other nodes of each loop of the program; whether one is better."""
        improved = False
        order = self.reachable()
        for cls in [c for c in self.analysis.choices if self.consulters(c).intersection(order)]:
            for node in self.analysis.choices[cls]:
                if not node.op.startswith("Scheduled"):  # the estimate cannot tell schedules apart
                    improved |= self._try_node(cls, node)
        return improved

    def _try_node(self, cls: int, node: Node) -> bool:
        if self.node_of(cls) == node:
            return False
        before = self.total()
        with self.trial():
            users = self.consulters(cls)
            self.decide(cls, node)
            self._take_in(users)
            if not self.total() < before * (1 - 1e-9):
                raise Undone
        return self.node_of(cls) == node

    def _take_in(self, users: set[int]) -> None:
        """Let kernels compute what they read, where that makes the program faster: a loop that has changed
        may make other tensors superfluous.
        """
        for _ in range(CHAIN):
            reads = {need for user in users for need in self.needs(user) if need in self.analysis.stored}
            taken = [t for t in sorted(reads - self.forced) if self._taken_in(t)]
            if not taken:
                break

    def _taken_in(self, tensor: int) -> bool:
        before = self.total()
        with self.trial():
            self.decide(tensor, False)
            if not self.total() < before:
                raise Undone
        return not self.in_memory(tensor)
