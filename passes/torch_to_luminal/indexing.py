"""Reading and writing by index tensors: index, gather, index_select, take, index_put and masked assignment.

Advanced indexing is one `gather` (or `scatter`) whose map puts each index value on its axis. Negative indices
wrap by adding the size where the index is below zero. An index outside its axis, which eager rejects with an
error, reads the nearest element and writes nothing. Boolean masks select a number of elements that depends on
data, so they are refused except where one value (or one row) is written through them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.symbolic import Expr
from . import composite
from .axes import at_least_1d, replace, restore_rank, unravel
from .builder import Builder, Tensor
from .registry import Unsupported, converter
from .shapes import broadcast_shapes, element_count, expr, normalize_axis


def wrap_negative(b: Builder, index: Tensor, size: Expr) -> Tensor:
    """i64 `index` with `size` added where it is negative."""
    index = b.cast(index, "i64")
    below = b.cast(b.less_than(index, 0), "i64")
    return b.add(index, b.mul(below, b.scalar(size, "i64")))


@dataclass(frozen=True)
class IndexPlan:
    """How advanced indexing maps result coordinates to source coordinates.

    `shape` is the result's shape; `start` the axis where the broadcast index axes begin; `axes` the indexed
    source axes; `indices` their i64 tensors, broadcast to `shape`.
    """

    shape: tuple[Expr, ...]
    start: int
    index_rank: int
    axes: tuple[int, ...]
    indices: tuple[Tensor, ...]

    def coordinates(self, values: Sequence[Expr]) -> list[Expr]:
        """Source coordinates from (result coordinates..., index values...)."""
        rank = len(self.shape)
        kept = [*values[: self.start], *values[self.start + self.index_rank : rank]]
        for axis, value in zip(self.axes, values[rank:], strict=True):
            kept.insert(axis, value)
        return kept


def plan_index(b: Builder, x: Tensor, indices: Sequence[Tensor | None]) -> IndexPlan:
    """The plan of x[indices]: index axes stay in place when adjacent, else they come first (as in NumPy)."""
    axes = tuple(axis for axis, index in enumerate(indices) if index is not None)
    given = [index for index in indices if index is not None]
    if any(index.dtype == "i1" for index in given):
        raise Unsupported("indexing with a boolean mask gives a shape that depends on data; use torch.where")
    if any(axis >= x.rank for axis in axes):
        raise Unsupported(f"{len(indices)} indices for a tensor of rank {x.rank}")
    index_shape = broadcast_shapes([index.shape for index in given])
    adjacent = axes == tuple(range(axes[0], axes[0] + len(axes)))
    start = axes[0] if adjacent else 0
    kept = [size for axis, size in enumerate(x.shape) if axis not in axes]
    shape = (*kept[:start], *index_shape, *kept[start:])
    lead = start + len(index_shape)
    whole = []
    for axis, index in zip(axes, given, strict=True):
        wrapped = b.broadcast(wrap_negative(b, index, x.shape[axis]), index_shape)
        whole.append(b.view(wrapped, shape, lambda *c: c[start:lead]))
    return IndexPlan(shape, start, len(index_shape), axes, tuple(whole))


@converter(
    "torch.aten.index.Tensor", "torch.aten._unsafe_index.Tensor", "torch.aten.index.Tensor_hacked_twin"
)
def convert_index(b: Builder, x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    if all(index is None for index in indices):
        return x
    plan = plan_index(b, x, indices)
    return b.gather(x, plan.indices, plan.shape, lambda *values: plan.coordinates(values))


@converter(
    "torch.aten.index_put",
    "torch.aten.index_put.hacked_twin",
    "torch.aten._unsafe_index_put",
)
def convert_index_put(
    b: Builder, x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    if all(index is None for index in indices):
        return _store(b, x, b.broadcast(values, x.shape), accumulate)
    if any(index is not None and index.dtype == "i1" for index in indices):
        return _masked_put(b, x, indices, values, accumulate)
    plan = plan_index(b, x, indices)
    updates = b.broadcast(values, plan.shape)
    mode = "add" if accumulate else "set"
    return b.scatter(x, updates, plan.indices, lambda *c: plan.coordinates(c), mode)


@converter("torch.aten._index_put_impl")
def convert_index_put_impl(
    b: Builder, x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool, unsafe: bool
) -> Tensor:
    return convert_index_put(b, x, indices, values, accumulate)


def _store(b: Builder, x: Tensor, values: Tensor, accumulate: bool) -> Tensor:
    return b.add(x, values) if accumulate else values


def _masked_put(
    b: Builder, x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool
) -> Tensor:
    """x[mask] = values for one mask and values that don't vary along the selected elements: a select."""
    given = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    if len(given) != 1:
        raise Unsupported("a boolean mask together with other indices depends on data")
    axis, mask = given[0]
    tail = x.rank - axis - mask.rank
    selected = values.rank - tail - 1  # the axis of `values` that runs over the selected elements
    if selected >= 0:
        if values.shape[selected] is not expr(1):
            raise Unsupported(
                "assigning several values through a boolean mask depends on data; use torch.where"
            )
        ones = [expr(1)] * mask.rank
        shape = [*values.shape[:selected], *ones, *values.shape[selected + 1 :]]
        values = b.view(values, shape, lambda *c: [*c[:selected], expr(0), *c[selected + mask.rank :]])
    whole = b.view(mask, x.shape, lambda *c: c[axis : axis + mask.rank])
    values = b.broadcast(values, x.shape)
    return composite.select(b, whole, _store(b, x, values, accumulate), x)


@converter("torch.aten.gather")
def convert_gather(b: Builder, x: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Tensor:
    rank = index.rank
    axis = normalize_axis(dim, x.rank)
    x, index = at_least_1d(b, x), at_least_1d(b, index)
    picked = b.gather(x, [b.cast(index, "i64")], index.shape, lambda *c: replace(c[:-1], axis, c[-1]))
    return restore_rank(b, picked, rank)


@converter("torch.aten.take_along_dim")
def convert_take_along_dim(b: Builder, x: Tensor, index: Tensor, dim: int | None) -> Tensor:
    if dim is None:
        raise Unsupported("take_along_dim without a dim; flatten the tensor first")
    axis = normalize_axis(dim, x.rank)
    rest = broadcast_shapes([replace(x.shape, axis, expr(1)), replace(index.shape, axis, expr(1))])
    x = b.broadcast(x, replace(rest, axis, x.shape[axis]))
    index = b.broadcast(index, replace(rest, axis, index.shape[axis]))
    return convert_gather(b, x, axis, wrap_negative(b, index, x.shape[axis]))


@converter("torch.aten.index_select")
def convert_index_select(b: Builder, x: Tensor, dim: int, index: Tensor) -> Tensor:
    rank, axis = x.rank, normalize_axis(dim, x.rank)
    x, index = at_least_1d(b, x), at_least_1d(b, b.cast(index, "i64"))
    shape = replace(x.shape, axis, index.shape[0])
    spread = b.view(index, shape, lambda *c: [c[axis]])
    picked = b.gather(x, [spread], shape, lambda *c: replace(c[:-1], axis, c[-1]))
    return restore_rank(b, picked, rank)


@converter("torch.aten.take")
def convert_take(b: Builder, x: Tensor, index: Tensor) -> Tensor:
    wrapped = wrap_negative(b, index, element_count(x.shape))
    return b.gather(x, [wrapped], index.shape, lambda *c: unravel(c[-1], x.shape))


@converter(
    "torch.aten.nonzero",
    "torch.aten.masked_select",
    "torch.aten.unique_dim",
    "torch.aten._unique2",
    "torch.aten.nonzero_numpy",
    "torch.aten.bincount",
    "torch.aten.masked_scatter",
)
def refuse_data_dependent(b: Builder, *operands: object) -> Tensor:
    raise Unsupported(
        "the result's shape or order depends on data; luminal needs shapes known from the inputs'"
    )
