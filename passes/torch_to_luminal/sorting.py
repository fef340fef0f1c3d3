"""sort, argsort, topk, kthvalue, median, bucketize: by counting ranks.

The rank of an element is the number of elements that come before it: those that are smaller, and the equal
ones at earlier positions. Ranks are a permutation, so writing every element at its rank is a stable sort;
writing only ranks below k is topk. NaN counts as the largest value, as in eager. The counts take n * n
comparisons and no scratch memory.
"""

from __future__ import annotations

from ...dialects.symbolic import Expr
from . import composite, dtypes
from .axes import at_least_1d, drop_axis, flatten, replace, restore_rank, spread
from .builder import Builder, Tensor
from .registry import Unsupported, converter
from .shapes import expr, normalize_axis


def ranks(b: Builder, x: Tensor, axis: int, descending: bool) -> Tensor:
    """i64, shape of `x`: the place of each element in the stable order along `axis`."""
    shape = [*x.shape, x.shape[axis]]
    element = b.view(x, shape, lambda *c: c[:-1])
    other = b.view(x, shape, lambda *c: replace(c[:-1], axis, c[-1]))
    small, large = (element, other) if descending else (other, element)
    earlier = b.less_than(b.iota(shape, lambda *c: c[-1] - c[axis]), 0)
    tied = b.mul(earlier, composite.logical_not(b, _orders_before(b, large, small)))
    before = b.add(_orders_before(b, small, large), tied)
    return b.sum_reduce(b.cast(before, "i64"), [x.rank])


def _orders_before(b: Builder, a: Tensor, c: Tensor) -> Tensor:
    """a < c with NaN above every number."""
    less = b.less_than(a, c)
    if not dtypes.is_float(a.dtype):
        return less
    return b.add(less, b.mul(composite.isnan(b, c), composite.logical_not(b, composite.isnan(b, a))))


def _first_sorted(b: Builder, x: Tensor, axis: int, descending: bool, count: Expr) -> tuple[Tensor, Tensor]:
    """The first `count` elements of the stable order along `axis`, with their positions."""
    place = ranks(b, x, axis, descending)
    shape = replace(x.shape, axis, count)
    position = b.iota(x.shape, lambda *c: c[axis])

    def put(updates: Tensor) -> Tensor:
        base = b.full(shape, 0, updates.dtype)
        return b.scatter(base, updates, [place], lambda *c: replace(c[:-1], axis, c[-1]))

    return put(x), put(position)


def _sort(b: Builder, x: Tensor, dim: int, descending: bool) -> tuple[Tensor, Tensor]:
    rank, axis = x.rank, normalize_axis(dim, x.rank)
    x = at_least_1d(b, x)
    values, indices = _first_sorted(b, x, axis, descending, x.shape[axis])
    return restore_rank(b, values, rank), restore_rank(b, indices, rank)


@converter("torch.aten.sort")
def convert_sort(b: Builder, x: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    return _sort(b, x, dim, descending)


@converter("torch.aten.sort.stable")
def convert_sort_stable(
    b: Builder, x: Tensor, stable: bool | None, dim: int = -1, descending: bool = False
) -> tuple[Tensor, Tensor]:
    return _sort(b, x, dim, descending)


@converter("torch.aten.argsort")
def convert_argsort(b: Builder, x: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    return _sort(b, x, dim, descending)[1]


@converter("torch.aten.argsort.stable")
def convert_argsort_stable(
    b: Builder, x: Tensor, stable: bool, dim: int = -1, descending: bool = False
) -> Tensor:
    return _sort(b, x, dim, descending)[1]


@converter("torch.aten.topk")
def convert_topk(
    b: Builder, x: Tensor, k: int | Expr, dim: int = -1, largest: bool = True, is_sorted: bool = True
) -> tuple[Tensor, Tensor]:
    rank, axis = x.rank, normalize_axis(dim, x.rank)
    values, indices = _first_sorted(b, at_least_1d(b, x), axis, largest, expr(k))
    keep_rank = 1 if rank else 0
    return restore_rank(b, values, keep_rank), restore_rank(b, indices, keep_rank)


def _pick(
    b: Builder, x: Tensor, axis: int, place: Tensor, wanted: Tensor, keepdim: bool
) -> tuple[Tensor, Tensor]:
    """The element whose rank `place` equals `wanted` (i64, without `axis`), and its position."""
    offset = composite.sub(b, place, spread(b, wanted, axis, x.shape[axis]))
    base_shape = replace(x.shape, axis, expr(1))

    def put(updates: Tensor) -> Tensor:
        base = b.full(base_shape, 0, updates.dtype)
        one = b.scatter(base, updates, [offset], lambda *c: replace(c[:-1], axis, c[-1]))
        return one if keepdim else drop_axis(b, one, axis)

    return put(x), put(b.iota(x.shape, lambda *c: c[axis]))


@converter("torch.aten.kthvalue")
def convert_kthvalue(
    b: Builder, x: Tensor, k: int | Expr, dim: int = -1, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    rank, axis = x.rank, normalize_axis(dim, x.rank)
    x = at_least_1d(b, x)
    wanted = b.full(replace(x.shape, axis), expr(k) - 1, "i64")
    return _pick(b, x, axis, ranks(b, x, axis, descending=False), wanted, keepdim and rank > 0)


def _median(b: Builder, x: Tensor, axis: int, keepdim: bool, skip_nan: bool) -> tuple[Tensor, Tensor]:
    """The lower median. NaN ranks last, so the first NaN has rank n - (number of NaN)."""
    size = x.shape[axis]
    shape = replace(x.shape, axis)
    if dtypes.is_float(x.dtype):
        numbers = b.cast(composite.logical_not(b, composite.isnan(b, x)), "i64")
        count = b.sum_reduce(numbers, [axis])
        if skip_nan:
            wanted = _half_below(b, count, size)
        else:
            complete = composite.logical_not(b, b.less_than(count, b.full(shape, size, "i64")))
            middle = b.full(shape, (size - 1) // 2, "i64")
            wanted = composite.select(b, complete, middle, count)
    else:
        wanted = b.full(shape, (size - 1) // 2, "i64")
    return _pick(b, x, axis, ranks(b, x, axis, descending=False), wanted, keepdim)


def _half_below(b: Builder, count: Tensor, size: Expr) -> Tensor:
    """max(count - 1, 0) // 2 for 0 <= count <= size: the number of pairs j with 2 * j + 2 < count + 1."""
    steps = size // 2
    pairs = b.iota([*count.shape, steps], lambda *c: c[-1] * 2 + 2)
    below = b.less_than(pairs, spread(b, count, count.rank, steps))
    return b.sum_reduce(b.cast(below, "i64"), [count.rank])


def _median_along(b: Builder, x: Tensor, dim: int, keepdim: bool, skip_nan: bool) -> tuple[Tensor, Tensor]:
    axis = normalize_axis(dim, x.rank)
    return _median(b, at_least_1d(b, x), axis, keepdim and x.rank > 0, skip_nan)


@converter("torch.aten.median.dim")
def convert_median_dim(b: Builder, x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return _median_along(b, x, dim, keepdim, skip_nan=False)


@converter("torch.aten.nanmedian.dim")
def convert_nanmedian_dim(b: Builder, x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return _median_along(b, x, dim, keepdim, skip_nan=True)


@converter("torch.aten.median")
def convert_median(b: Builder, x: Tensor) -> Tensor:
    return _whole_median(b, x, skip_nan=False)


@converter("torch.aten.nanmedian")
def convert_nanmedian(b: Builder, x: Tensor) -> Tensor:
    return _whole_median(b, x, skip_nan=True)


def _whole_median(b: Builder, x: Tensor, skip_nan: bool) -> Tensor:
    flat = flatten(b, x)
    if flat.shape[0].bounds()[0] in (None, 0):
        raise Unsupported("the median of a tensor that may have no elements")
    return _median(b, flat, 0, False, skip_nan)[0]


def _insertion_points(b: Builder, boundaries: Tensor, values: Tensor, right: bool, as_i32: bool) -> Tensor:
    """How many boundaries (1-D, sorted) are before each value, or at it with `right`. NaN comes last."""
    shape = [*values.shape, boundaries.shape[0]]
    edge = b.view(boundaries, shape, lambda *c: [c[-1]])
    value = b.view(values, shape, lambda *c: c[:-1])
    after = b.less_than(value, edge) if right else composite.le(b, value, edge)
    count = b.sum_reduce(b.cast(composite.logical_not(b, after), "i64"), [values.rank])
    return b.cast(count, "i32") if as_i32 else count


@converter("torch.aten.bucketize.Tensor")
def convert_bucketize(
    b: Builder, values: Tensor, boundaries: Tensor, out_int32: bool = False, right: bool = False
) -> Tensor:
    if values.dtype != boundaries.dtype:
        raise Unsupported(f"bucketize of {values.dtype} values with {boundaries.dtype} boundaries")
    return _insertion_points(b, boundaries, values, right, out_int32)


@converter("torch.aten.searchsorted.Tensor")
def convert_searchsorted(
    b: Builder,
    boundaries: Tensor,
    values: Tensor,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    if boundaries.rank != 1 or sorter is not None or values.dtype != boundaries.dtype:
        raise Unsupported("searchsorted needs 1-D sorted boundaries of the values' dtype, without a sorter")
    return _insertion_points(b, boundaries, values, right or side == "right", out_int32)
