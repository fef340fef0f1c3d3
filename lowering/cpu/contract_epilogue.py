"""The epilogue of a contraction: from a tile of sums in scratch memory to elements of the result."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.mlir import ir
from ...dialects.symbolic import ONE, ZERO, DimVar, Expr, as_expr, product
from .body import emit_value
from .contract_address import Stride, load_element, offset_pointer, scaled
from .contract_spec import Axis, ContractSpec
from .contract_tile import TileShape
from .emit import COMPUTE, Kernel, Scope, VectorLoop, type_text
from .index import lane_stride, scalar_index
from .memory import emit_store, lane_compare
from .schedule import refresh, simplify_atoms
from .tree import Body, Reader

_AXIS = 6_000_000
_LEAST_LANES = 4


@dataclass(frozen=True)
class Epilogue:
    """The op's region, and its indices by kind: together the row-major coordinates of an axis.

    Dims of extent 1 are left out, and adjacent ones that every access steps through as one are merged.
    """

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
    reader = Reader()
    body = reader.body(operation, extents, accumulator=spec.accumulator)
    first, second = len(spec.batch.dims), len(spec.batch.dims) + len(spec.rows.dims)
    kinds = (body.indices[:first], body.indices[first:second], body.indices[second:])
    batch, rows, columns = (simplify_atoms(body, reader, atoms) for atoms in kinds)
    body.indices = (*batch, *rows, *columns)
    assert body.accumulator is not None
    body.accumulator.dependences = frozenset(body.indices)
    refresh(body)
    return Epilogue(body, batch, rows, columns)


def bind_axis(scope: Scope, position: Expr, indices: tuple[DimVar, ...]) -> None:
    """Gives the indices of one kind their values at a position of the axis."""
    axis = _axis(indices)
    for index, coordinate in zip(indices, axis.coordinates(position), strict=True):
        scope.bind(index, scalar_index(scope, coordinate))


def _axis(indices: tuple[DimVar, ...]) -> Axis:
    dims = tuple(as_expr(index.extent or 0) for index in indices)
    return Axis(DimVar(_AXIS, product(dims)), dims)


@dataclass(frozen=True)
class _Lanes:
    """How the epilogue runs over a tile: `lanes` results at once (0: one) along `inner`, for each of `outer`.

    The results of a vector are `stride` elements apart.
    """

    outer: Axis
    outer_indices: tuple[DimVar, ...]
    inner: Axis
    inner_indices: tuple[DimVar, ...]
    lanes: int
    stride: Expr
    along_rows: bool


def _choose_lanes(spec: ContractSpec, epilogue: Epilogue, shape: TileShape) -> _Lanes:
    """Along columns, unless the result's rows and not its columns lie side by side."""
    rows, columns = (spec.rows, epilogue.rows), (spec.columns, epilogue.columns)
    along = spec.out.coefficient(spec.rows.atom)
    if along is ONE and spec.out.coefficient(spec.columns.atom) is not ONE and len(epilogue.rows) == 1:
        return _Lanes(*columns, *rows, max(shape.lanes, _LEAST_LANES), ONE, True)
    dims = [index.extent for index in epilogue.columns]
    crossing = len(dims) > 1 and (as_expr(dims[-1] or 0) % shape.lanes) is not ZERO
    stride = lane_stride(Kernel().root, spec.out, VectorLoop(spec.columns.atom, shape.lanes, 1, aligned=True))
    if not dims or crossing or shape.lanes == 1 or stride is None:
        return _Lanes(*rows, *columns, 0, ONE, False)
    return _Lanes(*rows, *columns, shape.lanes, stride, False)


def emit_epilogue(
    scope: Scope,
    spec: ContractSpec,
    epilogue: Epilogue,
    shape: TileShape,
    rows: tuple[str, str],
    columns: tuple[str, str],
    tile: str,
    out: str,
    line_step: Stride | None = None,
) -> None:
    """Computes and stores the results of rows [rows[0], rows[1]) and columns [columns[0], columns[1]).

    Their sums stand at `tile`, a row `line_step` (None: the tile's columns) after the other.
    """
    constant = scope.kernel.index_constant
    how = _choose_lanes(spec, epilogue, shape)
    lanes = how.lanes
    outside, within = (columns, rows) if how.along_rows else (rows, columns)
    step = shape.columns if line_step is None else line_step
    steps: tuple[Stride, Stride] = (1, step) if how.along_rows else (step, 1)
    line = scope.loop(outside[0], outside[1], constant(1))
    line.bind(how.outer.atom, line.index)
    bind_axis(line, how.outer.atom, how.outer_indices)
    number = line.assign(f"arith.subi {line.index}, {outside[0]} : i64")
    start = offset_pointer(line, tile, scaled(line, number, steps[0]), spec.accumulator)
    place = line.loop(within[0], within[1], constant(max(lanes, 1)))
    place.bind(how.inner.atom, place.index)
    number = place.assign(f"arith.subi {place.index}, {within[0]} : i64")
    first = offset_pointer(place, start, scaled(place, number, steps[1]), spec.accumulator)
    sums = _load_sums(place, first, steps[1], spec.accumulator, lanes)
    if not lanes or (not how.along_rows and (how.inner.size % lanes) is ZERO):
        _store(place, spec, epilogue, how, sums, None, out)
    else:
        left = place.assign(f"arith.subi {within[1]}, {place.index} : i64")
        full = place.assign(f"arith.cmpi sge, {left}, {constant(lanes)} : i64")
        whole, partial = place.child(), place.child()
        _store(whole, spec, epilogue, how, sums, None, out)
        _store(partial, spec, epilogue, how, sums, left, out)
        place.lines += [f"scf.if {full} {{", *whole.lines, "} else {", *partial.lines, "}"]
    place.close_loop()
    line.close_loop()


def _load_sums(scope: Scope, pointer: str, step: Stride, element: str, lanes: int) -> str:
    """A vector of sums `step` elements apart; lanes past the tile's last row hold anything."""
    if not isinstance(step, int) or step == 1 or not lanes:
        return load_element(scope, pointer, element, lanes)
    kind = type_text(element, lanes)
    vector = scope.kernel.constant(element, 0, lanes)
    for lane in range(lanes):
        value = load_element(scope, offset_pointer(scope, pointer, lane * step, element), element)
        vector = scope.assign(f"vector.insert {value}, {vector}[{lane}] : {element} into {kind}")
    return vector


def _store(
    scope: Scope,
    spec: ContractSpec,
    epilogue: Epilogue,
    how: _Lanes,
    sums: str,
    left: str | None,
    out: str,
) -> None:
    """One vector of results (`left`: how many of its lanes exist, None for all), or a scalar."""
    kernel, lanes = scope.kernel, how.lanes
    mask = None if left is None else lane_compare(scope, "slt", left, lanes)
    coordinates = _axis(how.inner_indices).coordinates(how.inner.atom)
    for position, (index, coordinate) in enumerate(zip(how.inner_indices, coordinates, strict=True)):
        value = scalar_index(scope, coordinate)
        if lanes and position == len(coordinates) - 1:
            scope.bind_vector(index, (value,), lanes, mask, aligned=not how.along_rows)
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
    if how.stride is ONE:
        emit_store(kernel, scope, out, offset, values, spec.out_dtype, lanes, mask)
        return
    _scatter(scope, spec, values[0], offset, scalar_index(scope, how.stride), lanes, left, out)


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
