"""Addresses in the loops of a contraction: strided operands, with as much as possible computed outside."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...dialects.symbolic import Expr
from .emit import BYTES, COMPUTE, Scope, type_text
from .index import scalar_index

Stride = int | str
"""A distance in elements: known, or the name of an i64."""


@dataclass(frozen=True)
class Rows:
    """The left operand of a tile.

    k has the coordinates of `extents`, outermost first, and each is `strides` apart from the next. Row r
    begins at `pointer + r * row`, or at `starts[r]` where rows are at any distance.
    """

    pointer: str
    row: Stride
    extents: tuple[Expr, ...]
    strides: tuple[Stride, ...]
    dtype: str
    starts: tuple[str, ...] = ()

    def first(self, scope: Scope, rows: int) -> Rows:
        """The first `rows` rows, each with a start of its own unless all distances are known."""
        if self.starts or isinstance(self.row, int):
            return replace(self, starts=self.starts[:rows])
        constant = scope.kernel.index_constant
        steps = [scaled(scope, constant(r), self.row) for r in range(rows)]
        return replace(self, starts=tuple(offset_pointer(scope, self.pointer, s, self.dtype) for s in steps))


@dataclass(frozen=True)
class Columns:
    """The right operand of a tile: element (k, n) is at `pointer + k * depth + n * column`."""

    pointer: str
    depth: Stride
    dtype: str
    column: Stride = 1


def stride_of(scope: Scope, expr: Expr) -> Stride:
    """A stride that does not depend on coordinates."""
    return expr.value if expr.is_const else scalar_index(scope, expr)


def scaled(scope: Scope, index: str, stride: Stride) -> str:
    """`index * stride` as i64."""
    if stride == 1:
        return index
    factor = scope.kernel.index_constant(stride) if isinstance(stride, int) else stride
    return scope.assign(f"arith.muli {index}, {factor} : i64")


def offset_pointer(scope: Scope, pointer: str, index: Stride, element: str) -> str:
    """The address `index` elements after `pointer`."""
    if isinstance(index, int):
        if index == 0:
            return pointer
        return scope.assign(f"llvm.getelementptr {pointer}[{index}] : (!llvm.ptr) -> !llvm.ptr, {element}")
    return scope.assign(f"llvm.getelementptr {pointer}[{index}] : (!llvm.ptr, i64) -> !llvm.ptr, {element}")


def load_element(scope: Scope, pointer: str, dtype: str, lanes: int = 0) -> str:
    """One element, or `lanes` consecutive ones, in the compute type (half types widened)."""
    kind = type_text(dtype, lanes)
    value = scope.assign(f"llvm.load {pointer} {{alignment = {BYTES[dtype]} : i64}} : !llvm.ptr -> {kind}")
    if COMPUTE[dtype] == dtype:
        return value
    return scope.assign(f"arith.extf {value} : {kind} to {type_text(COMPUTE[dtype], lanes)}")


def store_element(scope: Scope, value: str, pointer: str, element: str, lanes: int = 0) -> None:
    """Stores a value of a compute type, or `lanes` of them."""
    kind = type_text(element, lanes)
    scope.emit(f"llvm.store {value}, {pointer} {{alignment = {BYTES[element]} : i64}} : {kind}, !llvm.ptr")


def row_addresses(scope: Scope, rows: Rows, count: int, at: str) -> list[tuple[str, int]]:
    """For each of `count` rows the address of its element `at`, as a pointer and a known distance from it."""
    if rows.starts:
        return [(offset_pointer(scope, start, at, rows.dtype), 0) for start in rows.starts[:count]]
    assert isinstance(rows.row, int)
    base = offset_pointer(scope, rows.pointer, at, rows.dtype)
    return [(base, r * rows.row) for r in range(count)]
