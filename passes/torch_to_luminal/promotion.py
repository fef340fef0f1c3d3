"""Type promotion exactly as eager does it, and arithmetic on half types with one rounding per ATen op."""

from __future__ import annotations

from collections.abc import Callable

from ...dialects.symbolic import Expr
from .builder import Builder, Operand, Tensor
from .dtypes import category, is_float, is_half, opmath, promote_dtypes

_NUMBER_DTYPES = {0: "i1", 1: "i64", 2: "f32"}


def number_category(value: int | float | bool | Expr) -> int:
    """Promotion category of a Python scalar."""
    if isinstance(value, bool):
        return 0
    return 2 if isinstance(value, float) else 1


def result_dtype(*operands: Operand) -> str:
    """torch.result_type: tensors with dimensions outrank rank-0 tensors, which outrank Python numbers,
    within one category; a number of a higher category gives i64 or the default dtype f32."""
    dimensioned = [item.dtype for item in operands if isinstance(item, Tensor) and item.rank]
    scalars = [item.dtype for item in operands if isinstance(item, Tensor) and not item.rank]
    numbers = [number_category(item) for item in operands if not isinstance(item, Tensor)]
    dtype: str | None = None
    for group in (dimensioned, scalars):
        joined: str | None = None
        for item in group:
            joined = item if joined is None else promote_dtypes(joined, item)
        if joined is not None and (dtype is None or category(joined) > category(dtype)):
            dtype = joined
    highest = max(numbers, default=0)
    if dtype is None or highest > category(dtype):
        return _NUMBER_DTYPES[highest]
    return dtype


def float_dtype(*operands: Operand) -> str:
    """The promoted dtype, with integers and bool replaced by f32 (true division, sqrt, ...)."""
    dtype = result_dtype(*operands)
    return dtype if is_float(dtype) else "f32"


def promoted(b: Builder, dtype: str, *operands: Operand) -> list[Tensor]:
    """All operands cast to `dtype` and broadcast to one shape. Numbers are rounded to `dtype` directly."""
    cast = [b.cast(item, dtype) if isinstance(item, Tensor) else b.scalar(item, dtype) for item in operands]
    return b.align(*cast)


def in_opmath(b: Builder, compute: Callable[..., Tensor], dtype: str, *operands: Operand) -> Tensor:
    """compute(b, *operands) as eager evaluates it: operands in the opmath dtype of `dtype`, one rounding at
    the end."""
    return b.cast(compute(b, *promoted(b, opmath(dtype), *operands)), dtype)


def exact_in(value: Operand, dtype: str) -> bool:
    """Whether a Python number is exact in a half dtype, so that rounding it early changes nothing."""
    if isinstance(value, Tensor) or not is_half(dtype):
        return True
    return isinstance(value, (int, float)) and float(value) in (0.0, 1.0, -1.0, 2.0, 0.5, -2.0, -0.5)
