"""Random values of one shape, in the opmath dtype of the dtype that is asked for. Each use draws anew.

uniform   k random bits / 2^k in [0, 1), k as in eager: 53 (f64), 24 (f32), 11 (f16), 8 (bf16)
coin      32 random bits < p * 2^32: exact for p = 0 and p = 1
normal    sqrt(-2 ln u) * sin(2 pi v), u in (0, 1] of 32 bits (f64: 53) (Box and Muller)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...dialects.symbolic import Expr
from . import composite, dtypes
from .builder import Builder, Operand, Tensor
from .random_bits import WORD, Draw
from .registry import Unsupported
from .shapes import expr

_DIGITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}


def uniform(b: Builder, shape: Sequence[Expr], dtype: str) -> Tensor:
    """[0, 1) with as many digits as `dtype` has."""
    if dtype not in _DIGITS:
        raise Unsupported(f"uniform random numbers of {dtype}")
    if dtype == "f64":
        return _uniform_f64(b, Draw(b, shape, 2), 0)
    bits = Draw(b, shape).bits(b, _DIGITS[dtype])
    return b.mul(b.cast(bits, "f32"), 2.0 ** -_DIGITS[dtype])


def _uniform_f64(b: Builder, draw: Draw, word: int) -> Tensor:
    joined = b.add(b.mul(draw.bits(b, 32, word), 1 << 21), draw.bits(b, 21, word + 1))
    return b.mul(b.cast(joined, "f64"), 2.0**-53)


def _positive_f32(b: Builder, draw: Draw, word: int) -> Tensor:
    """(0, 1], multiples of 2^-32"""
    return b.mul(b.cast(b.add(draw.bits(b, WORD, word), 1), "f32"), 2.0**-WORD)


def normal(b: Builder, shape: Sequence[Expr], dtype: str) -> Tensor:
    """Mean 0, deviation 1."""
    if not dtypes.is_float(dtype):
        raise Unsupported(f"normal random numbers of {dtype}")
    if dtype == "f64":
        draw = Draw(b, shape, 4)
        u, v = composite.sub(b, 1, _uniform_f64(b, draw, 0)), _uniform_f64(b, draw, 2)
    else:
        draw = Draw(b, shape, 2)
        u = _positive_f32(b, draw, 0)
        v = b.mul(b.cast(draw.bits(b, 24, 1), "f32"), 2.0**-24)
    radius = b.sqrt(b.mul(composite.log(b, u), -2))
    return b.mul(radius, b.sin(b.mul(v, 2 * math.pi)))


def exponential(b: Builder, shape: Sequence[Expr], dtype: str) -> Tensor:
    """Rate 1; -ln u, but half an epsilon where u rounds to 1: never 0, as in eager."""
    if not dtypes.is_float(dtype):
        raise Unsupported(f"exponential random numbers of {dtype}")
    if dtype == "f64":
        u, least = composite.sub(b, 1, _uniform_f64(b, Draw(b, shape, 2), 0)), 2.0**-53
    else:
        u, least = _positive_f32(b, Draw(b, shape), 0), 2.0**-24
    value = composite.neg(b, composite.log(b, u))
    return composite.select(b, b.less_than(0, value), value, least)


def coin(b: Builder, shape: Sequence[Expr], p: Operand) -> Tensor:
    """i1, true with probability p (a number, or a float tensor of this shape)."""
    bits = Draw(b, shape).bits(b, WORD)
    if isinstance(p, Tensor):
        wide = b.cast(p, dtypes.opmath(p.dtype))
        return b.less_than(bits, b.cast(b.mul(wide, 2.0**WORD), "i64"))
    if not isinstance(p, (int, float)) or not 0 <= p <= 1:
        raise Unsupported(f"probability {p}")
    return b.less_than(bits, round(p * 2**WORD))


def integers(b: Builder, shape: Sequence[Expr], low: Operand, high: Operand) -> Tensor:
    """i64 in [low, high)."""
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        raise Unsupported("a range of random integers computed by the program")
    span = expr(high) - expr(low)  # type: ignore[arg-type]
    most = span.bounds()[1]
    if span.is_const and span.value <= 0:
        raise Unsupported(f"random integers from {low} to {high}")
    if most is not None and most < 1 << 31:
        # bits * span / 2^32, rounded down: the highest bits of bits * span * 2^32 would wrap.
        product = b.mul(Draw(b, shape).bits(b, WORD), b.scalar(span, "i64"))
        whole = b.cast(composite.sub(b, product, b.mod(product, 1 << WORD)), "f64")
        offset = b.cast(b.mul(whole, 2.0**-WORD), "i64")
    else:
        offset = b.mod(word64(b, shape), b.scalar(span, "i64"))
    return b.add(offset, b.scalar(low, "i64"))


def word64(b: Builder, shape: Sequence[Expr]) -> Tensor:
    draw = Draw(b, shape, 2)
    return b.add(b.mul(draw.bits(b, WORD, 0), 1 << WORD), draw.bits(b, WORD, 1))
