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
from itertools import product as product_of

from ...dialects.symbolic import ZERO, Expr, product
from .contract_address import (
    Columns,
    Rows,
    Stride,
    load_element,
    offset_pointer,
    row_addresses,
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


CHAINS = 8
"""Sums in flight that keep two multiply-adds a cycle busy, each of four cycles latency."""


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

    @property
    def chains(self) -> int:
        """How many sums each result is added up in: a few results alone would wait for each other."""
        return max(1, CHAINS // (self.rows * self.vectors))


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
    """Stores a tile's sums, row by row without gaps, at `result`; the outermost coordinate of k is within
    [bounds[0], bounds[1]).

    `add`: adds them to what is there.
    """
    element = COMPUTE[lhs.dtype]
    count = shape.rows * shape.vectors
    zeros = [scope.kernel.constant(element, 0, shape.lanes)] * (count * shape.chains)
    sums = _depth_range(scope, lhs, rhs, shape, bounds, zeros)
    kind = type_text(element, shape.lanes)
    operation = "addf" if element in ("f32", "f64") else "addi"
    for position in range(count):
        value = sums[position]
        for other in sums[position + count :: count]:
            value = scope.assign(f"arith.{operation} {value}, {other} : {kind}")
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
    """The sums after the outermost coordinate of k in [bounds[0], bounds[1])."""
    lower, upper = bounds
    zero = scope.kernel.index_constant(0)
    lhs = lhs.first(scope, shape.rows)
    if len(lhs.extents) > 1:
        limits = (scalar_index(scope, lower), scalar_index(scope, upper))
        return _nest(scope, lhs, rhs, shape, 0, limits, (zero, zero), sums)
    whole = upper - (upper - lower) % shape.unroll
    start, middle, end = (scalar_index(scope, bound) for bound in (lower, whole, upper))
    for first, last, step in ((start, middle, shape.unroll), (middle, end, 1)):
        if (first == middle and whole is upper) or (last == middle and whole is lower):
            continue
        body = _carry(scope, shape, lhs, (first, last, step), sums)
        at = scaled(body, body.index, lhs.strides[0])
        steps = [scaled(body, body.kernel.index_constant(u), lhs.strides[0]) for u in range(step)]
        distances = [u * lhs.strides[0] for u in range(step)] if isinstance(lhs.strides[0], int) else steps
        sums = body.close_loop(
            _products(body, lhs, rhs, shape, at, body.index, distances, list(body.arguments))
        )
    return sums


_UNROLLED = 12
"""Most products that the innermost coordinates of k are written out for (a 3 x 3 window has 9)."""


def _nest(
    scope: Scope,
    lhs: Rows,
    rhs: Columns,
    shape: TileShape,
    level: int,
    bounds: tuple[str, str],
    at: tuple[str, str],
    sums: Sequence[str],
) -> list[str]:
    """A loop over coordinate `level` of k and those within; `at`: the offset in a row, the number of k."""
    body = _carry(scope, shape, lhs, (*bounds, 1), sums)
    constant = body.kernel.index_constant
    step = scaled(body, body.index, lhs.strides[level])
    offset = body.assign(f"arith.addi {at[0]}, {step} : i64")
    number = body.assign(f"arith.addi {at[1]}, {body.index} : i64")
    inner = lhs.extents[level + 1 :]
    count = product(inner)
    if not inner or (count.is_const and count.value <= _UNROLLED):
        k = scaled(body, number, count.value)
        distances = _distances(body, inner, lhs.strides[level + 1 :])
        return body.close_loop(_products(body, lhs, rhs, shape, offset, k, distances, list(body.arguments)))
    extent = scalar_index(body, inner[0])
    number = body.assign(f"arith.muli {number}, {extent} : i64")
    limits = (constant(0), extent)
    return body.close_loop(
        _nest(body, lhs, rhs, shape, level + 1, limits, (offset, number), list(body.arguments))
    )


def _carry(
    scope: Scope, shape: TileShape, lhs: Rows, bounds: tuple[str, str, int], sums: Sequence[str]
) -> LoopScope:
    kind = type_text(COMPUTE[lhs.dtype], shape.lanes)
    step = scope.kernel.index_constant(bounds[2])
    return scope.loop(bounds[0], bounds[1], step, [(value, kind) for value in sums])


def _distances(body: LoopScope, extents: Sequence[Expr], strides: Sequence[Stride]) -> list[Stride]:
    """The offsets of all coordinates of `extents` (known ones), row-major."""
    found: list[Stride] = []
    for position in product_of(*(range(extent.value) for extent in extents)):
        known, parts = 0, []
        for coordinate, stride in zip(position, strides, strict=True):
            if isinstance(stride, int):
                known += coordinate * stride
            elif coordinate:
                parts.append(scaled(body, body.kernel.index_constant(coordinate), stride))
        if not parts:
            found.append(known)
            continue
        total = body.kernel.index_constant(known)
        for part in parts:
            total = body.assign(f"arith.addi {total}, {part} : i64")
        found.append(total)
    return found


def _products(
    body: LoopScope,
    lhs: Rows,
    rhs: Columns,
    shape: TileShape,
    at: str,
    k: str,
    distances: Sequence[Stride],
    current: list[str],
) -> list[str]:
    """Adds products number `k` on, whose left factors are `distances` after offset `at` of each row."""
    element = COMPUTE[lhs.dtype]
    kind = type_text(element, shape.lanes)
    rows = row_addresses(body, lhs, shape.rows, at)
    line = offset_pointer(body, rhs.pointer, scaled(body, k, rhs.depth), rhs.dtype)
    for u, distance in enumerate(distances):
        here = offset_pointer(body, line, _times(body, u, rhs.depth), rhs.dtype)
        columns = [
            load_element(body, offset_pointer(body, here, v * shape.lanes, rhs.dtype), rhs.dtype, shape.lanes)
            for v in range(shape.vectors)
        ]
        for r, (pointer, known) in enumerate(rows):
            if isinstance(distance, int):
                address = offset_pointer(body, pointer, known + distance, lhs.dtype)
            else:
                address = offset_pointer(body, pointer, known, lhs.dtype)
                address = offset_pointer(body, address, distance, lhs.dtype)
            value = load_element(body, address, lhs.dtype)
            spread = body.assign(f"vector.broadcast {value} : {element} to {kind}")
            for v in range(shape.vectors):
                place = (u % shape.chains * shape.rows + r) * shape.vectors + v
                current[place] = multiply_add(body, spread, columns[v], current[place], element, shape.lanes)
    return current


def _times(scope: Scope, count: int, stride: Stride) -> Stride:
    if isinstance(stride, int):
        return count * stride
    return scaled(scope, scope.kernel.index_constant(count), stride) if count else 0


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
    lhs = lhs.first(group, shape.rows)
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
    row_at = row_addresses(body, lhs, rows, body.index)
    columns = [
        load_element(body, offset_pointer(body, start, body.index, rhs_dtype), rhs_dtype, lanes)
        for start in starts
    ]
    current = list(body.arguments)
    for r in range(rows):
        pointer, known = row_at[r]
        value = load_element(body, offset_pointer(body, pointer, known, lhs.dtype), lhs.dtype, lanes)
        for c, column in enumerate(columns):
            at = r * len(columns) + c
            current[at] = multiply_add(body, value, column, current[at], element, lanes)
    return body.close_loop(current)


def _horizontal(scope: Scope, value: str, element: str, lanes: int) -> str:
    flags = " fastmath<reassoc>" if element in ("f32", "f64") else ""
    kind = type_text(element, lanes)
    return scope.assign(f"vector.reduction <add>, {value}{flags} : {kind} into {element}")
