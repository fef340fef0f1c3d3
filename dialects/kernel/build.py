"""Builders of `kernel` ops. Bodies are Python functions that run with the insertion point in the new block.

region([x], dims, "f32", lambda tensors, index: scalar("exp", load(tensors[0], index, identity)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..definition import create
from ..mlir import ir
from ..scalar_ops import SCALAR_FUNCTIONS
from ..symbolic import Expr, IndexMap
from ..types import FLOATS, dtype_of, scalar_type, tensor_type
from . import scalars, structured
from .contract_schedule import ContractSchedule

MapLike: TypeAlias = Any
"""An IndexMap, an affine map, or its attribute."""
Values = list[ir.Value]


def map_attr(index_map: MapLike) -> ir.AffineMapAttr:
    """The attribute of a map."""
    if isinstance(index_map, IndexMap):
        return index_map.to_attr()
    return index_map if isinstance(index_map, ir.AffineMapAttr) else ir.AffineMapAttr.get(index_map)


def domain_attr(extents: Sequence[Expr | int]) -> ir.AffineMapAttr:
    """The attribute `affine_map<()[s..] -> (extents)>`."""
    return IndexMap.of((), extents).to_attr()


def scalar(name: str, *operands: ir.Value) -> ir.Value:
    """`kernel.<name>` from the scalar table. KeyError for an unknown name."""
    function = SCALAR_FUNCTIONS[name]
    result = operands[-1].type if function.result == "same" else scalar_type(function.result)
    return create(scalars.SCALAR_OPS[name], operands, [result]).results[0]


def cast(x: ir.Value, dtype: str) -> ir.Value:
    """Convert a scalar; x itself if it has that type already."""
    if dtype_of(x.type) == dtype:
        return x
    return create(scalars.CastOp, [x], [scalar_type(dtype)]).results[0]


def constant(value: bool | int | float, dtype: str) -> ir.Value:
    """A scalar literal."""
    type_ = scalar_type(dtype)
    attr = ir.FloatAttr.get(type_, float(value)) if dtype in FLOATS else ir.IntegerAttr.get(type_, int(value))
    return create(scalars.ConstantOp, [], [type_], {"value": attr}).results[0]


def to_index(x: ir.Value, extent: Expr | int) -> ir.Value:
    """An integer scalar as an index clamped to [0, extent)."""
    return create(scalars.ToIndexOp, [x], [ir.IndexType.get()], {"extent": domain_attr([extent])}).results[0]


def index_value(indices: Sequence[ir.Value], index_map: MapLike) -> ir.Value:
    """The value of the map's one result at `indices`, as i64."""
    attributes = {"map": map_attr(index_map)}
    return create(scalars.IndexValueOp, indices, [scalar_type("i64")], attributes).results[0]


def load(source: ir.Value, indices: Sequence[ir.Value], index_map: MapLike, masked: bool = False) -> ir.Value:
    """source[map(indices)]."""
    attributes: dict[str, ir.Attribute] = {"map": map_attr(index_map)}
    if masked:
        attributes["masked"] = ir.UnitAttr.get()
    return create(structured.LoadOp, [source, *indices], [source.type.element_type], attributes).results[0]


def yield_(*values: ir.Value) -> None:
    """End a body."""
    create(structured.YieldOp, values, [])


def _fill(
    op: ir.Operation, types: Sequence[ir.Type], body: Callable[[Values], Sequence[ir.Value]]
) -> ir.Value:
    block = op.regions[0].blocks.append(*types, arg_locs=[op.location] * len(types))
    with ir.InsertionPoint(block):
        yield_(*body(list(block.arguments)))
    return op.results[0]


def region(
    ins: Sequence[ir.Value],
    domain: Sequence[Expr | int],
    dtype: str,
    body: Callable[[Values, Values], ir.Value],
) -> ir.Value:
    """A `kernel.region`; body(tensors, indices) returns the scalar of type `dtype`."""
    attributes = {"domain": domain_attr(domain)}
    op = create(structured.RegionOp, ins, [tensor_type(domain, dtype)], attributes, regions=1)
    types = [*(value.type for value in ins), *[ir.IndexType.get()] * len(domain)]
    return _fill(op, types, lambda arguments: [body(arguments[: len(ins)], arguments[len(ins) :])])


def reduce(
    kind: str, extents: Sequence[Expr | int], dtype: str, body: Callable[[Values], ir.Value]
) -> ir.Value:
    """A `kernel.reduce`; body(indices) returns the scalar of type `dtype` to combine."""
    attributes = {"kind": ir.StringAttr.get(kind), "extents": domain_attr(extents)}
    op = create(structured.ReduceOp, [], [scalar_type(dtype)], attributes, regions=1)
    return _fill(op, [ir.IndexType.get()] * len(extents), lambda indices: [body(indices)])


def local(extents: Sequence[Expr | int], dtype: str, body: Callable[[Values], ir.Value]) -> ir.Value:
    """A `kernel.local`; body(indices) returns the scalar kept at those coordinates."""
    op = create(
        structured.LocalOp, [], [tensor_type(extents, dtype)], {"extents": domain_attr(extents)}, regions=1
    )
    return _fill(op, [ir.IndexType.get()] * len(extents), lambda indices: [body(indices)])


def contract(
    lhs: ir.Value,
    rhs: ir.Value,
    extras: Sequence[ir.Value],
    domain: Sequence[Expr | int],
    sizes: tuple[int, int, int, int],
    lhs_map: IndexMap,
    rhs_map: IndexMap | None,
    out_map: IndexMap,
    dtype: str,
    body: Callable[[Values, Values, ir.Value], ir.Value],
    packed: int | None = None,
    schedule: ContractSchedule | None = None,
    library: str | None = None,
) -> ir.Value:
    """A `kernel.contract`; body(tensors, batch/m/n indices, accumulator) returns the result scalar."""
    dims: list[Expr] = list(IndexMap.identity(domain).dims)
    result_dims = [domain[dims.index(result)] for result in out_map.results]
    attributes: dict[str, ir.Attribute] = {
        "domain": domain_attr(domain),
        "sizes": ir.DenseI64ArrayAttr.get(list(sizes)),
        "lhs_map": map_attr(lhs_map),
        "out_map": map_attr(out_map),
    }
    if rhs_map is not None:
        attributes["rhs_map"] = map_attr(rhs_map)
    if packed is not None:
        attributes["packed"] = ir.IntegerAttr.get(scalar_type("i64"), packed)
    if schedule is not None:
        attributes["schedule"] = schedule.to_attr()
    if library is not None:
        attributes["library"] = ir.StringAttr.get(library)
    operands = [lhs, rhs, *extras]
    op = create(structured.ContractOp, operands, [tensor_type(result_dims, dtype)], attributes, regions=1)
    index_count = len(domain) - sizes[3]
    accumulator = scalar_type(structured.accumulator_dtype(dtype_of(lhs.type)))
    types = [*(value.type for value in operands), *[ir.IndexType.get()] * index_count, accumulator]
    count = len(operands)
    return _fill(op, types, lambda arguments: [body(arguments[:count], arguments[count:-1], arguments[-1])])


def scatter(
    base: ir.Value,
    ins: Sequence[ir.Value],
    domain: Sequence[Expr | int],
    mode: str,
    body: Callable[[Values, Values], Sequence[ir.Value]],
    in_place: bool = False,
) -> ir.Value:
    """A `kernel.scatter`; body(tensors, indices) returns (value, i64 coordinates of base...)."""
    attributes: dict[str, ir.Attribute] = {"domain": domain_attr(domain), "mode": ir.StringAttr.get(mode)}
    if in_place:
        attributes["in_place"] = ir.UnitAttr.get()
    operands = [base, *ins]
    op = create(structured.ScatterOp, operands, [base.type], attributes, regions=1)
    types = [*(value.type for value in operands), *[ir.IndexType.get()] * len(domain)]
    return _fill(op, types, lambda arguments: body(arguments[: len(operands)], arguments[len(operands) :]))
