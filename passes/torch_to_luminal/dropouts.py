"""Dropout, and the leaky relu with random slopes: the identity outside training, random masks in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...dialects.symbolic import Expr
from . import composite
from .builder import Builder, Tensor
from .distributions import coin, uniform
from .promotion import in_opmath
from .registry import converter
from .shapes import expr


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
