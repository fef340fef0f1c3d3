"""Exponentials, logarithms, trigonometry and error functions, with eager's special values."""

from __future__ import annotations

import math
from collections.abc import Callable

from . import composite
from .builder import Builder, Tensor
from .promotion import float_dtype, in_opmath
from .registry import converter

Unary = Callable[[Builder, Tensor], Tensor]

# Cephes `atan`: rational approximation on |x| <= tan(pi/8), relative error below 2e-16.
_ATAN_P = (
    -6.485021904942025371773e1,
    -1.228866684490136173410e2,
    -7.500855792314704667340e1,
    -1.615753718733365076637e1,
    -8.750608600031904122785e-1,
)
_ATAN_Q = (
    1.945506571482613964425e2,
    4.853903996359136964868e2,
    4.328810604912902668951e2,
    1.650270098316988542046e2,
    2.485846490142306297962e1,
    1.0,
)


def log1p(b: Builder, x: Tensor) -> Tensor:
    """log(1 + x) without cancellation: u = 1 + x, x * log(u) / (u - 1)."""
    u = b.add(x, 1)
    small = composite.eq(b, u, 1)
    denominator = composite.select(b, small, 1, composite.sub(b, u, 1))
    corrected = composite.div(b, b.mul(x, composite.log(b, u)), denominator)
    result = composite.select(b, small, x, corrected)
    return composite.select(b, composite.eq(b, x, math.inf), math.inf, result)


def expm1(b: Builder, x: Tensor) -> Tensor:
    """exp(x) - 1 without cancellation: u = exp(x), (u - 1) * x / log(u)."""
    u = composite.exp(b, x)
    rest = composite.sub(b, u, 1)
    corrected = composite.div(b, b.mul(rest, x), composite.log(b, u))
    large = b.less_than(1, composite.absolute(b, x))
    result = composite.select(b, large, rest, corrected)
    return composite.select(b, composite.eq(b, u, 1), x, result)


def tan(b: Builder, x: Tensor) -> Tensor:
    """sin(x) / cos(x)"""
    return composite.div(b, b.sin(x), composite.cos(b, x))


def atan(b: Builder, x: Tensor) -> Tensor:
    """Cephes: reduce by pi/2 and pi/4, then a rational function; the sign goes in at the end."""
    magnitude = composite.absolute(b, x)
    large = b.less_than(math.tan(3 * math.pi / 8), magnitude)
    middle = b.less_than(0.66, magnitude)
    reduced = composite.div(b, composite.sub(b, magnitude, 1), b.add(magnitude, 1))
    reduced = composite.select(b, middle, reduced, magnitude)
    reduced = composite.select(b, large, composite.neg(b, b.recip(magnitude)), reduced)
    offset = composite.select(b, middle, math.pi / 4, b.full(x.shape, 0.0, x.dtype))
    offset = composite.select(b, large, math.pi / 2, offset)
    square = b.mul(reduced, reduced)
    ratio = composite.div(b, composite.horner(b, square, _ATAN_P), composite.horner(b, square, _ATAN_Q))
    result = b.add(offset, b.add(b.mul(b.mul(square, ratio), reduced), reduced))
    return composite.select(b, composite.signbit(b, x), composite.neg(b, result), result)


def asin(b: Builder, x: Tensor) -> Tensor:
    """atan(x / sqrt((1 - x)(1 + x)))"""
    cosine = b.sqrt(b.mul(composite.sub(b, 1, x), b.add(x, 1)))
    return atan(b, composite.div(b, x, cosine))


def acos(b: Builder, x: Tensor) -> Tensor:
    """2 atan(sqrt((1 - x) / (1 + x)))"""
    ratio = composite.div(b, composite.sub(b, 1, x), b.add(x, 1))
    return b.mul(atan(b, b.sqrt(ratio)), 2)


def atan2(b: Builder, y: Tensor, x: Tensor) -> Tensor:
    """The angle of (x, y), with C's results on the axes and at infinity."""
    p, q = composite.absolute(b, y), composite.absolute(b, x)
    both = b.mul(composite.eq(b, p, math.inf), composite.eq(b, q, math.inf))
    origin = b.mul(composite.eq(b, p, 0), composite.eq(b, q, 0))
    ratio = composite.div(b, p, q)
    ratio = composite.select(b, both, 1, ratio)
    ratio = composite.select(b, origin, 0, ratio)
    angle = atan(b, ratio)
    angle = composite.select(b, composite.signbit(b, x), composite.sub(b, math.pi, angle), angle)
    return composite.select(b, composite.signbit(b, y), composite.neg(b, angle), angle)


def sinh(b: Builder, x: Tensor) -> Tensor:
    """(e + e / (e + 1)) / 2 with e = expm1(|x|), the halves apart so that large arguments do not overflow
    early."""
    magnitude = composite.absolute(b, x)
    e = expm1(b, magnitude)
    small = b.mul(b.add(e, composite.div(b, e, b.add(e, 1))), 0.5)
    half = composite.exp(b, b.mul(magnitude, 0.5))
    large = b.mul(b.mul(half, 0.5), half)
    result = composite.select(b, b.less_than(20, magnitude), large, small)
    return composite.select(b, composite.signbit(b, x), composite.neg(b, result), result)


def cosh(b: Builder, x: Tensor) -> Tensor:
    """(exp(|x|) + exp(-|x|)) / 2"""
    half = composite.exp(b, b.mul(composite.absolute(b, x), 0.5))
    inverse = b.recip(half)
    return b.add(b.mul(b.mul(half, 0.5), half), b.mul(b.mul(inverse, 0.5), inverse))


def asinh(b: Builder, x: Tensor) -> Tensor:
    """sign(x) log1p(|x| + x^2 / (1 + sqrt(1 + x^2))), log(2|x|) where the square would overflow"""
    magnitude = composite.absolute(b, x)
    square = b.mul(magnitude, magnitude)
    ratio = composite.div(b, square, b.add(b.sqrt(b.add(square, 1)), 1))
    small = log1p(b, b.add(magnitude, ratio))
    large = b.add(composite.log(b, magnitude), math.log(2))
    result = composite.select(b, b.less_than(1e9, magnitude), large, small)
    return composite.select(b, composite.signbit(b, x), composite.neg(b, result), result)


def acosh(b: Builder, x: Tensor) -> Tensor:
    """log1p(t + sqrt(2t + t^2)) with t = x - 1, log(2x) for large x"""
    t = composite.sub(b, x, 1)
    small = log1p(b, b.add(t, b.sqrt(b.mul(t, b.add(t, 2)))))
    large = b.add(composite.log(b, x), math.log(2))
    result = composite.select(b, b.less_than(1e9, x), large, small)
    return composite.select(b, b.less_than(x, 1), math.nan, result)


def atanh(b: Builder, x: Tensor) -> Tensor:
    """log1p(2x / (1 - x)) / 2"""
    return b.mul(log1p(b, composite.div(b, b.mul(x, 2), composite.sub(b, 1, x))), 0.5)


_FUNCTIONS: dict[str, Unary] = {
    "exp": composite.exp,
    "exp2": lambda b, x: b.exp2(x),
    "expm1": expm1,
    "log": composite.log,
    "log2": lambda b, x: b.log2(x),
    "log10": composite.log10,
    "log1p": log1p,
    "sin": lambda b, x: b.sin(x),
    "cos": composite.cos,
    "tan": tan,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": composite.tanh,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
    "sigmoid": composite.sigmoid,
    "erf": composite.erf,
    "erfc": lambda b, x: composite.sub(b, 1, composite.erf(b, x)),
}


def _register(name: str, compute: Unary) -> None:
    @converter(f"torch.aten.{name}")
    def convert(b: Builder, x: Tensor) -> Tensor:
        return in_opmath(b, compute, float_dtype(x), x)


for _name, _compute in _FUNCTIONS.items():
    _register(_name, _compute)


@converter("torch.aten.atan2")
def convert_atan2(b: Builder, y: Tensor, x: Tensor) -> Tensor:
    return in_opmath(b, atan2, float_dtype(y, x), y, x)


@converter("torch.aten.logaddexp")
def convert_logaddexp(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    """max + log1p(exp(-|x - y|)); equal infinities stay."""

    def compute(b: Builder, p: Tensor, q: Tensor) -> Tensor:
        largest = composite.maximum(b, p, q)
        gap = composite.neg(b, composite.absolute(b, composite.sub(b, p, q)))
        total = b.add(largest, log1p(b, composite.exp(b, gap)))
        same = b.mul(composite.eq(b, p, q), composite.eq(b, composite.absolute(b, p), math.inf))
        return composite.select(b, same, p, total)

    return in_opmath(b, compute, float_dtype(x, other), x, other)
