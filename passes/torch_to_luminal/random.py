"""Random numbers.

Every op draws from a stream of its own (`random_bits.py`), all of which follow from one number that the
runtime takes from PyTorch's default generator for each call: `torch.manual_seed` makes results reproducible,
and calls differ. The distributions are eager's, the values are not: eager's generators run on sequentially.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...dialects.symbolic import Expr
from . import composite, dtypes
from .axes import spread
from .builder import Builder, Operand, Tensor
from .distributions import coin, exponential, integers, normal, uniform, word64
from .extremes import locate
from .promotion import in_opmath
from .registry import Unsupported, converter
from .shapes import expr
from .sorting import convert_topk, ranks

Size = Expr | int


def _shape(sizes: Sequence[Size]) -> tuple[Expr, ...]:
    return tuple(expr(size) for size in sizes)


def _result_dtype(b: Builder) -> str:
    dtype = b.results[0].dtype
    assert dtype is not None
    return dtype


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
    return b.cast(ranks(b, word64(b, _shape([count])), 0, False), _result_dtype(b))


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
