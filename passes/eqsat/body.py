"""Kernel bodies: a DAG of scalar values over coordinate variables, evaluated from an expression class at
given coordinates.

Evaluating decides nothing: which tensors exist in memory is asked of the extraction (`Evaluator.in_memory`),
which node stands for a class
comes from the analysis. Equal values are one object, so a value used twice is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from ...dialects.symbolic import Atom, DimVar, Expr, FloorDiv, Max, Min, Mod, const, product
from .analysis import Analysis
from .egraph import Node
from .index_table import Dims, extents_of, inside
from .terms import scalar_constructors

Var = DimVar
_ON_BOOL = {"add": "or", "mul": "and", "maximum": "or", "minimum": "and"}
_COMPARE = {"less_than", "less_equal", "equal", "not_equal"}


@dataclass(frozen=True, eq=False)
class Value:
    """A scalar: `op` is a scalar function or load, constant, cast, index_value, to_index, reduce, local,
    contract.

    attrs by op: load (source, coords, masked); constant (key,); index_value (expr,); to_index (var, extent);
    reduce (kind, vars); local (var,); contract (key, lhs, rhs, packed, coords[, schedule]);
    stream (key, values, vars, coords, whether empty rows are zero).
    """

    op: str
    args: tuple[Value, ...]
    attrs: tuple[Any, ...]
    dtype: str
    deps: frozenset[Var]


MAX_VALUES = 300
"""Most values in one kernel: beyond it code generation costs more than a second kernel, and views that shift
a tensor
against itself (x * shifted(x), again and again) double a body with every producer inlined."""


class BodyTooLarge(Exception):
    """A kernel's body has grown past MAX_VALUES."""


class Bodies:
    """Interns values; owns the dynamic index variables (`to_index`) of one kernel."""

    def __init__(self) -> None:
        self._interned: dict[tuple[Any, ...], Value] = {}
        self.dynamic: dict[Var, Value] = {}
        self._next = 1000
        self.limit = MAX_VALUES

    def fresh(self, extent: Expr | None) -> Var:
        """A variable no other coordinate of this kernel uses."""
        self._next += 1
        return DimVar(self._next, extent)

    def make(
        self, op: str, args: tuple[Value, ...], attrs: tuple[Any, ...], dtype: str, deps: frozenset[Var]
    ) -> Value:
        key = (op, args, attrs, dtype)
        value = self._interned.get(key)
        if value is None:
            if len(self._interned) >= self.limit:
                raise BodyTooLarge
            value = self._interned[key] = Value(op, args, attrs, dtype, deps)
        return value

    def scalar(self, op: str, *args: Value, dtype: str | None = None) -> Value:
        """A scalar function; comparisons give i1, select its branches' dtype, others their operand's."""
        if args[0].dtype == "i1":
            op = _ON_BOOL.get(op, op)
        if dtype is None:
            dtype = "i1" if op in _COMPARE else args[-1].dtype
        return self.make(op, args, (), dtype, frozenset().union(*(a.deps for a in args)))

    def constant(self, key: str, dtype: str) -> Value:
        return self.make("constant", (), (key,), dtype, frozenset())

    def index_value(self, expr: Expr) -> Value:
        """A coordinate expression as an i64 scalar."""
        return self.make("index_value", self._indices((expr,)), (expr,), "i64", self.depends((expr,)))

    def integer(self, expr: Expr) -> Value:
        """An expression as an i64 scalar: a constant if it is one."""
        return self.constant(str(expr.value), "i64") if expr.is_const else self.index_value(expr)

    def load(self, source: Any, coords: Dims, masked: bool, dtype: str) -> Value:
        return self.make("load", self._indices(coords), (source, coords, masked), dtype, self.depends(coords))

    def dynamic_index(self, value: Value, extent: Expr) -> Var:
        """A variable that holds an integer value clamped into [0, extent)."""
        for var, known in self.dynamic.items():
            if known.args[0] is value and var.extent is extent:
                return var
        var = self.fresh(extent)
        self.dynamic[var] = self.make("to_index", (value,), (var, extent), "index", value.deps)
        return var

    def _indices(self, coords: Dims) -> tuple[Value, ...]:
        return tuple(self.dynamic[v] for v in variables(coords) if v in self.dynamic)

    def depends(self, coords: Dims) -> frozenset[Var]:
        """Loop variables the coordinates depend on, through dynamic indices as well."""
        deps: set[Var] = set()
        for v in variables(coords):
            deps |= self.dynamic[v].deps if v in self.dynamic else {v}
        return frozenset(deps)


def variables(coords: Dims) -> list[Var]:
    """Coordinate variables of some expressions, in order of their numbers."""
    found = {a for c in coords for a in c.atoms() if isinstance(a, DimVar)}
    return sorted(found, key=lambda v: v.index)


_INTEGER_OPS: dict[type[Atom], str] = {FloorDiv: "floor_div", Mod: "mod", Min: "minimum", Max: "maximum"}


class Evaluator:
    """Evaluates expression classes into values of one kernel. `in_memory(t)` says whether tensor class t is
    loaded or inlined, `node_of(c)` which node computes class c (the analysis' unless it is given).
    """

    def __init__(
        self,
        analysis: Analysis,
        root: int,
        in_memory: Callable[[int], bool],
        node_of: Callable[[int], Node] | None = None,
    ) -> None:
        self._node_of = node_of or analysis.inline.__getitem__
        self.analysis = analysis
        self.graph = analysis.graph
        self.table = analysis.table
        self.bodies = Bodies()
        self._root = root
        self._in_memory = in_memory
        self._memo: dict[tuple[Any, ...], Value] = {}
        self._scalars = scalar_constructors()

    def at(self, cls: int, coords: Dims, masked: bool = False) -> Value:
        """The value of class `cls` at `coords`; `masked`: the coordinates may lie outside and then any value
        will do.
        """
        key = (cls, coords, masked)
        value = self._memo.get(key)
        if value is None:
            value = self._memo[key] = self._evaluate(cls, coords, masked)
        return value

    def visited(self) -> set[int]:
        """The classes that were evaluated."""
        return {cls for cls, _, _ in self._memo}

    def node_of(self, cls: int) -> Node | None:
        """The node that stands for a class; None where only its tensor can be read."""
        try:
            return self._node_of(cls)
        except KeyError:
            return None

    def _evaluate(self, cls: int, coords: Dims, masked: bool) -> Value:
        if cls not in self.graph.constant:
            for tensor in self.graph.loads.get(cls, ()):
                if tensor != self._root and self._in_memory(tensor):
                    return self.load(tensor, coords, masked)
        node = self._node_of(cls)
        if node.op in self._scalars:
            args = tuple(self.at(a, coords, masked) for a in node.args)
            return self.bodies.scalar(self._scalars[node.op], *args)
        return getattr(self, "_" + node.op.rstrip("0123456789").lower())(node, coords, masked)

    def load(self, tensor: int, coords: Dims, masked: bool) -> Value:
        """Read tensor class `tensor`, masked only where the coordinates cannot be proved to lie inside."""
        kind = self.graph.types[tensor]
        if masked:
            masked = not all(inside(c, e) for c, e in zip(coords, kind.dims, strict=True))
        return self.bodies.load(tensor, coords, masked, kind.dtype)

    def _load(self, node: Node, coords: Dims, masked: bool) -> Value:
        return self.load(node.args[0], coords, masked)

    def _view(self, node: Node, coords: Dims, masked: bool) -> Value:
        return self.at(node.args[1], self.table.get_map(node.args[0]).apply(coords), masked)

    def _const(self, node: Node, coords: Dims, masked: bool) -> Value:
        return self.bodies.constant(node.args[1], node.args[0])

    def _cast(self, node: Node, coords: Dims, masked: bool) -> Value:
        value = self.at(node.args[1], coords, masked)
        return value if value.dtype == node.args[0] else self.bodies.scalar("cast", value, dtype=node.args[0])

    def _index(self, node: Node, coords: Dims, masked: bool) -> Value:
        (expr,) = self.table.get_map(node.args[0]).apply(coords)
        return self.bodies.integer(expr)

    def _gather(self, node: Node, coords: Dims, masked: bool) -> Value:
        key, source, *indices = node.args
        gather = self.table.get_gather(key)
        values = [self.at(i, coords, masked) for i in indices]
        source_coords = []
        for expr, extent in zip(gather.apply(coords), gather.source, strict=True):
            used = [k for k in range(len(values)) if gather.value_var(k) in expr.atoms()]
            if not used:
                source_coords.append(expr)
                continue
            total = self.index_expression(expr, {gather.value_var(k): values[k] for k in used})
            source_coords.append(self.bodies.dynamic_index(total, extent))
        empty = any((e.bounds()[0] or 0) < 1 for e in gather.source)
        return self.at(source, tuple(source_coords), masked or empty)

    def index_expression(self, expr: Expr, values: Mapping[Var, Value]) -> Value:
        """An i64 scalar for an expression over coordinates, symbols and the given runtime values."""
        rest = const(0)
        total: Value | None = None
        for monomial, coefficient in expr.terms:
            read = [atom for atom in monomial if not values.keys().isdisjoint(atom.atoms())]
            scale = product(atom for atom in monomial if atom not in read) * coefficient
            if not read:
                rest = rest + scale
                continue
            factors = [self._atom(atom, values) for atom in read]
            if scale is not const(1):
                factors.append(self.bodies.integer(scale))
            term = reduce(partial(self.bodies.scalar, "mul"), factors)
            total = term if total is None else self.bodies.scalar("add", total, term)
        if total is None:
            return self.bodies.integer(rest)
        return total if rest is const(0) else self.bodies.scalar("add", total, self.bodies.integer(rest))

    def _atom(self, atom: Atom, values: Mapping[Var, Value]) -> Value:
        if isinstance(atom, DimVar):
            value = values[atom]
            return value if value.dtype == "i64" else self.bodies.scalar("cast", value, dtype="i64")
        arguments = [self.index_expression(argument, values) for argument in atom.arguments]
        return reduce(partial(self.bodies.scalar, _INTEGER_OPS[type(atom)]), arguments)

    def _insert(self, node: Node, coords: Dims, masked: bool) -> Value:
        _, key, base, update = node.args
        index_map = self.table.get_map(key)
        inverse = self.table.inverse(key)
        assert inverse is not None
        inner: list[Expr] = [const(0)] * len(index_map.extents)
        conditions: list[Value] = []
        for coord, part in zip(coords, inverse, strict=True):
            if isinstance(part, Expr):
                outcome = self._equal(coord, part, conditions)
            else:
                dim, offset, stride = part
                inner[dim] = (coord - offset) // stride
                outcome = self._within(coord - offset, stride, extents_of(index_map)[dim], conditions)
            if not outcome:
                return self.at(base, coords, masked)
        if not conditions:
            return self.at(update, tuple(inner), masked)
        chosen = self.at(update, tuple(inner), True)
        condition = conditions[0]
        for other in conditions[1:]:
            condition = self.bodies.scalar("and", condition, other)
        return self.bodies.scalar("select", condition, chosen, self.at(base, coords, masked))

    def _equal(self, coord: Expr, target: Expr, conditions: list[Value]) -> bool:
        """False if coord can never be target; else adds the condition unless it always holds."""
        difference = coord - target
        low, high = difference.bounds()
        if (low is not None and low > 0) or (high is not None and high < 0):
            return False
        if difference is not const(0):
            conditions.append(
                self.bodies.scalar("equal", self.bodies.integer(coord), self.bodies.integer(target))
            )
        return True

    def _within(self, position: Expr, stride: int, extent: Expr, conditions: list[Value]) -> bool:
        """Whether position = stride * d for some 0 <= d < extent can hold; adds the conditions that are not
        proved.
        """
        low, high = position.bounds()
        if high is not None and high < 0:
            return False
        last = (extent - 1) * stride
        past = (position - last).bounds()[0]
        if past is not None and past > 0:
            return False
        if low is None or low < 0:
            conditions.append(
                self.bodies.scalar("less_equal", self.bodies.integer(const(0)), self.bodies.integer(position))
            )
        slack = (last - position).bounds()[0]
        if slack is None or slack < 0:
            conditions.append(
                self.bodies.scalar("less_equal", self.bodies.integer(position), self.bodies.integer(last))
            )
        remainder = position % stride
        if remainder is not const(0):
            conditions.append(
                self.bodies.scalar("equal", self.bodies.integer(remainder), self.bodies.integer(const(0)))
            )
        return True

    def _reduce(self, node: Node, coords: Dims, masked: bool) -> Value:
        kind, key, operand = node.args
        axes = self.table.get_axes(key)
        loop = tuple(self.bodies.fresh(e) for e in axes.extents)
        reduced = tuple(const(0) if e is const(1) else v for v, e in zip(loop, axes.extents, strict=True))
        value = self.at(operand, axes.operand_coords(coords, reduced), masked)
        used = tuple(v for v, r in zip(loop, reduced, strict=True) if r is v)
        if not used:
            return value
        return self.bodies.make("reduce", (value,), (kind, used), value.dtype, value.deps - set(used))

    def _stream(self, node: Node, coords: Dims, masked: bool) -> Value:
        key, empty, scores, values = node.args
        contraction = self.table.get_contraction(key)
        loop = tuple(self.bodies.fresh(e) for e in contraction.summed)
        along = tuple(const(0) if e is const(1) else v for v, e in zip(loop, contraction.summed, strict=True))
        score = self.at(scores, contraction.lhs.apply((*coords, *along)), masked)
        deps = (score.deps | self.bodies.depends(coords)) - set(loop)
        return self.bodies.make(
            "stream", (score,), (key, values, loop, coords, empty == "zero"), score.dtype, deps
        )

    def _contract(self, node: Node, coords: Dims, masked: bool) -> Value:
        return self._contraction(node, coords, packed=False)

    def _contractpacked(self, node: Node, coords: Dims, masked: bool) -> Value:
        return self._contraction(node, coords, packed=True)

    def _scheduledcontract(self, node: Node, coords: Dims, masked: bool) -> Value:
        return self._contraction(node, coords, packed=False)

    def _scheduledcontractpacked(self, node: Node, coords: Dims, masked: bool) -> Value:
        return self._contraction(node, coords, packed=True)

    def _contraction(self, node: Node, coords: Dims, packed: bool) -> Value:
        *schedule, key, lhs, rhs = node.args
        dtype = self.graph.types[lhs].dtype
        accumulator = "f32" if dtype in ("f16", "bf16") else dtype
        return self.bodies.make(
            "contract",
            (),
            (key, lhs, rhs, packed, coords, *schedule),
            accumulator,
            self.bodies.depends(coords),
        )
