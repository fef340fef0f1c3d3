"""Arithmetic on elements: sums, products, quotients, powers, rounding, extrema."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...dialects.symbolic import Expr
from . import composite
from .builder import Builder, Operand, Tensor
from .dtypes import is_float, is_integer
from .promotion import float_dtype, in_opmath, promoted, result_dtype
from .registry import Unsupported, converter

# Sums and products.


def _is_number(value: Operand, number: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == number


def _add(b: Builder, x: Operand, other: Operand, alpha: Operand) -> Tensor:
    dtype = result_dtype(x, other)
    if _is_number(alpha, 1):
        return in_opmath(b, lambda b, p, q: b.add(p, q), dtype, x, other)
    return in_opmath(b, lambda b, p, q, a: b.add(p, b.mul(q, a)), dtype, x, other, alpha)


@converter("torch.aten.add.Tensor", "torch.aten.add.Scalar")
def convert_add(b: Builder, x: Tensor, other: Operand, alpha: Operand) -> Tensor:
    return _add(b, x, other, alpha)


def _subtract(b: Builder, x: Operand, other: Operand, alpha: Operand) -> Tensor:
    dtype = result_dtype(x, other)
    for item in (x, other):
        if (isinstance(item, Tensor) and item.dtype == "i1") or isinstance(item, bool):
            raise Unsupported(
                "subtraction with a bool operand is an error in PyTorch too; use logical_xor or logical_not"
            )
    if _is_number(alpha, 1):
        return in_opmath(b, composite.sub, dtype, x, other)
    return in_opmath(b, lambda b, p, q, a: composite.sub(b, p, b.mul(q, a)), dtype, x, other, alpha)


@converter("torch.aten.sub.Tensor", "torch.aten.sub.Scalar")
def convert_sub(b: Builder, x: Tensor, other: Operand, alpha: Operand) -> Tensor:
    return _subtract(b, x, other, alpha)


@converter("torch.aten.rsub.Scalar", "torch.aten.rsub.Tensor")
def convert_rsub(b: Builder, x: Tensor, other: Operand, alpha: Operand) -> Tensor:
    dtype = result_dtype(x, other)
    if x.dtype == "i1":
        raise Unsupported(
            "subtraction with a bool operand is an error in PyTorch too; use logical_xor or logical_not"
        )
    if _is_number(alpha, 1):
        return in_opmath(b, composite.sub, dtype, other, x)
    return in_opmath(b, lambda b, p, q, a: composite.sub(b, p, b.mul(q, a)), dtype, other, x, alpha)


@converter("torch.aten.mul.Tensor", "torch.aten.mul.Scalar")
def convert_mul(b: Builder, x: Tensor, other: Operand) -> Tensor:
    return in_opmath(b, lambda b, p, q: b.mul(p, q), result_dtype(x, other), x, other)


@converter("torch.aten.addcmul")
def convert_addcmul(b: Builder, x: Tensor, first: Tensor, second: Tensor, value: Operand) -> Tensor:
    def compute(b: Builder, x: Tensor, p: Tensor, q: Tensor, v: Tensor) -> Tensor:
        return b.add(x, b.mul(b.mul(v, p), q))

    return in_opmath(b, compute, result_dtype(x, first, second), x, first, second, value)


@converter("torch.aten.addcdiv")
def convert_addcdiv(b: Builder, x: Tensor, first: Tensor, second: Tensor, value: Operand) -> Tensor:
    def compute(b: Builder, x: Tensor, p: Tensor, q: Tensor, v: Tensor) -> Tensor:
        return b.add(x, composite.div(b, b.mul(v, p), q))

    return in_opmath(b, compute, result_dtype(x, first, second), x, first, second, value)


@converter("torch.aten.lerp.Scalar", "torch.aten.lerp.Tensor")
def convert_lerp(b: Builder, x: Tensor, end: Tensor, weight: Operand) -> Tensor:
    """Eager's formula: from the nearer end, |weight| < 0.5 or not."""

    def compute(b: Builder, start: Tensor, end: Tensor, w: Tensor) -> Tensor:
        span = composite.sub(b, end, start)
        near = b.less_than(composite.absolute(b, w), 0.5)
        forward = b.add(start, b.mul(w, span))
        backward = composite.sub(b, end, b.mul(span, composite.sub(b, 1, w)))
        return composite.select(b, near, forward, backward)

    return in_opmath(b, compute, result_dtype(x, end), x, end, weight)


# Quotients.


def true_divide(b: Builder, x: Operand, other: Operand) -> Tensor:
    """x / other in floats."""
    return in_opmath(b, composite.div, float_dtype(x, other), x, other)


@converter("torch.aten.div.Tensor", "torch.aten.div.Scalar", "torch.aten.true_divide.Tensor")
def convert_div(b: Builder, x: Tensor, other: Operand) -> Tensor:
    return true_divide(b, x, other)


@converter("torch.aten.reciprocal")
def convert_reciprocal(b: Builder, x: Tensor) -> Tensor:
    return b.recip(b.cast(x, float_dtype(x)))


@converter("torch.aten.remainder.Tensor", "torch.aten.remainder.Scalar", "torch.aten.remainder.Scalar_Tensor")
def convert_remainder(b: Builder, x: Operand, other: Operand) -> Tensor:
    return in_opmath(b, lambda b, p, q: b.mod(p, q), result_dtype(x, other), x, other)


@converter("torch.aten.fmod.Tensor", "torch.aten.fmod.Scalar")
def convert_fmod(b: Builder, x: Tensor, other: Operand) -> Tensor:
    return in_opmath(b, composite.fmod, result_dtype(x, other), x, other)


# Signs, extrema and rounding.


@converter("torch.aten.neg")
def convert_neg(b: Builder, x: Tensor) -> Tensor:
    if x.dtype == "i1":
        raise Unsupported("negation of a bool tensor is an error in PyTorch too; use logical_not")
    return composite.neg(b, x)


@converter("torch.aten.abs")
def convert_abs(b: Builder, x: Tensor) -> Tensor:
    return composite.absolute(b, x)


@converter("torch.aten.sign", "torch.aten.sgn")
def convert_sign(b: Builder, x: Tensor) -> Tensor:
    if x.dtype == "i1":
        return x
    positive, negative = b.less_than(0, x), b.less_than(x, 0)
    return composite.sub(b, b.cast(positive, x.dtype), b.cast(negative, x.dtype))


@converter("torch.aten.signbit")
def convert_signbit(b: Builder, x: Tensor) -> Tensor:
    return b.full(x.shape, False, "i1") if x.dtype == "i1" else composite.signbit(b, x)


@converter("torch.aten.copysign.Tensor", "torch.aten.copysign.Scalar")
def convert_copysign(b: Builder, x: Tensor, other: Operand) -> Tensor:
    def compute(b: Builder, x: Tensor, other: Tensor) -> Tensor:
        magnitude = composite.absolute(b, x)
        return composite.select(b, composite.signbit(b, other), composite.neg(b, magnitude), magnitude)

    return in_opmath(b, compute, float_dtype(x, other), x, other)


@converter("torch.aten.maximum")
def convert_maximum(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    return composite.maximum(b, *promoted(b, result_dtype(x, other), x, other))


@converter("torch.aten.minimum")
def convert_minimum(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    return composite.minimum(b, *promoted(b, result_dtype(x, other), x, other))


@converter("torch.aten.fmax")
def convert_fmax(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    return _ignore_nan(b, composite.maximum, x, other)


@converter("torch.aten.fmin")
def convert_fmin(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    return _ignore_nan(b, composite.minimum, x, other)


def _ignore_nan(
    b: Builder, choose: Callable[[Builder, Tensor, Tensor], Tensor], x: Tensor, other: Tensor
) -> Tensor:
    left, right = promoted(b, result_dtype(x, other), x, other)
    if not is_float(left.dtype):
        return choose(b, left, right)
    first = composite.select(b, composite.isnan(b, left), right, left)
    second = composite.select(b, composite.isnan(b, right), left, right)
    return choose(b, first, second)


def clamp(b: Builder, x: Tensor, low: Operand | None, high: Operand | None) -> Tensor:
    """min(max(x, low), high); NaN stays."""
    if low is not None:
        x = composite.maximum(b, *promoted(b, x.dtype, x, low))
    if high is not None:
        x = composite.minimum(b, *promoted(b, x.dtype, x, high))
    return x


@converter("torch.aten.clamp", "torch.aten.clamp.Tensor", "torch.aten.clip")
def convert_clamp(b: Builder, x: Tensor, low: Operand | None, high: Operand | None) -> Tensor:
    bounds = [bound for bound in (low, high) if bound is not None]
    return clamp(b, b.cast(x, result_dtype(x, *bounds)), low, high)


@converter("torch.aten.clamp_min", "torch.aten.clamp_min.Tensor")
def convert_clamp_min(b: Builder, x: Tensor, low: Operand) -> Tensor:
    return clamp(b, b.cast(x, result_dtype(x, low)), low, None)


@converter("torch.aten.clamp_max", "torch.aten.clamp_max.Tensor")
def convert_clamp_max(b: Builder, x: Tensor, high: Operand) -> Tensor:
    return clamp(b, b.cast(x, result_dtype(x, high)), None, high)


@converter("torch.aten.floor")
def convert_floor(b: Builder, x: Tensor) -> Tensor:
    return in_opmath(b, composite.floor, x.dtype, x)


@converter("torch.aten.ceil")
def convert_ceil(b: Builder, x: Tensor) -> Tensor:
    return in_opmath(b, composite.ceil, x.dtype, x)


@converter("torch.aten.trunc", "torch.aten.fix")
def convert_trunc(b: Builder, x: Tensor) -> Tensor:
    return in_opmath(b, composite.trunc, x.dtype, x)


@converter("torch.aten.frac")
def convert_frac(b: Builder, x: Tensor) -> Tensor:
    return in_opmath(b, lambda b, x: composite.sub(b, x, composite.trunc(b, x)), x.dtype, x)


def round_half_even(b: Builder, x: Tensor) -> Tensor:
    """Nearest integer, ties to even; -0, NaN and values beyond the mantissa stay as they are."""
    magnitude = composite.absolute(b, x)
    lower = composite.floor(b, magnitude)
    rest = composite.sub(b, magnitude, lower)
    tie = b.add(lower, b.mod(lower, 2))
    nearest = composite.select(b, b.less_than(rest, 0.5), lower, tie)
    nearest = composite.select(b, b.less_than(0.5, rest), b.add(lower, 1), nearest)
    signed = composite.select(b, composite.signbit(b, x), composite.neg(b, nearest), nearest)
    has_fraction = b.less_than(magnitude, 2.0**52 if x.dtype == "f64" else 2.0**23)
    return composite.select(b, has_fraction, signed, x)


@converter("torch.aten.round")
def convert_round(b: Builder, x: Tensor) -> Tensor:
    return in_opmath(b, round_half_even, x.dtype, x) if is_float(x.dtype) else x


@converter("torch.aten.round.decimals")
def convert_round_decimals(b: Builder, x: Tensor, decimals: int) -> Tensor:
    if not is_float(x.dtype):
        return x
    power = 10.0 ** abs(b.static(decimals))

    def compute(b: Builder, x: Tensor) -> Tensor:
        if decimals < 0:
            return b.mul(round_half_even(b, composite.div(b, x, power)), power)
        return composite.div(b, round_half_even(b, b.mul(x, power)), power)

    return in_opmath(b, compute, x.dtype, x)


# Powers.


def integer_power(b: Builder, x: Tensor, exponent: int) -> Tensor:
    """x**exponent for exponent >= 1 by repeated squaring."""
    result: Tensor | None = None
    square = x
    while exponent:
        if exponent & 1:
            result = square if result is None else b.mul(result, square)
        exponent >>= 1
        if exponent:
            square = b.mul(square, square)
    assert result is not None
    return result


def integer_tensor_power(b: Builder, x: Tensor, exponent: Tensor) -> Tensor:
    """Integer power with a tensor exponent: square and multiply over all bits; negative exponents as eager
    (1 and -1 keep their powers, everything else gives 0)."""
    bits = 32 if x.dtype == "i32" else 63
    result = b.full(x.shape, 1, x.dtype)
    square, rest = x, exponent
    for _ in range(bits):
        odd = b.mod(rest, 2)
        # 1 + odd * (square - 1): multiply by square or by one.
        result = b.mul(result, b.add(b.mul(odd, b.add(square, -1)), 1))
        square = b.mul(square, square)
        rest = _halve(b, rest, odd)
    parity = composite.sub(b, 1, b.mul(b.mod(exponent, 2), 2))
    unit = composite.select(b, composite.eq(b, x, -1), parity, b.cast(composite.eq(b, x, 1), x.dtype))
    return composite.select(b, b.less_than(exponent, 0), unit, result)


def _halve(b: Builder, value: Tensor, odd: Tensor) -> Tensor:
    """(value - odd) / 2 for non-negative ints, exactly: an i64 is halved in two parts that f64 holds."""
    even = composite.sub(b, value, odd)
    if value.dtype == "i32":
        return b.cast(b.mul(b.cast(even, "f64"), 0.5), "i32")
    low = b.mod(even, 2**32)
    high = b.mul(b.cast(composite.sub(b, even, low), "f64"), 0.5)
    return b.add(b.cast(high, "i64"), b.cast(b.mul(b.cast(low, "f64"), 0.5), "i64"))


def float_power(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    """C pow on floats: exp2(y * log2(|x|)) with the sign of odd powers and the special cases of IEEE 754."""
    magnitude = b.exp2(b.mul(y, b.log2(composite.absolute(b, x))))
    is_odd = composite.eq(b, composite.absolute(b, b.mod(y, 2)), 1)
    is_whole = composite.eq(b, composite.floor(b, y), y)
    negative_odd = b.mul(composite.signbit(b, x), is_odd)
    result = composite.select(b, negative_odd, composite.neg(b, magnitude), magnitude)
    finite_negative = b.mul(b.less_than(x, 0), b.less_than(-math.inf, x))
    invalid = b.mul(finite_negative, composite.logical_not(b, is_whole))
    result = composite.select(b, invalid, math.nan, result)
    # pow(-1, +-inf) = 1 and pow(1, anything) = pow(anything, 0) = 1, NaN included.
    unit = composite.eq(b, composite.absolute(b, x), 1)
    infinite = composite.eq(b, composite.absolute(b, y), math.inf)
    one = b.add(b.add(composite.eq(b, y, 0), composite.eq(b, x, 1)), b.mul(unit, infinite))
    return composite.select(b, one, 1.0, result)


def scalar_power(b: Builder, x: Tensor, exponent: float) -> Tensor:
    """Float x to a constant power, with eager's special cases for 0.5, 1, 2, 3, -0.5, -1 and -2."""
    if exponent == 0:
        return b.full(x.shape, 1.0, x.dtype)
    if exponent == 0.5:
        return b.sqrt(x)
    if exponent == -0.5:
        return composite.rsqrt(b, x)
    if float(exponent).is_integer() and abs(exponent) <= 16:
        power = integer_power(b, x, abs(int(exponent)))
        return power if exponent > 0 else b.recip(power)
    return float_power(b, x, b.full(x.shape, exponent, x.dtype))


@converter("torch.aten.pow.Tensor_Scalar")
def convert_pow_scalar(b: Builder, x: Tensor, exponent: Operand) -> Tensor:
    dtype = result_dtype(x, exponent)
    if isinstance(exponent, (Tensor, Expr)):
        return convert_pow_tensor(b, x, exponent)
    if is_float(dtype):
        return in_opmath(b, lambda b, x: scalar_power(b, x, float(exponent)), dtype, x)
    whole = b.cast(x, dtype)
    if dtype == "i1":
        raise Unsupported("pow of bool tensors")
    if exponent < 0:
        raise Unsupported("integers to negative integer powers are an error in PyTorch too")
    return integer_power(b, whole, int(exponent)) if exponent else b.full(x.shape, 1, dtype)


@converter("torch.aten.pow.Tensor_Tensor", "torch.aten.pow.Scalar")
def convert_pow_tensor(b: Builder, x: Operand, exponent: Operand) -> Tensor:
    dtype = result_dtype(x, exponent)
    if is_float(dtype):
        return in_opmath(b, float_power, dtype, x, exponent)
    if not is_integer(dtype):
        raise Unsupported("pow of bool tensors")
    return integer_tensor_power(b, *promoted(b, dtype, x, exponent))


@converter("torch.aten.square")
def convert_square(b: Builder, x: Tensor) -> Tensor:
    return b.mul(x, x)


@converter("torch.aten.ldexp.Tensor")
def convert_ldexp(b: Builder, x: Tensor, exponent: Tensor) -> Tensor:
    """x * 2**exponent, the power in the exponent's own float dtype as eager does."""
    power = in_opmath(b, lambda b, e: b.exp2(e), float_dtype(exponent, 2.0), exponent)
    return convert_mul(b, x, power)


@converter("torch.aten.sqrt")
def convert_sqrt(b: Builder, x: Tensor) -> Tensor:
    return b.sqrt(b.cast(x, float_dtype(x)))


@converter("torch.aten.rsqrt")
def convert_rsqrt(b: Builder, x: Tensor) -> Tensor:
    return in_opmath(b, composite.rsqrt, float_dtype(x), x)


@converter("torch.aten.hypot")
def convert_hypot(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    """Scaled so that squares neither overflow nor underflow."""

    def compute(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        p, q = composite.absolute(b, x), composite.absolute(b, y)
        large, small = composite.maximum(b, p, q), composite.minimum(b, p, q)
        ratio = composite.div(b, small, large)
        length = b.mul(large, b.sqrt(b.add(b.mul(ratio, ratio), 1)))
        trivial = b.add(composite.eq(b, large, 0), composite.eq(b, large, math.inf))
        return composite.select(b, trivial, large, length)

    return in_opmath(b, compute, result_dtype(x, other), x, other)
