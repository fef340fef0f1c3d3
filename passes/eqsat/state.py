"""The state of an extraction: what has been decided (which tensors exist in memory, which node computes an
expression class), and the kernels that follow from it.

Kernels are built on demand and kept while the decisions that they asked for stand.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ...errors import LoweringError
from .analysis import Analysis, is_leaf
from .body import BodyTooLarge, Evaluator
from .cost import Machine, kernel_seconds
from .egraph import Node
from .kernels import Kernel, build

KEPT_FORMS = 3
"""Earlier forms of a kernel kept for when a move is taken back."""

Decision = bool | Node
"""Of a tensor class: whether it exists in memory. Of an expression class: the node that computes it."""


@dataclass(frozen=True, eq=False)
class Built:
    """A kernel under the decisions `consulted`; None where there is no such kernel."""

    consulted: dict[int, Decision]
    kernel: Kernel | None
    seconds: float


@dataclass
class Choice:
    """The chosen kernels by tensor class, with the program's estimated seconds."""

    kernels: dict[int, Kernel]
    order: list[int]
    seconds: float


class Undone(Exception):
    """Raised inside `State.trial` to take back what was decided."""


@dataclass
class State:
    """The state for one function. `roots`: tensor classes that must exist (results, call operands).

    `stored_weight`: seconds that a stored byte costs, to trade time for memory.
    """

    analysis: Analysis
    roots: list[int]
    machine: Machine = field(default_factory=Machine)
    stored_weight: float = 0.0

    def __post_init__(self) -> None:
        self.graph = self.analysis.graph
        self.decisions: dict[int, Decision] = {}
        self.forced: set[int] = set(self.roots)
        self._present: dict[int, Built] = {}
        self._earlier: dict[int, list[Built]] = {}
        self._consulters: dict[int, set[int]] = {}
        self._journal: list[tuple[int, Decision | None]] | None = None

    # Decisions.

    def in_memory(self, tensor: int) -> bool:
        """Whether the tensor is stored."""
        return self.decisions.get(tensor, True) is True

    def node_of(self, cls: int) -> Node:
        """The node that computes an expression class."""
        decided = self.decisions.get(cls)
        return decided if isinstance(decided, Node) else self.analysis.inline[cls]

    def decide(self, cls: int, decision: Decision | None) -> None:
        """Decide about a class; None goes back to what holds without a decision. Kernels that asked are
        looked up again."""
        before = self.decisions.get(cls)
        if before == decision:
            return
        if self._journal is not None:
            self._journal.append((cls, before))
        if decision is None:
            del self.decisions[cls]
        else:
            self.decisions[cls] = decision
        for user in self._consulters.pop(cls, ()):
            built = self._present.pop(user, None)
            if built is not None:
                earlier = self._earlier.setdefault(user, [])
                earlier.insert(0, built)
                del earlier[KEPT_FORMS:]

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Decisions made inside are taken back if `Undone` is raised. Trials may be nested."""
        outer, self._journal = self._journal, []
        try:
            yield
        except Undone:
            changes, self._journal = self._journal, None
            for cls, before in reversed(changes):
                self.decide(cls, before)
            self._journal = outer
        else:
            if outer is not None:
                outer.extend(self._journal)
            self._journal = outer

    # Kernels.

    def lookup(self, tensor: int) -> Built:
        """How the tensor is computed under the present decisions."""
        built = self._present.get(tensor)
        if built is None:
            earlier = (b for b in self._earlier.get(tensor, ()) if self._valid(b))
            built = next(earlier, None) or self._best(tensor)
            self._present[tensor] = built
            for other in built.consulted:
                self._consulters.setdefault(other, set()).add(tensor)
        return built

    def consulters(self, cls: int) -> set[int]:
        """Tensors whose present kernels depend on the decision about a class."""
        return {t for t in self._consulters.get(cls, ()) if t in self._present}

    def _valid(self, built: Built) -> bool:
        return all(self._decision(c, d) == d for c, d in built.consulted.items())

    def _decision(self, cls: int, like: Decision) -> Decision:
        return self.node_of(cls) if isinstance(like, Node) else self.in_memory(cls)

    def _best(self, tensor: int) -> Built:
        """The cheapest producer under the present decisions."""
        forms = [self._build(tensor, node) for node in self.analysis.stored[tensor]]
        best = min(forms, key=lambda form: form.seconds)
        for form in forms:
            best.consulted.update(form.consulted)
        return best

    def _build(self, tensor: int, node: Node) -> Built:
        consulted: dict[int, Decision] = {}

        def ask(other: int) -> bool:
            place = consulted[other] = self.in_memory(other)
            return place

        def node_of(cls: int) -> Node:
            chosen = self.node_of(cls)
            if cls in self.analysis.choices:
                consulted[cls] = chosen
            return chosen

        if node.op == "Region" and node.args[1] not in self.analysis.inline:
            return Built(consulted, None, math.inf)
        try:
            kernel = build(Evaluator(self.analysis, tensor, ask, node_of), tensor, node)
        except BodyTooLarge:
            return Built(consulted, None, math.inf)
        if kernel is None or not all([ask(operand) for operand in kernel.operands]):
            return Built(consulted, None, math.inf)
        return Built(consulted, kernel, self.seconds(kernel))

    def seconds(self, kernel: Kernel) -> float:
        """What a kernel costs; one that weights alone determine runs at load time."""
        stored = self.stored_weight * self.analysis.bytes_of(kernel.tensor)
        if self.analysis.is_static(kernel.tensor):
            return stored
        return stored + kernel_seconds(kernel, self.graph, self.analysis.symbols, self.machine)

    def cost(self, tensor: int) -> float:
        """Seconds that the tensor's kernel takes; infinite if there is none."""
        return 0.0 if is_leaf(self.graph, tensor) else self.lookup(tensor).seconds

    def require(self, tensor: int) -> Kernel:
        """The tensor's kernel; LoweringError if there is none."""
        kernel = self.lookup(tensor).kernel
        if kernel is None:
            raise LoweringError(
                f"no kernel computes a tensor of shape {self.graph.types[tensor].dims}: a rule is missing"
            )
        return kernel

    def needs(self, tensor: int) -> Iterable[int]:
        """Tensors that the tensor's kernel reads."""
        kernel = self.lookup(tensor).kernel
        return () if kernel is None else kernel.needs

    # The program.

    def reachable(self) -> list[int]:
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
        for need in self.needs(tensor):
            self._visit(need, order, pending)
        order[tensor] = None

    def total(self) -> float:
        """Seconds of the program under the present decisions."""
        return sum(self.cost(t) for t in self.reachable())

    def choice(self) -> Choice:
        """The kernels under the present decisions."""
        order = self.reachable()
        return Choice({t: self.require(t) for t in order}, order, sum(self.cost(t) for t in order))

    def kernels(self) -> dict[int, Kernel]:
        """The kernels of the program by tensor, producers first; tensors without one are left out."""
        found = {t: self.lookup(t).kernel for t in self.reachable()}
        return {t: kernel for t, kernel in found.items() if kernel is not None}

    def shape_text(self, tensor: int) -> str:
        """A tensor class for a reader: `8x16xf32`."""
        kind = self.graph.types[tensor]
        return "x".join([*map(str, kind.dims), kind.dtype])

    def describe(self) -> list[dict[str, Any]]:
        """The program's kernels for a reader: what they compute, and what they cost by the estimate."""
        return [
            {
                "tensor": self.shape_text(tensor),
                "kernel": type(kernel).__name__.removesuffix("Kernel").lower(),
                "seconds": self.seconds(kernel),
                "measured": False,
                "candidates": [],
            }
            for tensor, kernel in self.kernels().items()
        ]

    def repair(self) -> None:
        """Store the tensors that stand in the way of a reachable tensor's kernel, until each has one."""
        while (stuck := self._without_kernel()) is not None:
            inlined = [t for t, stored in self.lookup(stuck).consulted.items() if stored is False]
            if not inlined:
                self.require(stuck)
            for tensor in inlined:
                self.decide(tensor, True)

    def _without_kernel(self) -> int | None:
        return next((t for t in self.reachable() if self.lookup(t).kernel is None), None)
