"""Division that rounds: floor_divide and div with a rounding mode, on integers and floats.

Integers have no division primitive. The quotient is estimated in f64, and the exact remainder, which is a
primitive, says by how much the estimate is off. With r = mod(a, c):

    q = cast_i64(mul(cast_f64(a), recip(cast_f64(c))))                       off by up to 2^12
    t = add(add(r, mul(q, c)), neg(a))                                       (q - floor(a / c)) * c, wrapped
    s = mul(cast_f64(t), recip(neg(cast_f64(c))))
    e = add(cast_i64(add(s, 2^40 + 0.5)), -2^40)                             rounds to nearest
    floor_div(a, c) = add(q, e)

exact for all a, c of 64 bits with c != 0; INT_MIN / -1 wraps to INT_MIN, as in eager.
"""

from __future__ import annotations

from . import composite, dtypes
from .builder import Builder, Operand, Tensor
from .pointwise import float_floor_divide, true_divide
from .promotion import in_opmath, promoted, result_dtype
from .registry import Unsupported, converter

_ROUNDING = 1 << 40


def integer_floor_divide(b: Builder, a: Tensor, c: Tensor) -> Tensor:
    """floor(a / c) for i64 or i32 tensors of one shape; undefined where c is 0 (eager raises)."""
    dtype = a.dtype
    a, c = b.cast(a, "i64"), b.cast(c, "i64")
    divisor = b.cast(c, "f64")
    estimate = b.cast(b.mul(b.cast(a, "f64"), b.recip(divisor)), "i64")
    excess = b.add(b.add(b.mod(a, c), b.mul(estimate, c)), composite.neg(b, a))
    steps = b.mul(b.cast(excess, "f64"), b.recip(composite.neg(b, divisor)))
    correction = b.add(b.cast(b.add(steps, _ROUNDING + 0.5), "i64"), -_ROUNDING)
    return b.cast(b.add(estimate, correction), dtype)


def integer_trunc_divide(b: Builder, a: Tensor, c: Tensor) -> Tensor:
    """a / c rounded towards zero: one more than the floor where the quotient is negative and not whole."""
    negative = composite.ne(b, b.less_than(a, 0), b.less_than(c, 0))
    inexact = composite.ne(b, b.mod(a, c), 0)
    return b.add(integer_floor_divide(b, a, c), b.cast(b.mul(negative, inexact), a.dtype))


def float_trunc_divide(b: Builder, x: Operand, other: Operand, dtype: str) -> Tensor:
    """trunc(x / other). The quotient must be rounded correctly first (6 / 3 must not fall below 2), so f32
    divides in f64, where the product with a reciprocal is precise enough to decide every f32 rounding. Halves
    round the quotient to their own precision, unless the divisor is a scalar; so does eager."""
    left, right = promoted(b, dtype, x, other)
    quotient = composite.div(b, b.cast(left, "f64"), b.cast(right, "f64"))
    by_scalar = not (isinstance(other, Tensor) and other.rank)
    rounded = b.cast(quotient, dtypes.opmath(dtype) if by_scalar else dtype)
    return b.cast(composite.trunc(b, b.cast(rounded, dtypes.opmath(dtype))), dtype)


def divide(b: Builder, x: Operand, other: Operand, mode: str | None) -> Tensor:
    """x / other with eager's promotion; `mode` is None, "floor" or "trunc"."""
    if mode is None:
        return true_divide(b, x, other)
    if mode not in ("floor", "trunc"):
        raise Unsupported(f"division with rounding_mode='{mode}'")
    dtype = result_dtype(x, other)
    if dtypes.is_float(dtype):
        if mode == "trunc":
            return float_trunc_divide(b, x, other, dtype)
        return in_opmath(b, float_floor_divide, dtype, x, other)
    if not dtypes.is_integer(dtype):
        raise Unsupported("integer division of bool")
    left, right = promoted(b, dtype, x, other)
    return (integer_floor_divide if mode == "floor" else integer_trunc_divide)(b, left, right)


@converter("torch.aten.div.Tensor_mode", "torch.aten.div.Scalar_mode")
def convert_div_mode(b: Builder, x: Tensor, other: Operand, mode: str | None) -> Tensor:
    return divide(b, x, other, mode)


@converter("torch.aten.floor_divide", "torch.aten.floor_divide.Scalar")
def convert_floor_divide(b: Builder, x: Tensor, other: Operand) -> Tensor:
    return divide(b, x, other, "floor")
