"""Running sums, maxima and minima: each element reduces over the elements up to it.

    cumsum(x)[i] = sum over j of (j <= i ? x[j] : 0)

The choice is a select, not a product with a mask, so that infinities and NaN past i leave no trace. It costs
n * n steps but needs no order of evaluation, and fuses with whatever makes x.
"""

from __future__ import annotations

import math

from . import composite, dtypes
from .axes import at_least_1d, replace, restore_rank, spread
from .builder import Builder, Tensor
from .extremes import highest, is_extreme, lowest, reduce_extreme
from .products import accumulator, scan_dtype
from .registry import converter
from .shapes import normalize_axis


def up_to(b: Builder, x: Tensor, axis: int, filler: float | int | bool) -> Tensor:
    """(*shape, n): element (c..., j) is x at j along `axis` where j <= c[axis], else `filler`."""
    shape = [*x.shape, x.shape[axis]]
    every = b.view(x, shape, lambda *c: replace(c[:-1], axis, c[-1]))
    return composite.select(b, _within(b, shape, axis), every, filler)


def _within(b: Builder, shape: list, axis: int) -> Tensor:
    """j <= c[axis] as i1, for the last coordinate j."""
    return b.less_than(b.iota(shape, lambda *c: c[-1] - c[axis]), 1)


def running_sum(b: Builder, x: Tensor, axis: int) -> Tensor:
    """Inclusive running sum along `axis`; floats add up in the next wider dtype, as in eager."""
    total = b.sum_reduce(up_to(b, b.cast(x, scan_dtype(x.dtype)), axis, 0), [x.rank])
    return b.cast(total, x.dtype)


def running_extreme(b: Builder, x: Tensor, axis: int, largest: bool) -> Tensor:
    """Inclusive running maximum or minimum; once NaN has been met, NaN."""
    filler = lowest(x.dtype) if largest else highest(x.dtype)
    return reduce_extreme(b, up_to(b, x, axis, filler), [x.rank], largest)


@converter("torch.aten.cumsum")
def convert_cumsum(b: Builder, x: Tensor, dim: int, dtype: int | None = None) -> Tensor:
    rank, axis = x.rank, normalize_axis(dim, x.rank)
    return restore_rank(b, running_sum(b, at_least_1d(b, accumulator(b, x, dtype)), axis), rank)


def _running_extreme_with_position(b: Builder, x: Tensor, dim: int, largest: bool) -> tuple[Tensor, Tensor]:
    """(values, indices); among equals, and among NaN, the latest position counts."""
    rank, axis = x.rank, normalize_axis(dim, x.rank)
    x = at_least_1d(b, x)
    extreme = running_extreme(b, x, axis, largest)
    shape = [*x.shape, x.shape[axis]]
    every = b.view(x, shape, lambda *c: replace(c[:-1], axis, c[-1]))
    here = is_extreme(b, every, spread(b, extreme, x.rank, x.shape[axis]), largest)
    here = b.mul(here, _within(b, shape, axis))
    position = composite.select(b, here, b.iota(shape, lambda *c: c[-1]), -1)
    indices = b.max_reduce(position, [x.rank])
    values = b.gather(x, [indices], x.shape, lambda *c: replace(c[:-1], axis, c[-1]))
    return restore_rank(b, values, rank), restore_rank(b, indices, rank)


@converter("torch.aten.cummax")
def convert_cummax(b: Builder, x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    return _running_extreme_with_position(b, x, dim, largest=True)


@converter("torch.aten.cummin")
def convert_cummin(b: Builder, x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    return _running_extreme_with_position(b, x, dim, largest=False)


@converter("torch.aten.logcumsumexp")
def convert_logcumsumexp(b: Builder, x: Tensor, dim: int) -> Tensor:
    """log(sum of exp(x - m)) + m with m the running maximum, or 0 where that is infinite."""
    rank, dtype, axis = x.rank, x.dtype, normalize_axis(dim, x.rank)
    x = at_least_1d(b, b.cast(x, dtypes.opmath(dtype)))
    m = running_extreme(b, x, axis, largest=True)
    finite = b.mul(b.less_than(m, math.inf), b.less_than(-math.inf, m))
    m = composite.select(b, b.add(finite, composite.isnan(b, m)), m, 0)
    shifted = composite.sub(b, up_to(b, x, axis, -math.inf), spread(b, m, x.rank, x.shape[axis]))
    total = b.sum_reduce(composite.exp(b, shifted), [x.rank])
    return restore_rank(b, b.cast(b.add(composite.log(b, total), m), dtype), rank)
