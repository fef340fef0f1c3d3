"""Addresses in the loops of a contraction: strided operands, with as much as possible computed outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...dialects.symbolic import Expr
from .emit import BYTES, COMPUTE, LoopScope, Scope, type_text
from .index import scalar_index

Stride = int | str
"""A distance in elements: known, or the name of an i64."""


@dataclass(frozen=True)
class Rows:
    """The left operand of a tile: element (r, k) is at `pointer + r * row + k * depth`."""

    pointer: str
    row: Stride
    depth: Stride
    dtype: str


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


def moving_addresses(
    body: LoopScope, pointer: str, lines: int, line: Stride, step: Stride, dtype: str
) -> Callable[[int, int], str]:
    """Addresses in a loop over k: (n, u) -> `pointer + n * line + (k + u) * step`, for n < `lines`.

    With known strides all share one moving address and differ by a constant; otherwise each line has its own
    start.
    """
    outside = body.parent
    assert outside is not None
    if isinstance(line, int) and isinstance(step, int):
        base = offset_pointer(body, pointer, scaled(body, body.index, step), dtype)
        return lambda number, u: offset_pointer(body, base, number * line + u * step, dtype)
    constant = body.kernel.index_constant
    starts = [
        offset_pointer(outside, pointer, scaled(outside, constant(n), line), dtype) for n in range(lines)
    ]
    along: dict[int, str] = {}

    def address(number: int, u: int) -> str:
        if u not in along:
            k = body.assign(f"arith.addi {body.index}, {constant(u)} : i64") if u else body.index
            along[u] = scaled(body, k, step)
        return offset_pointer(body, starts[number], along[u], dtype)

    return address
