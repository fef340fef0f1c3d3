"""Comparisons, logic, choice by condition."""

from __future__ import annotations

import math
from collections.abc import Callable

from . import composite
from .builder import Builder, Operand, Tensor
from .dtypes import is_float
from .promotion import promoted, result_dtype
from .registry import converter

Compare = Callable[[Builder, Tensor, Tensor], Tensor]


def _compare(names: tuple[str, ...], compute: Compare) -> None:
    @converter(*names)
    def convert(b: Builder, x: Operand, other: Operand) -> Tensor:
        return compute(b, *promoted(b, result_dtype(x, other), x, other))


_COMPARISONS: dict[str, Compare] = {
    "eq": composite.eq,
    "ne": composite.ne,
    "lt": lambda b, x, y: b.less_than(x, y),
    "gt": lambda b, x, y: b.less_than(y, x),
    "le": composite.le,
    "ge": lambda b, x, y: composite.le(b, y, x),
}
for _name, _compute in _COMPARISONS.items():
    _compare((f"torch.aten.{_name}.Tensor", f"torch.aten.{_name}.Scalar"), _compute)


def truth(b: Builder, x: Operand) -> Tensor:
    """x != 0 as bool (NaN is true)."""
    return b.cast(x, "i1") if isinstance(x, Tensor) else b.constant(bool(x), "i1")


@converter("torch.aten.logical_not")
def convert_logical_not(b: Builder, x: Tensor) -> Tensor:
    return composite.logical_not(b, truth(b, x))


@converter("torch.aten.logical_and")
def convert_logical_and(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    return b.mul(truth(b, x), truth(b, other))


@converter("torch.aten.logical_or")
def convert_logical_or(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    return b.add(truth(b, x), truth(b, other))


@converter("torch.aten.logical_xor")
def convert_logical_xor(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    return composite.ne(b, truth(b, x), truth(b, other))


@converter("torch.aten.isnan")
def convert_isnan(b: Builder, x: Tensor) -> Tensor:
    return composite.isnan(b, x) if is_float(x.dtype) else b.full(x.shape, False, "i1")


@converter("torch.aten.isinf")
def convert_isinf(b: Builder, x: Tensor) -> Tensor:
    if not is_float(x.dtype):
        return b.full(x.shape, False, "i1")
    return composite.eq(b, composite.absolute(b, x), math.inf)


@converter("torch.aten.isfinite")
def convert_isfinite(b: Builder, x: Tensor) -> Tensor:
    if not is_float(x.dtype):
        return b.full(x.shape, True, "i1")
    return b.less_than(composite.absolute(b, x), math.inf)


@converter("torch.aten.isposinf")
def convert_isposinf(b: Builder, x: Tensor) -> Tensor:
    return composite.eq(b, x, math.inf) if is_float(x.dtype) else b.full(x.shape, False, "i1")


@converter("torch.aten.isneginf")
def convert_isneginf(b: Builder, x: Tensor) -> Tensor:
    return composite.eq(b, x, -math.inf) if is_float(x.dtype) else b.full(x.shape, False, "i1")


@converter(
    "torch.aten.where.self",
    "torch.aten.where.Scalar",
    "torch.aten.where.ScalarOther",
    "torch.aten.where.ScalarSelf",
)
def convert_where(b: Builder, condition: Tensor, x: Operand, other: Operand) -> Tensor:
    dtype = result_dtype(x, other)
    return composite.select(b, truth(b, condition), *promoted(b, dtype, x, other))


@converter("torch.aten.masked_fill.Scalar", "torch.aten.masked_fill.Tensor")
def convert_masked_fill(b: Builder, x: Tensor, mask: Tensor, value: Operand) -> Tensor:
    return composite.select(b, mask, b.scalar(value, x.dtype), x)


@converter("torch.aten.nan_to_num")
def convert_nan_to_num(
    b: Builder, x: Tensor, nan: float | None, positive: float | None, negative: float | None
) -> Tensor:
    if not is_float(x.dtype):
        return x
    largest = {
        "f64": 1.7976931348623157e308,
        "f32": 3.4028234663852886e38,
        "f16": 65504.0,
        "bf16": 3.3895313892515355e38,
    }
    high = largest[x.dtype] if positive is None else positive
    low = -largest[x.dtype] if negative is None else negative
    result = composite.select(b, composite.isnan(b, x), 0.0 if nan is None else nan, x)
    result = composite.select(b, composite.eq(b, x, math.inf), high, result)
    return composite.select(b, composite.eq(b, x, -math.inf), low, result)
