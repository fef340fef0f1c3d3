"""Writing along one axis: scatter, scatter_add, scatter_reduce, index_add, index_copy, slice_scatter.

All of them are the `scatter` primitive: a map from update coordinates (and index values) to coordinates of
the base. Where several updates meet in one place, "set" keeps the last in row-major order, as eager's CPU
loops do. Largest, smallest and product reductions have no scatter mode: each output element reduces over the
updates that name it.
"""

from __future__ import annotations

from ...dialects.symbolic import Expr
from . import composite, dtypes
from .axes import at_least_1d, replace, restore_rank
from .builder import Builder, Operand, Tensor
from .division import integer_floor_divide
from .extremes import highest, lowest, reduce_extreme
from .indexing import wrap_negative
from .products import reduce_product
from .rearrange import diagonal_coordinates
from .registry import Unsupported, converter
from .shapes import expr, normalize_axis, slice_bounds


def _write(b: Builder, x: Tensor, axis: int, index: Tensor, updates: Tensor, mode: str) -> Tensor:
    """`updates` (shape of `index`) into x at `index` along `axis`."""
    return b.scatter(x, updates, [index], lambda *c: replace(c[:-1], axis, c[-1]), mode)


def _aligned(b: Builder, index: Tensor, source: Tensor) -> Tensor:
    """The corner of `source` that has the shape of `index`."""
    return b.view(source, index.shape, lambda *c: c)


def _scatter(b: Builder, x: Tensor, dim: int, index: Tensor, source: Operand, mode: str) -> Tensor:
    rank, axis = x.rank, normalize_axis(dim, x.rank)
    x, index = at_least_1d(b, x), at_least_1d(b, b.cast(index, "i64"))
    if isinstance(source, Tensor):
        updates = _aligned(b, index, at_least_1d(b, source))
    else:
        updates = b.full(index.shape, source, x.dtype)
    return restore_rank(b, _write(b, x, axis, index, updates, mode), rank)


@converter("torch.aten.scatter.src")
def convert_scatter(b: Builder, x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    return _scatter(b, x, dim, index, source, "set")


@converter("torch.aten.scatter.value")
def convert_scatter_value(b: Builder, x: Tensor, dim: int, index: Tensor, value: Operand) -> Tensor:
    return _scatter(b, x, dim, index, b.full(index.shape, value, x.dtype), "set")


@converter("torch.aten.scatter_add")
def convert_scatter_add(b: Builder, x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    return _scatter(b, x, dim, index, source, "add")


@converter("torch.aten.scatter.reduce", "torch.aten.scatter.value_reduce")
def convert_scatter_reduce_legacy(
    b: Builder, x: Tensor, dim: int, index: Tensor, source: Operand, reduce: str
) -> Tensor:
    if not isinstance(source, Tensor):
        source = b.full(index.shape, source, x.dtype)
    names = {"add": "sum", "multiply": "prod"}
    return convert_scatter_reduce(b, x, dim, index, source, names.get(reduce, reduce), True)


@converter("torch.aten.scatter_reduce.two")
def convert_scatter_reduce(
    b: Builder, x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    rank, axis, dtype = x.rank, normalize_axis(dim, x.rank), x.dtype
    x, index = at_least_1d(b, x), at_least_1d(b, b.cast(index, "i64"))
    updates = _aligned(b, index, at_least_1d(b, source))
    if reduce in ("sum", "mean"):
        result = _scatter_sum(b, x, axis, index, updates, reduce == "mean", include_self)
    elif reduce in ("amax", "amin", "prod"):
        result = _scatter_fold(b, x, axis, index, updates, reduce, include_self)
    else:
        raise Unsupported(f"scatter_reduce with reduce='{reduce}'")
    return restore_rank(b, b.cast(result, dtype), rank)


def _scatter_sum(
    b: Builder, x: Tensor, axis: int, index: Tensor, updates: Tensor, mean: bool, include_self: bool
) -> Tensor:
    if not include_self:
        x = _write(b, x, axis, index, b.full(index.shape, 0, x.dtype), "set")
    total = _write(b, x, axis, index, updates, "add")
    if not mean:
        return total
    start = b.full(x.shape, 1 if include_self else 0, "i64")
    count = _write(b, start, axis, index, b.full(index.shape, 1, "i64"), "add")
    count = b.cast(composite.maximum(b, count, b.full(x.shape, 1, "i64")), x.dtype)
    if dtypes.is_float(x.dtype):
        return composite.div(b, total, count)
    return integer_floor_divide(b, total, count)


def _scatter_fold(
    b: Builder, x: Tensor, axis: int, index: Tensor, updates: Tensor, reduce: str, include_self: bool
) -> Tensor:
    """Each element of x along `axis` folded with the updates whose index names it (quadratic, but exact)."""
    if any(
        small is not large
        for position, (small, large) in enumerate(zip(index.shape, x.shape, strict=True))
        if position != axis
    ):
        raise Unsupported(
            f"scatter_reduce '{reduce}' where index is smaller than the tensor beside axis {axis}"
        )
    shape = [*x.shape, index.shape[axis]]
    last = len(shape) - 1

    def update(*c: Expr) -> list[Expr]:
        return replace(c[:-1], axis, c[-1])

    here = composite.eq(b, b.view(index, shape, update), b.iota(shape, lambda *c: c[axis]))
    identity = {"prod": 1, "amax": lowest(x.dtype), "amin": highest(x.dtype)}[reduce]
    candidates = composite.select(b, here, b.view(updates, shape, update), identity)
    if reduce == "prod":
        folded = reduce_product(b, candidates, last)
    else:
        folded = reduce_extreme(b, candidates, [last], reduce == "amax")
    joined = _combine(b, x, folded, reduce)
    if include_self:
        return joined
    touched = b.max_reduce(here, [last])
    return composite.select(b, touched, folded, x)


def _combine(b: Builder, x: Tensor, other: Tensor, reduce: str) -> Tensor:
    if reduce == "prod":
        return b.mul(x, other)
    return composite.maximum(b, x, other) if reduce == "amax" else composite.minimum(b, x, other)


def _rows(b: Builder, x: Tensor, axis: int, index: Tensor, source: Tensor, mode: str) -> Tensor:
    """Slices of `source` along `axis` written at positions `index` (1-D) of x."""
    spread = b.view(index, source.shape, lambda *c: [c[axis]])
    return _write(b, x, axis, spread, source, mode)


@converter("torch.aten.index_add")
def convert_index_add(
    b: Builder, x: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Operand = 1
) -> Tensor:
    rank, axis, dtype = x.rank, normalize_axis(dim, x.rank), x.dtype
    x, index, source = at_least_1d(b, x), at_least_1d(b, b.cast(index, "i64")), at_least_1d(b, source)
    if alpha != 1:
        wide = dtypes.opmath(dtype)
        x, source = b.cast(x, wide), b.mul(b.cast(source, wide), alpha)
    return restore_rank(b, b.cast(_rows(b, x, axis, index, source, "add"), dtype), rank)


@converter("torch.aten.index_copy")
def convert_index_copy(b: Builder, x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    rank, axis = x.rank, normalize_axis(dim, x.rank)
    x, index, source = at_least_1d(b, x), at_least_1d(b, b.cast(index, "i64")), at_least_1d(b, source)
    return restore_rank(b, _rows(b, x, axis, index, source, "set"), rank)


@converter("torch.aten.index_fill.int_Scalar", "torch.aten.index_fill.int_Tensor")
def convert_index_fill(b: Builder, x: Tensor, dim: int, index: Tensor, value: Operand) -> Tensor:
    rank, axis = x.rank, normalize_axis(dim, x.rank)
    x = at_least_1d(b, x)
    index = at_least_1d(b, wrap_negative(b, index, x.shape[axis]))
    source = b.full(replace(x.shape, axis, index.shape[0]), value, x.dtype)
    return restore_rank(b, _rows(b, x, axis, index, source, "set"), rank)


@converter("torch.aten.slice_scatter")
def convert_slice_scatter(
    b: Builder,
    x: Tensor,
    source: Tensor,
    dim: int = 0,
    start: int | Expr | None = None,
    end: int | Expr | None = None,
    step: int | Expr = 1,
) -> Tensor:
    axis = normalize_axis(dim, x.rank)
    first, _ = slice_bounds(x.shape[axis], start, end, b.static(step))
    return b.scatter(x, source, [], lambda *c: replace(c, axis, first + c[axis] * step))


def wrap_position(index: Expr, size: Expr) -> Expr:
    """A Python index along an axis of `size`, counted from the start."""
    low, high = index.bounds()
    if low is not None and low >= 0:
        return index
    if high is not None and high < 0:
        return index + size
    raise Unsupported(f"index {index} may be negative or not, depending on a symbol")


@converter("torch.aten.select_scatter")
def convert_select_scatter(b: Builder, x: Tensor, source: Tensor, dim: int, index: int | Expr) -> Tensor:
    axis = normalize_axis(dim, x.rank)
    at = wrap_position(expr(index), x.shape[axis])
    return b.scatter(x, source, [], lambda *c: [*c[:axis], at, *c[axis:]])


@converter("torch.aten.diagonal_scatter")
def convert_diagonal_scatter(
    b: Builder, x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    first, second = normalize_axis(dim1, x.rank), normalize_axis(dim2, x.rank)
    return b.scatter(x, source, [], lambda *c: diagonal_coordinates(c, offset, first, second))
