"""The inner kernels of a contraction: a block of the result held in registers while k runs.

`emit_tile`: lanes are columns. For each k one vector per column group of the right operand is loaded, one
scalar per row
of the left one is broadcast, and they are multiplied into the accumulators: no horizontal sums, and each
loaded value is
used rows or columns times. (Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008.)
`emit_dot_tile`: lanes are k, for few rows and a right operand whose k is contiguous: nothing needs to be
transposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.symbolic import ZERO, Expr
from .contract_address import (
    Columns,
    Rows,
    load_element,
    moving_addresses,
    offset_pointer,
    scaled,
    store_element,
)
from .emit import COMPUTE, LoopScope, Scope, type_text
from .index import scalar_index

DOT_COLUMNS = 4
"""Columns that `emit_dot_tile` accumulates at once."""

_SUMMED = 256
"""Vectors of k that `emit_dot_tile` sums in registers: rounding errors grow with the length of the chains of
additions."""


@dataclass(frozen=True)
class TileShape:
    """rows x (vectors * lanes) results, k taken `unroll` at a time."""

    rows: int
    vectors: int
    lanes: int
    unroll: int = 1

    @property
    def columns(self) -> int:
        """Columns of the tile."""
        return self.vectors * self.lanes


def multiply_add(scope: Scope, a: str, b: str, c: str, element: str, lanes: int) -> str:
    """`a * b + c`; integers wrap."""
    kind = type_text(element, lanes)
    if element in ("f32", "f64") and lanes:
        return scope.assign(f"vector.fma {a}, {b}, {c} : {kind}")
    suffix = "f" if element in ("f32", "f64") else "i"
    product = scope.assign(f"arith.mul{suffix} {a}, {b} : {kind}")
    return scope.assign(f"arith.add{suffix} {product}, {c} : {kind}")


def emit_tile(
    scope: Scope,
    lhs: Rows,
    rhs: Columns,
    shape: TileShape,
    bounds: tuple[Expr, Expr],
    result: str,
    add: bool,
) -> None:
    """Stores a tile's sums over k in [bounds[0], bounds[1]), row by row without gaps, at `result`.

    `add`: adds them to what is there.
    """
    element = COMPUTE[lhs.dtype]
    zeros = [scope.kernel.constant(element, 0, shape.lanes)] * (shape.rows * shape.vectors)
    sums = _depth_range(scope, lhs, rhs, shape, bounds, zeros)
    kind = type_text(element, shape.lanes)
    operation = "addf" if element in ("f32", "f64") else "addi"
    for position, value in enumerate(sums):
        address = offset_pointer(scope, result, position * shape.lanes, element)
        if add:
            before = load_element(scope, address, element, shape.lanes)
            value = scope.assign(f"arith.{operation} {before}, {value} : {kind}")
        store_element(scope, value, address, element, shape.lanes)


def emit_zeros(scope: Scope, shape: TileShape, element: str, result: str, rows: str) -> None:
    """Fills the sums of `rows` (an i64) rows with zeros."""
    constant = scope.kernel.index_constant
    row = scope.loop(constant(0), rows, constant(1))
    line = offset_pointer(row, result, scaled(row, row.index, shape.columns), element)
    zero = row.kernel.constant(element, 0, shape.lanes)
    for vector in range(shape.vectors):
        store_element(
            row, zero, offset_pointer(row, line, vector * shape.lanes, element), element, shape.lanes
        )
    row.close_loop()


def _depth_range(
    scope: Scope,
    lhs: Rows,
    rhs: Columns,
    shape: TileShape,
    bounds: tuple[Expr, Expr],
    sums: Sequence[str],
) -> Sequence[str]:
    """The sums after k in [bounds[0], bounds[1])."""
    lower, upper = bounds
    whole = upper - (upper - lower) % shape.unroll
    start, middle, end = (scalar_index(scope, bound) for bound in (lower, whole, upper))
    if whole is not lower:
        sums = _column_lanes(scope, lhs, rhs, shape, (start, middle, shape.unroll), sums)
    if whole is not upper:
        sums = _column_lanes(scope, lhs, rhs, shape, (middle, end, 1), sums)
    return sums


def _column_lanes(
    scope: Scope,
    lhs: Rows,
    rhs: Columns,
    shape: TileShape,
    bounds: tuple[str, str, int],
    sums: Sequence[str],
) -> list[str]:
    lower, upper, step = bounds
    element = COMPUTE[lhs.dtype]
    kind = type_text(element, shape.lanes)
    body = scope.loop(lower, upper, scope.kernel.index_constant(step), [(value, kind) for value in sums])
    current = list(body.arguments)
    row_at = moving_addresses(body, lhs.pointer, shape.rows, lhs.row, lhs.depth, lhs.dtype)
    column_at = moving_addresses(body, rhs.pointer, 1, 0, rhs.depth, rhs.dtype)
    for u in range(step):
        line = column_at(0, u)
        columns = [
            load_element(body, offset_pointer(body, line, v * shape.lanes, rhs.dtype), rhs.dtype, shape.lanes)
            for v in range(shape.vectors)
        ]
        for r in range(shape.rows):
            value = load_element(body, row_at(r, u), lhs.dtype)
            spread = body.assign(f"vector.broadcast {value} : {element} to {kind}")
            for v in range(shape.vectors):
                at = r * shape.vectors + v
                current[at] = multiply_add(body, spread, columns[v], current[at], element, shape.lanes)
    return body.close_loop(current)


def emit_dot_tile(
    scope: Scope, lhs: Rows, rhs: Columns, shape: TileShape, depth: Expr, columns: str, result: str
) -> None:
    """Like `emit_tile`, for operands with depth stride 1. Only the first `columns` (an i64 > 0) columns
    exist.

    `shape.lanes` values of k are taken at once, and DOT_COLUMNS columns.
    """
    element = COMPUTE[lhs.dtype]
    constant = scope.kernel.index_constant
    last = scope.assign(f"arith.subi {columns}, {constant(1)} : i64")
    group = scope.loop(constant(0), columns, constant(DOT_COLUMNS))
    # The last group may reach past the last column: it repeats that one, and nobody reads the sums.
    numbers = [group.assign(f"arith.addi {group.index}, {constant(c)} : i64") for c in range(DOT_COLUMNS)]
    inside = [group.assign(f"arith.minsi {number}, {last} : i64") for number in numbers]
    starts = [offset_pointer(group, rhs.pointer, scaled(group, n, rhs.column), rhs.dtype) for n in inside]
    count = shape.rows * DOT_COLUMNS
    whole = depth - depth % shape.lanes
    start, middle, end = (scalar_index(group, bound) for bound in (ZERO, whole, depth))
    sums = [group.kernel.constant(element, 0)] * count
    if whole is not ZERO:
        stride = _SUMMED * shape.lanes
        block = group.loop(start, middle, constant(stride), [(value, element) for value in sums])
        following = block.assign(f"arith.addi {block.index}, {constant(stride)} : i64")
        stop = block.assign(f"arith.minsi {following}, {middle} : i64")
        zero = group.kernel.constant(element, 0, shape.lanes)
        body = block.loop(
            block.index, stop, constant(shape.lanes), [(zero, type_text(element, shape.lanes))] * count
        )
        lanes = _dot_step(body, lhs, starts, shape.rows, rhs.dtype, shape.lanes)
        add = "addf" if element in ("f32", "f64") else "addi"
        totals = [
            block.assign(
                f"arith.{add} {before}, {_horizontal(block, value, element, shape.lanes)} : {element}"
            )
            for before, value in zip(block.arguments, lanes, strict=True)
        ]
        sums = block.close_loop(totals)
    if whole is not depth:
        body = group.loop(middle, end, constant(1), [(value, element) for value in sums])
        sums = _dot_step(body, lhs, starts, shape.rows, rhs.dtype, 0)
    for position, value in enumerate(sums):
        row, column = divmod(position, DOT_COLUMNS)
        line = offset_pointer(group, result, row * shape.columns, element)
        store_element(group, value, offset_pointer(group, line, numbers[column], element), element)
    group.close_loop()


def _dot_step(
    body: LoopScope, lhs: Rows, starts: Sequence[str], rows: int, rhs_dtype: str, lanes: int
) -> list[str]:
    element = COMPUTE[lhs.dtype]
    row_at = moving_addresses(body, lhs.pointer, rows, lhs.row, 1, lhs.dtype)
    columns = [
        load_element(body, offset_pointer(body, start, body.index, rhs_dtype), rhs_dtype, lanes)
        for start in starts
    ]
    current = list(body.arguments)
    for r in range(rows):
        value = load_element(body, row_at(r, 0), lhs.dtype, lanes)
        for c, column in enumerate(columns):
            at = r * len(columns) + c
            current[at] = multiply_add(body, value, column, current[at], element, lanes)
    return body.close_loop(current)


def _horizontal(scope: Scope, value: str, element: str, lanes: int) -> str:
    flags = " fastmath<reassoc>" if element in ("f32", "f64") else ""
    kind = type_text(element, lanes)
    return scope.assign(f"vector.reduction <add>, {value}{flags} : {kind} into {element}")
