"""Writes a kernel body (a DAG of values) as ops of the `kernel` dialect, each value in the outermost block
that knows its coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...dialects.mlir import ir
from ...dialects.symbolic import Atom, Expr, IndexMap
from ...dialects.types import FLOATS, scalar_type, tensor_type
from .body import Bodies, Value, Var, variables
from .constants import constant_value


@dataclass
class Scope:
    """One block under construction. New ops go before `anchor` (an op whose own region is being filled) or to
    the end.
    """

    block: ir.Block
    indices: dict[Var, ir.Value]
    anchor: ir.Operation | None = None
    values: dict[Value, ir.Value] = field(default_factory=dict)

    def insertion(self) -> ir.InsertionPoint:
        return ir.InsertionPoint(self.block) if self.anchor is None else ir.InsertionPoint(self.anchor)


class BodyEmitter:
    """Emits values into a stack of scopes; `sources` maps tensor classes to the block arguments that stand
    for them.
    """

    def __init__(
        self, bodies: Bodies, block: ir.Block, sources: Mapping[int, ir.Value], indices: dict[Var, ir.Value]
    ) -> None:
        self.bodies = bodies
        self.sources: dict[object, ir.Value] = dict(sources.items())
        self.scopes = [Scope(block, indices)]

    def preset(self, value: Value, ssa: ir.Value) -> None:
        """Let an SSA value stand for `value` (the accumulator of a contraction)."""
        self.scopes[0].values[value] = ssa

    def emit(self, value: Value) -> ir.Value:
        """The SSA value of `value`, emitted where it belongs if it is new."""
        depth = self._depth(value)
        for scope in self.scopes[: depth + 1]:
            if value in scope.values:
                return scope.values[value]
        if value.op in ("reduce", "local"):
            ssa = self._nested(value, depth)
        else:
            operands = self._operands(value)
            ssa = self._create(
                self.scopes[depth], value.op, operands, self._type(value), self._attributes(value)
            ).result
        self.scopes[depth].values[value] = ssa
        return ssa

    def yield_values(self, values: Sequence[ir.Value]) -> None:
        """End the innermost block."""
        self._terminate(self.scopes[-1], values)

    def _depth(self, value: Value) -> int:
        """The outermost scope in which every coordinate of the value is bound."""
        depth = 0
        for var in value.deps:
            depth = max(depth, next(i for i, s in enumerate(self.scopes) if var in s.indices))
        return depth

    def _operands(self, value: Value) -> list[ir.Value]:
        if value.op == "load":
            source, coords, _ = value.attrs
            if isinstance(source, Value):
                self.sources[source] = self.emit(source)
            return [self.sources[source], *self._indices(coords)]
        if value.op == "index_value":
            return self._indices(value.attrs)
        return [self.emit(a) for a in value.args]

    def _indices(self, coords: Sequence[Expr]) -> list[ir.Value]:
        return [self._index(v) for v in variables(tuple(coords))]

    def _index(self, var: Var) -> ir.Value:
        if var in self.bodies.dynamic:
            return self.emit(self.bodies.dynamic[var])
        return next(s.indices[var] for s in self.scopes if var in s.indices)

    def _attributes(self, value: Value) -> dict[str, ir.Attribute]:
        match value.op:
            case "load":
                attributes: dict[str, ir.Attribute] = {"map": map_attr(value.attrs[1])}
                if value.attrs[2]:
                    attributes["masked"] = ir.UnitAttr.get()
                return attributes
            case "index_value":
                return {"map": map_attr(value.attrs)}
            case "to_index":
                return {"extent": shape_attr((value.attrs[1],))}
            case "constant":
                number = constant_value(value.attrs[0], value.dtype)
                kind = scalar_type(value.dtype)
                typed = (
                    ir.FloatAttr.get(kind, number)
                    if value.dtype in FLOATS
                    else ir.IntegerAttr.get(kind, int(number))
                )
                return {"value": typed}
        return {}

    def _type(self, value: Value) -> ir.Type:
        return ir.IndexType.get() if value.dtype == "index" else scalar_type(value.dtype)

    def _create(
        self,
        scope: Scope,
        name: str,
        operands: list[ir.Value],
        result: ir.Type,
        attributes: dict[str, ir.Attribute],
        regions: int = 0,
    ) -> ir.Operation:
        return ir.Operation.create(
            f"kernel.{name}",
            results=[result],
            operands=operands,
            attributes=attributes,
            regions=regions,
            ip=scope.insertion(),
        )

    def _nested(self, value: Value, depth: int) -> ir.Value:
        """A reduce or local: its own block in the scope at `depth`; scopes further in are out of sight while
        it is filled.
        """
        loop = value.attrs[1] if value.op == "reduce" else value.attrs[0]
        extents = tuple(v.extent for v in loop)
        attributes: dict[str, ir.Attribute] = {"extents": shape_attr(extents)}
        if value.op == "reduce":
            attributes["kind"] = ir.StringAttr.get(value.attrs[0])
            result = scalar_type(value.dtype)
        else:
            result = tensor_type(extents, value.dtype)
        outer, hidden = self.scopes[depth], self.scopes[depth + 1 :]
        op = self._create(outer, value.op, [], result, attributes, regions=1)
        block = ir.Block.create_at_start(
            op.regions[0], [ir.IndexType.get()] * len(loop), [op.location] * len(loop)
        )
        saved, outer.anchor = outer.anchor, op
        del self.scopes[depth + 1 :]
        self.scopes.append(Scope(block, dict(zip(loop, block.arguments, strict=True))))
        inner = self.emit(value.args[0])
        self._terminate(self.scopes[-1], [inner])
        self.scopes.pop()
        self.scopes += hidden
        outer.anchor = saved
        return op.result

    def _terminate(self, scope: Scope, values: Sequence[ir.Value]) -> None:
        ir.Operation.create("kernel.yield", operands=list(values), ip=ir.InsertionPoint(scope.block))


def map_attr(results: Sequence[Expr]) -> ir.Attribute:
    """The map from the coordinates that `results` use, in order of their numbers, to `results`."""
    used = variables(tuple(results))
    positions = IndexMap.of([v.extent for v in used], ()).dims
    swap: dict[Atom, Expr] = dict(zip(used, positions, strict=True))
    return IndexMap(tuple(v.extent for v in used), tuple(r.substitute(swap) for r in results)).to_attr()


def shape_attr(extents: Sequence[Expr]) -> ir.Attribute:
    """Extents as a map of symbols."""
    return IndexMap((), tuple(extents)).to_attr()
