"""Histograms: every element adds 1 to its bin."""

from __future__ import annotations

from . import composite, dtypes
from .axes import flatten
from .builder import Builder, Operand, Tensor
from .extremes import reduce_extreme
from .registry import Unsupported, converter


def _data_range(b: Builder, x: Tensor) -> tuple[Tensor, Tensor]:
    """Least and largest element, one apart on each side where they are equal."""
    if x.shape[0].bounds()[0] in (None, 0):
        raise Unsupported("the range of a tensor that may have no elements")
    low, high = (reduce_extreme(b, x, [0], largest) for largest in (False, True))
    same = composite.eq(b, low, high)
    return composite.select(b, same, b.add(low, -1), low), composite.select(b, same, b.add(high, 1), high)


@converter("torch.aten.histc")
def convert_histc(b: Builder, x: Tensor, bins: int = 100, low: Operand = 0, high: Operand = 0) -> Tensor:
    """Counts per bin of equal width over [low, high] (the data's range if they are equal), in x's dtype.

    Elements outside and NaN are left out; `high` itself belongs to the last bin.
    """
    if not dtypes.is_float(x.dtype):
        raise Unsupported(f"histc of {x.dtype}; eager counts floats only")
    x = flatten(b, x)
    first, last = _data_range(b, x) if low == high else (b.scalar(low, x.dtype), b.scalar(high, x.dtype))
    first, last = (b.broadcast(edge, x.shape) for edge in (first, last))
    width = composite.sub(b, last, first)
    place = b.cast(composite.div(b, b.mul(composite.sub(b, x, first), bins), width), "i64")
    counted = b.mul(composite.le(b, first, x), composite.le(b, x, last))
    place = composite.select(b, b.less_than(place, bins), place, bins - 1)
    place = composite.select(b, counted, place, bins)  # past the end: dropped
    ones = b.full(x.shape, 1, x.dtype)
    return b.scatter(b.full([bins], 0, x.dtype), ones, [place], lambda i, at: [at], "add")
