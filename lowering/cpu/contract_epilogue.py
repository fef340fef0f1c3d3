"""The epilogue of a contraction: from a tile of sums in scratch memory to elements of the result."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.mlir import ir
from ...dialects.symbolic import ONE, ZERO, DimVar, Expr
from .body import emit_value
from .contract_address import load_element, offset_pointer, scaled
from .contract_spec import Axis, ContractSpec
from .contract_tile import TileShape
from .emit import COMPUTE, Kernel, Scope, VectorLoop, type_text
from .index import lane_stride, scalar_index
from .memory import emit_store, lane_compare
from .tree import Body, Reader


@dataclass(frozen=True)
class Epilogue:
    """The op's region, and its indices by kind."""

    body: Body
    batch: tuple[DimVar, ...]
    rows: tuple[DimVar, ...]
    columns: tuple[DimVar, ...]

    def transposed(self) -> Epilogue:
        """The same with rows and columns exchanged."""
        return Epilogue(self.body, self.batch, self.columns, self.rows)


def read_epilogue(operation: ir.Operation, spec: ContractSpec) -> Epilogue:
    """Reads the region; symbols must be in scope."""
    extents = [*spec.batch.dims, *spec.rows.dims, *spec.columns.dims]
    body = Reader().body(operation, extents, accumulator=spec.accumulator)
    first, second = len(spec.batch.dims), len(spec.batch.dims) + len(spec.rows.dims)
    return Epilogue(body, body.indices[:first], body.indices[first:second], body.indices[second:])


def bind_axis(scope: Scope, axis: Axis, indices: tuple[DimVar, ...]) -> None:
    """Gives the indices of one kind their values; `axis.atom` is bound."""
    for index, coordinate in zip(indices, axis.coordinates(axis.atom), strict=True):
        scope.bind(index, scalar_index(scope, coordinate))


def emit_epilogue(
    scope: Scope,
    spec: ContractSpec,
    epilogue: Epilogue,
    shape: TileShape,
    rows: tuple[str, str],
    columns: tuple[str, str],
    tile: str,
    out: str,
) -> None:
    """Computes and stores the results of rows [rows[0], rows[1]) and columns [columns[0], columns[1])."""
    constant = scope.kernel.index_constant
    row = scope.loop(rows[0], rows[1], constant(1))
    row.bind(spec.rows.atom, row.index)
    bind_axis(row, spec.rows, epilogue.rows)
    number = row.assign(f"arith.subi {row.index}, {rows[0]} : i64")
    line = offset_pointer(row, tile, scaled(row, number, shape.columns), spec.accumulator)
    lanes = _lanes(spec, shape)
    column = row.loop(columns[0], columns[1], constant(max(lanes, 1)))
    column.bind(spec.columns.atom, column.index)
    place = column.assign(f"arith.subi {column.index}, {columns[0]} : i64")
    sums = load_element(
        column, offset_pointer(column, line, place, spec.accumulator), spec.accumulator, lanes
    )
    if not lanes or (spec.columns.size % lanes) is ZERO:
        _store(column, spec, epilogue, sums, lanes, None, out)
    else:
        left = column.assign(f"arith.subi {columns[1]}, {column.index} : i64")
        full = column.assign(f"arith.cmpi sge, {left}, {constant(lanes)} : i64")
        whole, partial = column.child(), column.child()
        _store(whole, spec, epilogue, sums, lanes, None, out)
        _store(partial, spec, epilogue, sums, lanes, left, out)
        column.lines += [f"scf.if {full} {{", *whole.lines, "} else {", *partial.lines, "}"]
    column.close_loop()
    row.close_loop()


def _lanes(spec: ContractSpec, shape: TileShape) -> int:
    """Columns that the epilogue takes at once; 0 where vectors would cross from one dim into the next."""
    dims = [extent for extent in spec.columns.dims if extent is not ONE]
    if not dims or (len(dims) > 1 and (dims[-1] % shape.lanes) is not ZERO) or shape.lanes == 1:
        return 0
    return 0 if _stride(spec, shape.lanes) is None else shape.lanes


def _stride(spec: ContractSpec, lanes: int) -> Expr | None:
    return lane_stride(Kernel().root, spec.out, VectorLoop(spec.columns.atom, lanes, 1, aligned=True))


def _store(
    scope: Scope, spec: ContractSpec, epilogue: Epilogue, sums: str, lanes: int, left: str | None, out: str
) -> None:
    """One vector of results (`left`: how many of its lanes exist, None for all), or a scalar."""
    kernel = scope.kernel
    mask = None if left is None else lane_compare(scope, "slt", left, lanes)
    coordinates = spec.columns.coordinates(spec.columns.atom)
    inner = max((k for k, extent in enumerate(spec.columns.dims) if extent is not ONE), default=-1)
    for position, (index, coordinate) in enumerate(zip(epilogue.columns, coordinates, strict=True)):
        value = scalar_index(scope, coordinate)
        if lanes and position == inner:
            scope.bind_vector(index, (value,), lanes, mask, aligned=True)
        else:
            scope.bind(index, value)
    assert epilogue.body.accumulator is not None
    scope.define(epilogue.body.accumulator, (sums,))
    result = epilogue.body.result
    values = emit_value(kernel, result, scope)
    if lanes and scope.vector_for(result.dependences) is None:
        kind = COMPUTE[spec.out_dtype]
        values = (scope.assign(f"vector.broadcast {values[0]} : {kind} to {type_text(kind, lanes)}"),)
    offset = scalar_index(scope, spec.out)
    stride = _stride(spec, lanes) if lanes else ONE
    assert stride is not None
    if stride is ONE:
        emit_store(kernel, scope, out, offset, values, spec.out_dtype, lanes, mask)
        return
    _scatter(scope, spec, values[0], offset, scalar_index(scope, stride), lanes, left, out)


def _scatter(
    scope: Scope,
    spec: ContractSpec,
    value: str,
    offset: str,
    stride: str,
    lanes: int,
    left: str | None,
    out: str,
) -> None:
    """Stores lanes `stride` elements apart."""
    kind = COMPUTE[spec.out_dtype]
    for lane in range(lanes):
        inside = scope.child()
        element = inside.assign(f"vector.extract {value}[{lane}] : {kind} from {type_text(kind, lanes)}")
        step = scaled(inside, inside.kernel.index_constant(lane), stride)
        at = inside.assign(f"arith.addi {offset}, {step} : i64")
        emit_store(inside.kernel, inside, out, at, (element,), spec.out_dtype, 0)
        if left is None:
            scope.lines += inside.lines
        else:
            test = scope.assign(f"arith.cmpi sgt, {left}, {inside.kernel.index_constant(lane)} : i64")
            scope.lines += [f"scf.if {test} {{", *inside.lines, "}"]
