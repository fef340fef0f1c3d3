"""Random numbers and dropout.

Every op draws from a stream of its own (`random_bits.py`), all of which follow from one number that the
runtime takes from PyTorch's default generator for each call: `torch.manual_seed` makes results reproducible,
and calls differ. The distributions are eager's, the values are not: eager's generators run on sequentially.

  uniform   k random bits / 2^k in [0, 1), k as in eager: 53 (f64), 24 (f32), 11 (f16), 8 (bf16)
  bernoulli 32 random bits < p * 2^32: exact for p = 0 and p = 1
  normal    sqrt(-2 ln u) * sin(2 pi v), u in (0, 1] of 32 bits (f64: 53) (Box and Muller)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...dialects.symbolic import Expr
from . import composite, dtypes
from .axes import spread
from .builder import Builder, Operand, Tensor
from .extremes import locate
from .promotion import in_opmath
from .random_bits import WORD, Draw
from .registry import Unsupported, converter
from .shapes import expr
from .sorting import convert_topk, ranks

_DIGITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}

Size = Expr | int


def _shape(sizes: Sequence[Size]) -> tuple[Expr, ...]:
    return tuple(expr(size) for size in sizes)


def _result_dtype(b: Builder) -> str:
    dtype = b.results[0].dtype
    assert dtype is not None
    return dtype


# Distributions: values of one shape in the opmath dtype of `dtype`.


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
        offset = b.mod(_word64(b, shape), b.scalar(span, "i64"))
    return b.add(offset, b.scalar(low, "i64"))


def _word64(b: Builder, shape: Sequence[Expr]) -> Tensor:
    draw = Draw(b, shape, 2)
    return b.add(b.mul(draw.bits(b, WORD, 0), 1 << WORD), draw.bits(b, WORD, 1))


# Ops that give a new tensor.


@converter("torch.aten.rand")
def convert_rand(b: Builder, sizes: Sequence[Size], *_: Any) -> Tensor:
    dtype = _result_dtype(b)
    return b.cast(uniform(b, _shape(sizes), dtype), dtype)


@converter("torch.aten.rand_like")
def convert_rand_like(b: Builder, x: Tensor, *_: Any) -> Tensor:
    return convert_rand(b, x.shape)


@converter("torch.aten.randn")
def convert_randn(b: Builder, sizes: Sequence[Size], *_: Any) -> Tensor:
    dtype = _result_dtype(b)
    return b.cast(normal(b, _shape(sizes), dtype), dtype)


@converter("torch.aten.randn_like")
def convert_randn_like(b: Builder, x: Tensor, *_: Any) -> Tensor:
    return convert_randn(b, x.shape)


@converter("torch.aten.randint")
def convert_randint(b: Builder, high: Operand, sizes: Sequence[Size], *_: Any) -> Tensor:
    return b.cast(integers(b, _shape(sizes), 0, high), _result_dtype(b))


@converter("torch.aten.randint.low")
def convert_randint_low(b: Builder, low: Operand, high: Operand, sizes: Sequence[Size], *_: Any) -> Tensor:
    return b.cast(integers(b, _shape(sizes), low, high), _result_dtype(b))


@converter("torch.aten.randint_like")
def convert_randint_like(b: Builder, x: Tensor, high: Operand, *_: Any) -> Tensor:
    return convert_randint(b, high, x.shape)


@converter("torch.aten.randint_like.low_dtype")
def convert_randint_like_low(b: Builder, x: Tensor, low: Operand, high: Operand, *_: Any) -> Tensor:
    return convert_randint_low(b, low, high, x.shape)


@converter("torch.aten.random.to")
def convert_random_to(b: Builder, x: Tensor, high: Operand, *_: Any) -> Tensor:
    return convert_randint(b, high, x.shape)


@converter("torch.aten.randperm")
def convert_randperm(b: Builder, count: Size, *_: Any) -> Tensor:
    """The ranks of random words; equal ones keep their order."""
    return b.cast(ranks(b, _word64(b, _shape([count])), 0, False), _result_dtype(b))


# Ops that draw with parameters.


@converter("torch.aten.bernoulli")
def convert_bernoulli(b: Builder, p: Tensor, *_: Any) -> Tensor:
    return b.cast(coin(b, p.shape, p), p.dtype)


@converter("torch.aten.bernoulli.p", "torch.aten.bernoulli.Tensor")
def convert_bernoulli_p(b: Builder, x: Tensor, p: Operand, *_: Any) -> Tensor:
    return b.cast(coin(b, x.shape, b.broadcast(p, x.shape) if isinstance(p, Tensor) else p), x.dtype)


@converter("torch.aten.uniform")
def convert_uniform(b: Builder, x: Tensor, low: float, high: float, *_: Any) -> Tensor:
    return b.cast(b.add(b.mul(uniform(b, x.shape, x.dtype), high - low), low), x.dtype)


def _scaled_normal(b: Builder, shape: Sequence[Expr], dtype: str, mean: Operand, std: Operand) -> Tensor:
    return in_opmath(b, lambda b, z, m, s: b.add(b.mul(z, s), m), dtype, normal(b, shape, dtype), mean, std)


@converter("torch.aten.normal_functional")
def convert_normal(b: Builder, x: Tensor, mean: Operand, std: Operand, *_: Any) -> Tensor:
    return _scaled_normal(b, x.shape, x.dtype, mean, std)


@converter("torch.aten.normal.Tensor_float", "torch.aten.normal.Tensor_Tensor")
def convert_normal_around(b: Builder, mean: Tensor, std: Operand, *_: Any) -> Tensor:
    shape = b.align(mean, std)[0].shape if isinstance(std, Tensor) else mean.shape
    return _scaled_normal(b, shape, _result_dtype(b), mean, std)


@converter("torch.aten.normal.float_Tensor")
def convert_normal_spread(b: Builder, mean: Operand, std: Tensor, *_: Any) -> Tensor:
    return _scaled_normal(b, std.shape, _result_dtype(b), mean, std)


@converter("torch.aten.exponential")
def convert_exponential(b: Builder, x: Tensor, rate: float = 1.0, *_: Any) -> Tensor:
    return b.cast(b.mul(exponential(b, x.shape, x.dtype), 1 / rate), x.dtype)


@converter("torch.aten.log_normal")
def convert_log_normal(b: Builder, x: Tensor, mean: float = 1.0, std: float = 2.0, *_: Any) -> Tensor:
    values = b.add(b.mul(normal(b, x.shape, x.dtype), std), mean)
    return b.cast(composite.exp(b, values), x.dtype)


@converter("torch.aten.cauchy")
def convert_cauchy(b: Builder, x: Tensor, median: float = 0.0, sigma: float = 1.0, *_: Any) -> Tensor:
    angle = b.mul(b.add(uniform(b, x.shape, x.dtype), -0.5), math.pi)
    ratio = composite.div(b, b.sin(angle), composite.cos(b, angle))
    return b.cast(b.add(b.mul(ratio, sigma), median), x.dtype)


@converter("torch.aten.geometric")
def convert_geometric(b: Builder, x: Tensor, p: float, *_: Any) -> Tensor:
    """How many trials until the first success: the first whole number not below an exponential value."""
    if not 0 < p < 1:
        raise Unsupported(f"geometric with probability {p}")
    wide = "f64" if x.dtype == "f64" else "f32"
    trials = composite.ceil(b, b.mul(exponential(b, x.shape, wide), -1 / math.log1p(-p)))
    return b.cast(trials, x.dtype)


@converter("torch.aten.multinomial")
def convert_multinomial(b: Builder, p: Tensor, count: Size, replacement: bool, *_: Any) -> Tensor:
    """The largest p / e with exponential e: the first of several exponential clocks to ring."""
    wide = b.cast(p, dtypes.opmath(p.dtype))
    if not replacement:
        times = composite.div(b, wide, exponential(b, p.shape, wide.dtype))
        return convert_topk(b, times, count, p.rank - 1)[1]
    p = spread(b, wide, p.rank - 1, expr(count))
    times = composite.div(b, p, exponential(b, p.shape, p.dtype))
    return locate(b, times, p.rank - 1, True)[1]


# Dropout.


def dropout(b: Builder, x: Tensor, p: float, shape: Sequence[Expr] | None = None) -> tuple[Tensor, Tensor]:
    """(x * kept / (1 - p), kept); `shape`: the mask's, if it is broadcast."""
    kept = coin(b, shape if shape is not None else x.shape, 1 - p)
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return in_opmath(b, lambda b, x, kept: b.mul(b.mul(x, kept), scale), x.dtype, x, kept), kept


@converter("torch.aten.native_dropout")
def convert_native_dropout(b: Builder, x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    return dropout(b, x, p) if train is not False else (x, b.full(x.shape, True, "i1"))


@converter("torch.aten.dropout")
def convert_dropout(b: Builder, x: Tensor, p: float, train: bool) -> Tensor:
    return dropout(b, x, p)[0] if train and p else x


@converter("torch.aten.feature_dropout")
def convert_feature_dropout(b: Builder, x: Tensor, p: float, train: bool) -> Tensor:
    """Whole channels: one decision for each of the first two axes' elements."""
    if not train or not p:
        return x
    return dropout(b, x, p, _channels(x))[0]


def _channels(x: Tensor) -> list[Expr]:
    """The shape of a mask with one element for each of the first two axes'."""
    return [size if axis < 2 else expr(1) for axis, size in enumerate(x.shape)]


_ALPHA = 1.7580993408473766  # -selu(-inf)


def _alpha_dropout(b: Builder, x: Tensor, p: float, shape: Sequence[Expr]) -> Tensor:
    """Dropped elements become -alpha; then a linear function restores mean and variance."""
    if p == 1:
        return b.mul(x, 0)
    scale = 1 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))

    def compute(b: Builder, x: Tensor, kept: Tensor) -> Tensor:
        offset = b.add(b.mul(b.add(kept, -1), _ALPHA * scale), _ALPHA * scale * p)
        return b.add(b.mul(x, b.mul(kept, scale)), offset)

    return in_opmath(b, compute, x.dtype, x, coin(b, shape, 1 - p))


@converter("torch.aten.alpha_dropout")
def convert_alpha_dropout(b: Builder, x: Tensor, p: float, train: bool) -> Tensor:
    return _alpha_dropout(b, x, p, x.shape) if train and p else x


@converter("torch.aten.feature_alpha_dropout")
def convert_feature_alpha_dropout(b: Builder, x: Tensor, p: float, train: bool) -> Tensor:
    return _alpha_dropout(b, x, p, _channels(x)) if train and p else x


@converter("torch.aten.rrelu_with_noise_functional")
def convert_random_leaky_relu(
    b: Builder, x: Tensor, noise: Tensor, low: float, high: float, train: bool, *_: Any
) -> tuple[Tensor, Tensor]:
    """A slope between `low` and `high` for each element that is not positive; also the slopes."""
    if not train:
        return composite.select(b, b.less_than(0, x), x, b.mul(x, (low + high) / 2)), noise
    slope = b.cast(b.add(b.mul(uniform(b, x.shape, x.dtype), high - low), low), x.dtype)
    slope = composite.select(b, composite.le(b, x, 0), slope, 1)
    return b.mul(x, slope), slope
