"""Where the largest and smallest elements are: argmax, argmin, max.dim and min.dim.

NaN beats every number, and among equals the first position wins, as in eager. The position is itself a
maximum: over (n - 1 - position) of the elements that equal the extreme.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from . import composite, dtypes
from .axes import at_least_1d, flatten, keep_axes, spread
from .builder import Builder, Tensor
from .registry import converter
from .shapes import normalize_axis

_WIDTH = {"i32": 32, "i64": 64}


def lowest(dtype: str) -> float | int | bool:
    """The identity of maximum."""
    if dtypes.is_float(dtype):
        return -math.inf
    return False if dtype == "i1" else -(1 << (_WIDTH[dtype] - 1))


def highest(dtype: str) -> float | int | bool:
    """The identity of minimum."""
    if dtypes.is_float(dtype):
        return math.inf
    return True if dtype == "i1" else (1 << (_WIDTH[dtype] - 1)) - 1


def reduce_extreme(b: Builder, x: Tensor, axes: Sequence[int], largest: bool) -> Tensor:
    """Largest or smallest over `axes`; NaN wins."""
    if not axes:
        return x
    return b.max_reduce(x, axes) if largest else composite.min_reduce(b, x, list(axes))


def is_extreme(b: Builder, x: Tensor, extreme: Tensor, largest: bool) -> Tensor:
    """Which elements (i1) equal their extreme; where that is NaN, which elements are NaN."""
    reached = composite.le(b, extreme, x) if largest else composite.le(b, x, extreme)
    return b.add(reached, composite.isnan(b, x)) if dtypes.is_float(x.dtype) else reached


def first_position(b: Builder, found: Tensor, axis: int) -> Tensor:
    """The least coordinate along `axis` where `found` (i1) holds; it must hold somewhere."""
    last = found.shape[axis] - 1
    from_end = b.iota(found.shape, lambda *c: last - c[axis])
    nearest = b.max_reduce(composite.select(b, found, from_end, -1), [axis])
    return composite.sub(b, b.scalar(last, "i64"), nearest)


def locate(b: Builder, x: Tensor, axis: int, largest: bool) -> tuple[Tensor, Tensor]:
    """(extreme, its first position) along `axis`, which is dropped."""
    extreme = reduce_extreme(b, x, [axis], largest)
    found = is_extreme(b, x, spread(b, extreme, axis, x.shape[axis]), largest)
    return extreme, first_position(b, found, axis)


def _arg_extreme(b: Builder, x: Tensor, dim: int | None, keepdim: bool, largest: bool) -> Tensor:
    rank = x.rank
    if dim is None:
        position = locate(b, flatten(b, x), 0, largest)[1]
        return keep_axes(b, position, range(rank), keepdim)
    axis = normalize_axis(dim, rank)
    position = locate(b, at_least_1d(b, x), axis, largest)[1]
    return keep_axes(b, position, [axis], keepdim and rank > 0)


@converter("torch.aten.argmax")
def convert_argmax(b: Builder, x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _arg_extreme(b, x, dim, keepdim, largest=True)


@converter("torch.aten.argmin")
def convert_argmin(b: Builder, x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    return _arg_extreme(b, x, dim, keepdim, largest=False)


def _extreme_along(b: Builder, x: Tensor, dim: int, keepdim: bool, largest: bool) -> tuple[Tensor, Tensor]:
    rank, axis = x.rank, normalize_axis(dim, x.rank)
    values, indices = locate(b, at_least_1d(b, x), axis, largest)
    keep = keepdim and rank > 0
    return keep_axes(b, values, [axis], keep), keep_axes(b, indices, [axis], keep)


@converter("torch.aten.max.dim")
def convert_max_dim(b: Builder, x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return _extreme_along(b, x, dim, keepdim, largest=True)


@converter("torch.aten.min.dim")
def convert_min_dim(b: Builder, x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return _extreme_along(b, x, dim, keepdim, largest=False)
