"""Facts about the classes of a saturated e-graph that extraction needs: which node to inline, which classes
are constant.

The inline node of an expression class is the cheapest way to compute it from arguments alone (work per
element, estimated at representative
symbol values). The choice is well founded: a node's operands are strictly cheaper than the node, so inlining
always ends.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from ...dialects.symbolic import Atom
from ...dialects.types import BYTES
from .egraph import FrozenGraph, Node
from .index_table import IndexTable, sizes
from .terms import scalar_constructors

SCALAR_WORK = {
    "div": 8.0,
    "recip": 8.0,
    "sqrt": 8.0,
    "rsqrt": 10.0,
    "exp": 10.5,
    "exp2": 10.0,
    "log": 16.0,
    "log2": 16.0,
    "sin": 20.0,
    "cos": 20.0,
    "tanh": 14.0,
    "erf": 16.0,
    "sigmoid": 18.0,
    "mod": 30.0,
    "floor_div": 30.0,
}
"""Vector operations per element, relative to one addition; functions not listed cost 1."""

LOAD_WORK = 1.0
PACKED_WORK = 0.25
UNPACKED_WORK = 0.4
VIEW_PENALTY = 0.5
"""A contraction's work per multiply-add relative to an addition in a plain loop: register blocking reuses
what it loads.
"""


@dataclass
class Analysis:
    """`inline[c]`: the node to inline for expression class c."""

    graph: FrozenGraph
    table: IndexTable
    symbols: dict[Atom, int]
    inline: dict[int, Node]
    stored: dict[int, list[Node]]
    """Tensor class -> its L2 producers (Region, Scatter*, Panel)."""
    choices: dict[int, list[Node]]
    """Expression class -> the ways to compute it that extraction chooses among, where there are several:
    loops, contractions with their schedules, attention. `inline` holds one of them."""

    def bytes_of(self, tensor: int) -> int:
        """Bytes of a tensor class at the representative sizes."""
        kind = self.graph.types[tensor]
        return sizes(kind.dims, self.symbols) * BYTES[kind.dtype]

    def is_static(self, tensor: int) -> bool:
        """Whether weights alone determine the tensor, sizes included, so that it is computed at load time."""
        return tensor in self.graph.static and all(d.is_const for d in self.graph.types[tensor].dims)


def analyse(
    graph: FrozenGraph,
    table: IndexTable,
    symbols: dict[Atom, int],
    extra: Callable[[], float] = float,
) -> Analysis:
    """Compute the facts. `symbols` are representative values; `extra` gives work to add to each node."""
    stored = {
        cls: producers
        for cls in graph.types
        if (
            producers := [
                n
                for n in graph.nodes.get(cls, ())
                if n.op == "Region" or n.op.startswith(("Scatter", "Panel"))
            ]
        )
    }
    chooser = _Chooser(graph, table, symbols, stored, extra)
    chooser.solve()
    return Analysis(graph, table, symbols, chooser.best, stored, chooser.choices())


STRUCTURES = (
    "Reduce",
    "Contract",
    "ContractPacked",
    "ScheduledContract",
    "ScheduledContractPacked",
    "Stream",
)
"""Nodes that are whole loops: which one is best depends on what surrounds them."""


def is_leaf(graph: FrozenGraph, tensor: int) -> bool:
    """Whether the tensor comes from outside the function (argument, call result)."""
    return any(n.op in ("Argument", "CallResult") for n in graph.nodes[tensor])


class _Chooser:
    """Least fixpoint of the work per element of every expression class."""

    def __init__(
        self,
        graph: FrozenGraph,
        table: IndexTable,
        symbols: dict[Atom, int],
        stored: dict[int, list[Node]],
        extra: Callable[[], float],
    ) -> None:
        self.graph, self.table, self.symbols, self.stored = graph, table, symbols, stored
        self.extra: defaultdict[Node, float] = defaultdict(extra)
        self.scalars = scalar_constructors()
        self.work: dict[int, float] = {}
        self.best: dict[int, Node] = {}

    def solve(self) -> None:
        exprs = {c: ns for c, ns in self.graph.nodes.items() if c not in self.graph.types}
        users: dict[int, dict[int, None]] = {}
        for cls, nodes in exprs.items():
            for node in nodes:
                for arg in node.args:
                    if arg in exprs:
                        users.setdefault(arg, {})[cls] = None
        waiting = deque(exprs)
        queued = set(exprs)
        while waiting:
            cls = waiting.popleft()
            queued.discard(cls)
            if self._improve(cls, exprs[cls]):
                fresh = [user for user in users.get(cls, ()) if user not in queued]
                waiting.extend(fresh)
                queued.update(fresh)

    def choices(self) -> dict[int, list[Node]]:
        """The structural nodes of the classes that a structural node is inlined for, if there are several."""
        found = {}
        for cls, best in self.best.items():
            if best.op in STRUCTURES:
                nodes = [n for n in self.graph.nodes[cls] if n.op in STRUCTURES]
                nodes = [n for n in nodes if self._node_work(n) < math.inf]
                if len(nodes) > 1:
                    found[cls] = sorted(nodes, key=self._node_work)
        return found

    def _improve(self, cls: int, nodes: list[Node]) -> bool:
        improved = False
        for node in nodes:
            work = self._node_work(node) + self.extra[node]
            if work < self.work.get(cls, math.inf) * (1 - 1e-12):
                self.work[cls], self.best[cls] = work, node
                improved = True
        return improved

    def _of(self, cls: int) -> float:
        return self.work.get(cls, math.inf)

    def _node_work(self, node: Node) -> float:
        op = node.op
        if op in self.scalars:
            return SCALAR_WORK.get(self.scalars[op], 1.0) + sum(map(self._of, node.args))
        if op == "Load":
            return LOAD_WORK if self._must_load(node.args[0]) else math.inf
        if op == "Const":
            return 0.01
        if op == "Index":
            return 0.5
        if op in ("Cast", "View"):
            return (1.0 if op == "Cast" else 0.01) + self._of(node.args[1])
        if op.startswith("Gather"):
            return 4.0 + sum(map(self._of, node.args[1:]))
        if op == "Insert":
            return 4.0 + self._of(node.args[2]) + self._of(node.args[3])
        if op == "Reduce":
            extent = sizes(self.table.get_axes(node.args[1]).extents, self.symbols)
            return 1.0 + extent * (1.0 + self._of(node.args[2]))
        if op in ("Softmax", "SoftmaxOrZero"):
            return math.inf  # only a step on the way to Stream: its parts are computed
        if op == "Stream":
            return self._stream_work(node)
        return self._contraction_work(node)

    def _stream_work(self, node: Node) -> float:
        """The scores of a row count once, whatever the number of columns that use them."""
        contraction = self.table.get_contraction(node.args[0])
        keys = sizes(contraction.summed, self.symbols)
        columns = sizes(tuple(contraction.result[i] for i in contraction.columns), self.symbols)
        score = self._of(node.args[2]) + SCALAR_WORK["exp"] + 4.0
        return 1.0 + keys * (UNPACKED_WORK + score / max(columns, 1))

    def _must_load(self, tensor: int) -> bool:
        """Leaves, and tensors that no region computes (scatters at runtime positions)."""
        return is_leaf(self.graph, tensor) or not any(n.op == "Region" for n in self.stored.get(tensor, ()))

    def _contraction_work(self, node: Node) -> float:
        scheduled = node.op.startswith("Scheduled")
        key, *operands = node.args[1:] if scheduled else node.args
        depth = sizes(self.table.get_contraction(key).summed, self.symbols)
        rate = PACKED_WORK if node.op.endswith("ContractPacked") else UNPACKED_WORK
        copies = sum(self._is_copy(t) for t in operands if not self._is_panel(t))
        # The estimate cannot tell schedules apart; it takes the default.
        return (1.0 + depth * (rate + VIEW_PENALTY * copies)) * (1.0 + 1e-6 * scheduled)

    def _is_panel(self, tensor: int) -> bool:
        return any(n.op == "Panel" for n in self.graph.nodes[tensor])

    def _is_copy(self, tensor: int) -> bool:
        """Whether materialising the tensor would only rearrange another one."""
        if is_leaf(self.graph, tensor):
            return False
        bodies = [n.args[1] for n in self.stored.get(tensor, ()) if n.op == "Region"]
        return any(n.op == "View" for b in bodies for n in self.graph.nodes[b])
