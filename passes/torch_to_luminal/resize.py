"""interpolate / upsample: nearest, nearest-exact, linear to trilinear and bicubic, one axis at a time.

Source positions are computed as eager computes them (in f32, or f64 for f64 images), with the scale 1 /
factor where a factor was given and input / output otherwise. Each axis gathers its neighbours; a neighbour
outside the image is the edge, which is how `gather` treats it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects.symbolic import Expr
from . import composite, dtypes
from .axes import replace
from .builder import Builder, Tensor
from .registry import Unsupported, converter
from .shapes import expr

_CUBIC = -0.75


@dataclass(frozen=True)
class Axis:
    """One spatial axis: its place, sizes before and after, and the user's scale factor if any."""

    place: int
    source: Expr
    target: Expr
    factor: float | None
    align_corners: bool = False


def _round_to(value: float, dtype: str) -> float:
    return float(np.float32(value)) if dtype == "f32" else float(value)


def _quotient(b: Builder, numerator: Expr, denominator: Expr, dtype: str) -> Tensor | float:
    """numerator / denominator rounded to `dtype`: known now, or computed from the symbols. The product with a
    reciprocal is taken in f64, which decides f32 roundings rightly for sizes below 2**24."""
    if numerator.is_const and denominator.is_const:
        if dtype == "f32":
            return float(np.float32(numerator.value) / np.float32(denominator.value))
        return numerator.value / denominator.value
    wide = composite.div(b, b.scalar(numerator, "f64"), b.scalar(denominator, "f64"))
    return b.cast(wide, dtype)


def _scale(b: Builder, axis: Axis, dtype: str) -> Tensor | float:
    """Source positions per target position."""
    if axis.align_corners:
        if axis.target is expr(1):
            return 0.0
        if not axis.target.is_const and (axis.target.bounds()[0] or 0) < 2:
            raise Unsupported("align_corners with an output size that may be one, depending on a symbol")
        return _quotient(b, axis.source - 1, axis.target - 1, dtype)
    if axis.factor is not None and axis.factor > 0:
        return _round_to(1.0 / axis.factor, dtype)
    return _quotient(b, axis.source, axis.target, dtype)


def _targets(b: Builder, axis: Axis, dtype: str) -> Tensor:
    return b.cast(b.iota([axis.target], lambda d: d), dtype)


def _source_positions(b: Builder, axis: Axis, dtype: str) -> Tensor:
    """The real-valued source position of every target position, (target,)."""
    scale, target = _scale(b, axis, dtype), _targets(b, axis, dtype)
    if axis.align_corners:
        return b.mul(target, scale)
    return b.add(b.mul(b.add(target, 0.5), scale), -0.5)


def _take(b: Builder, x: Tensor, axis: Axis, positions: Tensor) -> Tensor:
    """x at `positions` (target,) along the axis, clamped to the image."""
    shape = replace(x.shape, axis.place, axis.target)
    along = _along(b, positions, axis, shape)
    return b.gather(x, [along], shape, lambda *c: replace(c[:-1], axis.place, c[-1]))


def _along(b: Builder, values: Tensor, axis: Axis, shape: Sequence[Expr]) -> Tensor:
    return b.view(values, shape, lambda *c: [c[axis.place]])


def nearest(b: Builder, x: Tensor, axis: Axis, exact: bool) -> Tensor:
    """The pixel at floor(target * scale), or floor((target + 0.5) * scale) when exact; positions are f32."""
    ratio = axis.target // axis.source if axis.source is not expr(0) else expr(0)
    if axis.target is axis.source and (exact is False or axis.factor in (None, 1.0)):
        return x
    whole = axis.target is ratio * axis.source and (axis.factor is None or expr(int(axis.factor)) is ratio)
    power = ratio.is_const and ratio.value & (ratio.value - 1) == 0
    if whole and power:  # the scale is a power of two: no rounding, plain integer division
        shape = replace(x.shape, axis.place, axis.target)
        return b.view(x, shape, lambda *c: replace(c, axis.place, c[axis.place] // ratio))
    if axis.target is axis.source * 2 and not exact:  # eager halves the position whatever the factor
        shape = replace(x.shape, axis.place, axis.target)
        return b.view(x, shape, lambda *c: replace(c, axis.place, c[axis.place] // 2))
    target = _targets(b, axis, "f32")
    position = b.mul(b.add(target, 0.5) if exact else target, _scale(b, axis, "f32"))
    return _take(b, x, axis, b.cast(position, "i64"))


def linear(b: Builder, x: Tensor, axis: Axis) -> Tensor:
    """Between the two nearest pixels. `x` is in the opmath dtype."""
    if axis.target is axis.source:
        return x
    position = _source_positions(b, axis, x.dtype)
    if not axis.align_corners:
        position = composite.select(b, b.less_than(position, 0), 0, position)
    last = b.scalar(axis.source - 1, "i64")
    low = composite.minimum(b, b.cast(position, "i64"), last)
    weight = composite.sub(b, position, b.cast(low, x.dtype))
    weight = composite.minimum(b, weight, b.full(weight.shape, 1, x.dtype))
    return _blend(b, x, axis, [(low, composite.sub(b, 1, weight)), (b.add(low, 1), weight)])


def cubic(b: Builder, x: Tensor, axis: Axis) -> Tensor:
    """Between the four nearest pixels, with Keys' kernel for a = -0.75. `x` is in the opmath dtype."""
    if axis.target is axis.source:
        return x
    position = _source_positions(b, axis, x.dtype)
    floor = composite.floor(b, position)
    t, first = composite.sub(b, position, floor), b.cast(floor, "i64")
    rest = composite.sub(b, 1, t)
    weights = [_far(b, b.add(t, 1)), _near(b, t), _near(b, rest), _far(b, b.add(rest, 1))]
    return _blend(
        b, x, axis, [(b.add(first, offset), w) for offset, w in zip((-1, 0, 1, 2), weights, strict=True)]
    )


def _near(b: Builder, t: Tensor) -> Tensor:
    """((a + 2) t - (a + 3)) t t + 1 for t <= 1."""
    return b.add(b.mul(b.mul(b.add(b.mul(t, _CUBIC + 2), -(_CUBIC + 3)), t), t), 1)


def _far(b: Builder, t: Tensor) -> Tensor:
    """((a t - 5a) t + 8a) t - 4a for 1 < t < 2."""
    inner = b.add(b.mul(b.add(b.mul(t, _CUBIC), -5 * _CUBIC), t), 8 * _CUBIC)
    return b.add(b.mul(inner, t), -4 * _CUBIC)


def _blend(b: Builder, x: Tensor, axis: Axis, taps: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """Sum of weight * pixel over (positions, weights), both (target,)."""
    total: Tensor | None = None
    for positions, weights in taps:
        pixel = _take(b, x, axis, positions)
        term = b.mul(pixel, _along(b, weights, axis, pixel.shape))
        total = term if total is None else b.add(total, term)
    if total is None:
        raise AssertionError("a blend needs at least one tap")
    return total


def _axes(
    b: Builder,
    x: Tensor,
    sizes: Sequence[int | Expr] | None,
    factors: Sequence[float | None] | None,
    align: bool,
) -> list[Axis]:
    count = x.rank - 2
    factors = list(factors) if factors is not None else [None] * count
    result = []
    for number in range(count):
        source = x.shape[2 + number]
        target = _target_size(source, sizes[number] if sizes is not None else None, factors[number])
        result.append(Axis(2 + number, source, target, factors[number], align))
    return result


def _target_size(source: Expr, size: int | Expr | None, factor: float | None) -> Expr:
    if size is not None:
        return expr(size)
    if factor is None:
        raise Unsupported("interpolate without a size or a scale factor")
    if source.is_const:
        return expr(math.floor(source.value * factor))
    if float(factor).is_integer():
        return source * int(factor)
    raise Unsupported(f"interpolating a dynamic axis by {factor}; give the output size instead")


def _in_opmath(
    b: Builder, x: Tensor, axes: Sequence[Axis], step: Callable[[Builder, Tensor, Axis], Tensor]
) -> Tensor:
    """The last axis first, as eager nests its sums."""
    if not dtypes.is_float(x.dtype):
        raise Unsupported(f"interpolation of {x.dtype}")
    result = b.cast(x, dtypes.opmath(x.dtype))
    for axis in reversed(axes):
        result = step(b, result, axis)
    return b.cast(result, x.dtype)


def _register_nearest(name: str, count: int, exact: bool) -> None:
    @converter(f"torch.aten.{name}{count}d")
    def convert_nearest(b: Builder, x: Tensor, sizes: Sequence[int | Expr], *factors: float | None) -> Tensor:
        return _nearest_axes(b, x, _axes(b, x, sizes, factors or None, False), exact)

    @converter(f"torch.aten.{name}{count}d.vec")
    def convert_nearest_vec(
        b: Builder, x: Tensor, sizes: Sequence[int | Expr] | None, factors: Sequence[float] | None
    ) -> Tensor:
        return _nearest_axes(b, x, _axes(b, x, sizes, factors, False), exact)


def _nearest_axes(b: Builder, x: Tensor, axes: Sequence[Axis], exact: bool) -> Tensor:
    for axis in axes:
        x = nearest(b, x, axis, exact)
    return x


def _register_smooth(name: str, step: Callable[[Builder, Tensor, Axis], Tensor]) -> None:
    @converter(f"torch.aten.{name}")
    def convert_smooth(
        b: Builder, x: Tensor, sizes: Sequence[int | Expr], align: bool, *factors: float | None
    ) -> Tensor:
        return _in_opmath(b, x, _axes(b, x, sizes, factors or None, align), step)

    @converter(f"torch.aten.{name}.vec")
    def convert_smooth_vec(
        b: Builder,
        x: Tensor,
        sizes: Sequence[int | Expr] | None,
        align: bool,
        factors: Sequence[float] | None,
    ) -> Tensor:
        return _in_opmath(b, x, _axes(b, x, sizes, factors, align), step)


for _count in (1, 2, 3):
    _register_nearest("upsample_nearest", _count, exact=False)
    _register_nearest("_upsample_nearest_exact", _count, exact=True)
for _name, _step in (
    ("upsample_linear1d", linear),
    ("upsample_bilinear2d", linear),
    ("upsample_trilinear3d", linear),
    ("upsample_bicubic2d", cubic),
):
    _register_smooth(_name, _step)
