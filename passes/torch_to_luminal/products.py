"""Products along an axis, and running products, without a product primitive: a tree of multiplications.

A product halves its axis until one element is left; a running product doubles its reach until it covers the
axis. Both take ceil(log2(n)) steps. For an axis of symbolic length the number of steps covers its largest
length; once the axis is down to one element (or the reach is past its end) further steps change nothing.
"""

from __future__ import annotations

from ...dialects import symbolic
from ...dialects.symbolic import Expr
from . import dtypes
from .axes import at_least_1d, crop, drop_axis, replace, restore_rank
from .builder import Builder, Tensor
from .registry import converter
from .shapes import normalize_axis

_LARGEST_AXIS = 1 << 31


def steps_for(size: Expr) -> int:
    """Number of doublings that reach `size`, whatever its symbols are."""
    largest = size.bounds()[1]
    bound = _LARGEST_AXIS if largest is None else min(largest, _LARGEST_AXIS)
    return (max(bound, 1) - 1).bit_length()


def reduce_product(b: Builder, x: Tensor, axis: int) -> Tensor:
    """Product over `axis`, which is dropped; halves multiply in f32 and round once; empty = 1."""
    dtype = x.dtype
    x = b.cast(x, dtypes.opmath(dtype))
    for _ in range(steps_for(x.shape[axis])):
        x = _halve(b, x, axis)
    shape = replace(x.shape, axis)
    if x.shape[axis].is_const and x.shape[axis].value == 1:
        return b.cast(drop_axis(b, x, axis), dtype)
    ones = b.full(shape, 1, x.dtype)
    return b.cast(b.scatter(ones, x, [], lambda *c: replace(c, axis)), dtype)


def _halve(b: Builder, x: Tensor, axis: int) -> Tensor:
    """Element i times element i + ceil(n/2), or alone where there is none."""
    size = x.shape[axis]
    half = (size + 1) // 2
    low, high = crop(b, x, axis, 0, half), crop(b, x, axis, half, size - half)
    if size - half is not half:
        ones = b.full(low.shape, 1, x.dtype)
        high = b.scatter(ones, high, [], lambda *c: c)
    return b.mul(low, high)


def scan_dtype(dtype: str) -> str:
    """The dtype in which eager accumulates a scan: halves in f32, f32 in f64."""
    return "f64" if dtype == "f32" else dtypes.opmath(dtype)


def running_product(b: Builder, x: Tensor, axis: int) -> Tensor:
    """Inclusive running product along `axis`; floats multiply in the next wider dtype, as in eager."""
    dtype, size = x.dtype, x.shape[axis]
    x = b.cast(x, scan_dtype(dtype))
    for step in range(steps_for(size)):
        reach = 1 << step
        head = crop(b, x, axis, 0, symbolic.maximum(size - reach, 0))
        ones = b.full(x.shape, 1, x.dtype)
        earlier = b.scatter(ones, head, [], lambda *c, reach=reach: replace(c, axis, c[axis] + reach))
        x = b.mul(x, earlier)
    return b.cast(x, dtype)


def accumulator(b: Builder, x: Tensor, dtype: int | None) -> Tensor:
    """`x` in the dtype of the result: the requested one, i64 for bool and integers, else its own."""
    if dtype is not None:
        return b.cast(x, dtypes.from_scalar_type(dtype))
    return x if dtypes.is_float(x.dtype) else b.cast(x, "i64")


@converter("torch.aten.cumprod")
def convert_cumprod(b: Builder, x: Tensor, dim: int, dtype: int | None = None) -> Tensor:
    rank, axis = x.rank, normalize_axis(dim, x.rank)
    result = running_product(b, at_least_1d(b, accumulator(b, x, dtype)), axis)
    return restore_rank(b, result, rank)
