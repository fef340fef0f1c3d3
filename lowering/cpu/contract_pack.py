"""Copies of operand blocks into scratch memory, in the order in which the tiles read them.

They pay when an operand is not linear along k or m, is of a half type (widened once, not for every tile),
or lies so that its lines fall into few sets of the L1 cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.symbolic import ONE, ZERO, Atom, DimVar, Expr
from .contract_address import load_element, offset_pointer, scaled, store_element
from .contract_plan import Plan, strides
from .contract_spec import ContractSpec
from .emit import BYTES, LoopScope, Scope, type_text
from .index import scalar_index

_ROW, _COLUMN, _DEPTH = 3_000_000, 3_000_001, 3_000_002


@dataclass(frozen=True)
class Source:
    """An operand in memory: its first element and the offset of an element over the axes' atoms."""

    pointer: str
    offset: Expr


class _DepthLoops:
    """Loops over k: one where the operand is linear along k, else one per dim, so that nothing is divided."""

    def __init__(self, scope: Scope, spec: ContractSpec, offset: Expr) -> None:
        linear = offset.coefficient(spec.depth.atom) is not None
        extents = [spec.depth.size] if linear else list(spec.depth.dims)
        self.loops: list[LoopScope] = []
        self.position: Expr = ZERO
        constant = scope.kernel.index_constant
        for index, extent in enumerate(extents):
            outer = self.loops[-1] if self.loops else scope
            loop = outer.loop(constant(0), scalar_index(outer, extent), constant(1))
            atom = DimVar(_DEPTH + index, extent)
            loop.bind(atom, loop.index)
            self.loops.append(loop)
            self.position = self.position * extent + atom

    @property
    def inner(self) -> LoopScope:
        """The innermost body."""
        return self.loops[-1]

    def close(self) -> None:
        """Ends all loops."""
        for loop in reversed(self.loops):
            loop.close_loop()


def pack_rows(
    scope: Scope, spec: ContractSpec, plan: Plan, lhs: Source, rows: tuple[str, str], buffer: str
) -> None:
    """Copies rows [rows[0], rows[1]) to `buffer`, widened.

    The order is tile after tile, k by k within a tile; for dot tiles it is row by row.
    """
    first, last = rows
    constant = scope.kernel.index_constant
    height = constant(plan.tile.rows)
    depth = scalar_index(scope, spec.depth.size)
    tile = scope.loop(first, last, height)
    rest = tile.assign(f"arith.subi {last}, {tile.index} : i64")
    count = tile.assign(f"arith.minsi {rest}, {height} : i64")
    done = tile.assign(f"arith.subi {tile.index}, {first} : i64")
    target = offset_pointer(tile, buffer, scaled(tile, done, depth), spec.accumulator)
    row_stride, _, depth_stride = strides(lhs.offset, spec)
    # The inner loop runs along the operand's contiguous axis.
    if row_stride is ONE and depth_stride is not ONE:
        along = _DepthLoops(tile, spec, lhs.offset)
        down = inner = along.inner.loop(constant(0), count, constant(1))
    else:
        down = tile.loop(constant(0), count, constant(1))
        along = _DepthLoops(down, spec, lhs.offset)
        inner = along.inner
    row = DimVar(_ROW, spec.rows.size)
    down.bind(row, down.assign(f"arith.addi {tile.index}, {down.index} : i64"))
    offset = lhs.offset.substitute({spec.rows.atom: row, spec.depth.atom: along.position})
    source = offset_pointer(inner, lhs.pointer, scalar_index(inner, offset), spec.dtype)
    value = load_element(inner, source, spec.dtype)
    k = scalar_index(inner, along.position)
    if plan.dot:
        line, step = scaled(inner, down.index, depth), k
    else:
        line, step = scaled(inner, k, plan.tile.rows), down.index
    place = inner.assign(f"arith.addi {line}, {step} : i64")
    store_element(inner, value, offset_pointer(inner, target, place, spec.accumulator), spec.accumulator)
    if inner is not along.inner:
        inner.close_loop()
    along.close()
    if inner is along.inner:
        down.close_loop()
    tile.close_loop()


def pack_columns(scope: Scope, spec: ContractSpec, plan: Plan, rhs: Source, first: str, buffer: str) -> None:
    """Copies the columns of one tile from `first` on to `buffer` [k][column], in the operand's own dtype.

    Columns past the last one are left as they are: their sums are never read.
    """
    _, column_stride, _ = strides(rhs.offset, spec)
    if column_stride is not ONE:
        _pack_each(scope, spec, plan, rhs, first, buffer)
        return
    if (spec.columns.size % plan.tile.columns) is ZERO:
        _pack_lines(scope, spec, plan, rhs, first, buffer)
        return
    whole, ragged = scope.child(), scope.child()
    _pack_lines(whole, spec, plan, rhs, first, buffer)
    _pack_each(ragged, spec, plan, rhs, first, buffer)
    full = whole_tile(scope, spec, plan, first)
    scope.lines += [f"scf.if {full} {{", *whole.lines, "} else {", *ragged.lines, "}"]


def whole_tile(scope: Scope, spec: ContractSpec, plan: Plan, first: str) -> str:
    """Whether all columns of the tile that starts at `first` exist (i1)."""
    end = scope.assign(f"arith.addi {first}, {scope.kernel.index_constant(plan.tile.columns)} : i64")
    return scope.assign(f"arith.cmpi sle, {end}, {scalar_index(scope, spec.columns.size)} : i64")


def _pack_lines(scope: Scope, spec: ContractSpec, plan: Plan, rhs: Source, first: str, buffer: str) -> None:
    """Whole contiguous lines, a vector at a time."""
    column = DimVar(_COLUMN, spec.columns.size)
    scope.bind(column, first)
    along = _DepthLoops(scope, spec, rhs.offset)
    line = along.inner
    offset = rhs.offset.substitute({spec.columns.atom: column, spec.depth.atom: along.position})
    source = offset_pointer(line, rhs.pointer, scalar_index(line, offset), spec.dtype)
    place = scaled(line, scalar_index(line, along.position), plan.tile.columns)
    target = offset_pointer(line, buffer, place, spec.dtype)
    for vector in range(plan.tile.vectors):
        at = vector * plan.tile.lanes
        _copy(
            line,
            offset_pointer(line, source, at, spec.dtype),
            offset_pointer(line, target, at, spec.dtype),
            spec.dtype,
            plan.tile.lanes,
        )
    along.close()


def _pack_each(scope: Scope, spec: ContractSpec, plan: Plan, rhs: Source, first: str, buffer: str) -> None:
    """Element by element, column by column: any offset."""
    constant = scope.kernel.index_constant
    rest = scope.assign(f"arith.subi {scalar_index(scope, spec.columns.size)}, {first} : i64")
    count = scope.assign(f"arith.minsi {rest}, {constant(plan.tile.columns)} : i64")
    across = scope.loop(constant(0), count, constant(1))
    column = DimVar(_COLUMN, spec.columns.size)
    across.bind(column, across.assign(f"arith.addi {first}, {across.index} : i64"))
    along = _DepthLoops(across, spec, rhs.offset)
    inner = along.inner
    replacements: dict[Atom, Expr] = {spec.columns.atom: column, spec.depth.atom: along.position}
    source = scalar_index(inner, rhs.offset.substitute(replacements))
    line = scaled(inner, scalar_index(inner, along.position), plan.tile.columns)
    place = inner.assign(f"arith.addi {line}, {across.index} : i64")
    _copy(
        inner,
        offset_pointer(inner, rhs.pointer, source, spec.dtype),
        offset_pointer(inner, buffer, place, spec.dtype),
        spec.dtype,
    )
    along.close()
    across.close_loop()


def _copy(scope: Scope, source: str, target: str, dtype: str, lanes: int = 0) -> None:
    kind = type_text(dtype, lanes)
    alignment = f"{{alignment = {BYTES[dtype]} : i64}}"
    value = scope.assign(f"llvm.load {source} {alignment} : !llvm.ptr -> {kind}")
    scope.emit(f"llvm.store {value}, {target} {alignment} : {kind}, !llvm.ptr")
