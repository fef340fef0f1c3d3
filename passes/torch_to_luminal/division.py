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
from .pointwise import true_divide
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


def rounded_quotient(b: Builder, a: Tensor, c: Tensor) -> Tensor:
    """a / c rounded correctly in f32: in f64 the product with a reciprocal is precise enough to decide every
    f32 rounding (6 / 3 must not fall below 2). In f64 itself it can be one unit off."""
    return b.cast(composite.div(b, b.cast(a, "f64"), b.cast(c, "f64")), a.dtype)


def float_floor_divide(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    """Floor of the exact quotient, with eager's results for 0, inf and signs (c10::div_floor_floating)."""
    quotient = rounded_quotient(b, x, other)
    remainder = composite.fmod(b, x, other)
    whole = rounded_quotient(b, composite.sub(b, x, remainder), other)
    opposite = composite.ne(b, b.less_than(other, 0), b.less_than(remainder, 0))
    adjust = b.mul(composite.ne(b, remainder, 0), opposite)
    whole = composite.select(b, adjust, composite.sub(b, whole, 1), whole)
    lower = composite.floor(b, whole)
    rounded = composite.select(b, b.less_than(0.5, composite.sub(b, whole, lower)), b.add(lower, 1), lower)
    zero = composite.select(b, composite.signbit(b, quotient), -0.0, b.full(x.shape, 0.0, x.dtype))
    result = composite.select(b, composite.eq(b, whole, 0), zero, rounded)
    return composite.select(b, composite.eq(b, other, 0), quotient, result)


def float_trunc_divide(b: Builder, x: Operand, other: Operand, dtype: str) -> Tensor:
    """trunc(x / other). Halves round the quotient to their own precision first, unless the divisor is a
    scalar; so does eager."""
    wide = dtypes.opmath(dtype)
    left, right = promoted(b, dtype, x, other)
    quotient = rounded_quotient(b, b.cast(left, wide), b.cast(right, wide))
    if isinstance(other, Tensor) and other.rank:
        quotient = b.cast(b.cast(quotient, dtype), wide)
    return b.cast(composite.trunc(b, quotient), dtype)


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
