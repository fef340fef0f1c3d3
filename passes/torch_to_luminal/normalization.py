"""Layer, RMS, group and batch normalisation, statistics in f32 (or f64) whatever the input's dtype."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.symbolic import Expr
from . import composite
from .builder import Builder, Tensor
from .dtypes import opmath
from .reductions import centered, count, keep_axes, mean_over
from .registry import Unsupported, converter
from .shapes import expr
from .views import reshape

Size = Expr | int


def _affine(b: Builder, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        x = b.mul(x, b.cast(weight, x.dtype))
    return x if bias is None else b.add(x, b.cast(bias, x.dtype))


def normalize(b: Builder, x: Tensor, axes: list[int], epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """((x - mean) * rsqrt(var + epsilon), mean, rsqrt), the statistics with kept axes; two passes."""
    difference, mean = centered(b, x, axes)
    variance = keep_axes(b, mean_over(b, b.mul(difference, difference), axes), axes, x.rank)
    scale = composite.rsqrt(b, b.add(variance, epsilon))
    return b.mul(difference, scale), mean, scale


@converter("torch.aten.native_layer_norm")
def convert_native_layer_norm(
    b: Builder, x: Tensor, shape: Sequence[Size], weight: Tensor | None, bias: Tensor | None, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    wide = b.cast(x, opmath(x.dtype))
    axes = list(range(x.rank - len(shape), x.rank))
    result, mean, scale = normalize(b, wide, axes, epsilon)
    statistics = [
        b.cast(item, kind.dtype or item.dtype)
        for item, kind in zip((mean, scale), b.results[1:], strict=True)
    ]
    return b.cast(_affine(b, result, weight, bias), x.dtype), statistics[0], statistics[1]


@converter("torch.aten.layer_norm")
def convert_layer_norm(
    b: Builder,
    x: Tensor,
    shape: Sequence[Size],
    weight: Tensor | None,
    bias: Tensor | None,
    epsilon: float,
    _cudnn: bool,
) -> Tensor:
    axes = list(range(x.rank - len(shape), x.rank))
    result, _, _ = normalize(b, b.cast(x, opmath(x.dtype)), axes, epsilon)
    return b.cast(_affine(b, result, weight, bias), x.dtype)


_EPSILON = {"f64": 2.220446049250313e-16, "f32": 1.1920928955078125e-07}


def _rms(b: Builder, x: Tensor, rank: int, epsilon: float | None) -> tuple[Tensor, Tensor]:
    """(x * r, r) with r = rsqrt(mean(x*x) + epsilon); x is f32 or f64."""
    axes = list(range(x.rank - rank, x.rank))
    amount = _EPSILON[x.dtype] if epsilon is None else epsilon
    mean = keep_axes(b, mean_over(b, b.mul(x, x), axes), axes, x.rank)
    scale = composite.rsqrt(b, b.add(mean, amount))
    return b.mul(x, scale), scale


@converter("torch.aten.rms_norm")
def convert_rms_norm(
    b: Builder, x: Tensor, shape: Sequence[Size], weight: Tensor | None, epsilon: float | None
) -> Tensor:
    result, _ = _rms(b, b.cast(x, opmath(x.dtype)), len(shape), epsilon)
    return b.cast(_affine(b, result, weight, None), x.dtype)


@converter("torch.aten._fused_rms_norm")
def convert_fused_rms_norm(
    b: Builder, x: Tensor, shape: Sequence[Size], weight: Tensor | None, epsilon: float | None
) -> tuple[Tensor, Tensor]:
    result, scale = _rms(b, b.cast(x, opmath(x.dtype)), len(shape), epsilon)
    return b.cast(_affine(b, result, weight, None), x.dtype), b.cast(scale, b.results[1].dtype or scale.dtype)


@converter("torch.aten.native_group_norm")
def convert_native_group_norm(
    b: Builder,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    _batch: Size,
    _channels: Size,
    _inner: Size,
    groups: int,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Statistics of (batch, groups) over the group's channels and all further axes."""
    split = reshape(
        b, b.cast(x, opmath(x.dtype)), [x.shape[0], expr(groups), x.shape[1] // groups, *x.shape[2:]]
    )
    result, mean, scale = normalize(b, split, list(range(2, split.rank)), epsilon)
    joined = reshape(b, result, x.shape)
    parameters = [None if item is None else _per_channel(b, item, x.rank) for item in (weight, bias)]
    statistics = [
        b.cast(
            b.view(item, item.shape[:2], lambda i, j: [i, j, *[0] * (split.rank - 2)]),
            kind.dtype or item.dtype,
        )
        for item, kind in zip((mean, scale), b.results[1:], strict=True)
    ]
    return b.cast(_affine(b, joined, *parameters), x.dtype), statistics[0], statistics[1]


def _per_channel(b: Builder, x: Tensor, rank: int) -> Tensor:
    """(C,) as (C, 1, ..., 1), to broadcast over (N, C, ...)."""
    return b.view(x, [x.shape[0], *[1] * (rank - 2)], lambda *dims: [dims[0]])


@converter("torch.aten._native_batch_norm_legit_no_training")
def convert_batch_norm_inference(
    b: Builder,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    _momentum: float,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor]:
    wide = opmath(x.dtype)
    result = _batch_norm(
        b, b.cast(x, wide), weight, bias, b.cast(mean, wide), b.cast(variance, wide), epsilon
    )
    empty = b.full([0], 0, b.results[1].dtype or wide)
    return b.cast(result, x.dtype), empty, empty


@converter("torch.aten.batch_norm")
def convert_batch_norm(
    b: Builder,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    training: bool,
    _momentum: float,
    epsilon: float,
    _cudnn: bool,
) -> Tensor:
    if training or mean is None or variance is None:
        raise Unsupported("batch_norm in training mode writes its statistics; decompose it first")
    wide = opmath(x.dtype)
    result = _batch_norm(
        b, b.cast(x, wide), weight, bias, b.cast(mean, wide), b.cast(variance, wide), epsilon
    )
    return b.cast(result, x.dtype)


@converter("torch.aten.group_norm")
def convert_group_norm(
    b: Builder,
    x: Tensor,
    groups: int,
    weight: Tensor | None,
    bias: Tensor | None,
    epsilon: float,
    _cudnn: bool,
) -> Tensor:
    split = reshape(
        b, b.cast(x, opmath(x.dtype)), [x.shape[0], expr(groups), x.shape[1] // groups, *x.shape[2:]]
    )
    result, _, _ = normalize(b, split, list(range(2, split.rank)), epsilon)
    parameters = [None if item is None else _per_channel(b, item, x.rank) for item in (weight, bias)]
    return b.cast(_affine(b, reshape(b, result, x.shape), *parameters), x.dtype)


def _batch_norm(
    b: Builder,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    epsilon: float,
) -> Tensor:
    """(x - mean) * rsqrt(variance + epsilon) * weight + bias, statistics and parameters of shape (C,)."""
    scale = composite.rsqrt(b, b.add(variance, epsilon))
    centre = composite.sub(b, x, _per_channel(b, mean, x.rank))
    parameters = [None if item is None else _per_channel(b, item, x.rank) for item in (weight, bias)]
    return _affine(b, b.mul(centre, _per_channel(b, scale, x.rank)), *parameters)


@converter("torch.aten._native_batch_norm_legit_functional")
def convert_batch_norm_functional(
    b: Builder,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_variance: Tensor,
    training: bool,
    momentum: float,
    epsilon: float,
) -> tuple[Tensor, ...]:
    """(output, saved mean, saved 1/std, new running mean, new running variance (unbiased))."""
    wide = opmath(x.dtype)
    if not training:
        result, empty, _ = convert_batch_norm_inference(
            b, x, weight, bias, running_mean, running_variance, momentum, epsilon
        )
        return result, empty, empty, running_mean, running_variance
    x_wide = b.cast(x, wide)
    axes = [axis for axis in range(x.rank) if axis != 1]
    mean, variance = _batch_statistics(b, x_wide, axes)
    result = _batch_norm(b, x_wide, weight, bias, mean, variance, epsilon)
    scale = composite.rsqrt(b, b.add(variance, epsilon))
    size = count(b, x_wide, axes, wide)
    unbiased = b.mul(variance, composite.div(b, size, composite.sub(b, size, 1)))
    updates = [
        b.cast(b.add(b.mul(b.cast(old, wide), 1 - momentum), b.mul(new, momentum)), old.dtype)
        for old, new in ((running_mean, mean), (running_variance, unbiased))
    ]
    return b.cast(result, x.dtype), mean, scale, updates[0], updates[1]


def _batch_statistics(b: Builder, x: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    difference, _ = centered(b, x, axes)
    return mean_over(b, x, axes), mean_over(b, b.mul(difference, difference), axes)


@converter("torch.aten._native_batch_norm_legit.no_stats")
def convert_batch_norm_no_stats(
    b: Builder,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    _training: bool,
    _momentum: float,
    epsilon: float,
) -> tuple[Tensor, Tensor, Tensor]:
    x_wide = b.cast(x, opmath(x.dtype))
    mean, variance = _batch_statistics(b, x_wide, [axis for axis in range(x.rank) if axis != 1])
    result = _batch_norm(b, x_wide, weight, bias, mean, variance, epsilon)
    scale = composite.rsqrt(b, b.add(variance, epsilon))
    return b.cast(result, x.dtype), mean, scale
