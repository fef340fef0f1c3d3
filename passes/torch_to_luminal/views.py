"""Ops that only move data: expand, permute, reshape, slice, select, cat, stack, split and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dialects.symbolic import Expr, maximum, minimum
from .builder import Builder, Tensor
from .promotion import result_dtype
from .registry import Unsupported, converter
from .shapes import broadcast_shapes, expr, infer_size, normalize_axis, reshape_index, slice_bounds

Size = Expr | int


def reshape(b: Builder, x: Tensor, sizes: Sequence[Size]) -> Tensor:
    """Row-major reshape; one size may be -1."""
    target = tuple(b.symbols.fit(size) for size in infer_size(sizes, x.shape))
    return b.view(x, target, reshape_index(x.shape, target))


def permute(b: Builder, x: Tensor, order: Sequence[int]) -> Tensor:
    """Result axis k is source axis order[k]."""
    axes = [normalize_axis(axis, x.rank) for axis in order] if x.rank else []

    def index(*dims: Expr) -> list[Expr]:
        return [dims[axes.index(axis)] for axis in range(x.rank)]

    return b.view(x, [x.shape[axis] for axis in axes], index)


def unsqueeze(b: Builder, x: Tensor, axis: int) -> Tensor:
    """A new axis of size one at `axis` of the result."""
    at = normalize_axis(axis, x.rank + 1)
    shape = [*x.shape[:at], expr(1), *x.shape[at:]]
    return b.view(x, shape, lambda *dims: [*dims[:at], *dims[at + 1 :]])


def squeeze(b: Builder, x: Tensor, axes: Sequence[int]) -> Tensor:
    """Drop those of `axes` that have size one."""
    dropped = {axis for axis in axes if x.shape[axis].is_const and x.shape[axis].value == 1}
    kept = [axis for axis in range(x.rank) if axis not in dropped]

    def index(*dims: Expr) -> list[Size]:
        return [0 if axis in dropped else dims[kept.index(axis)] for axis in range(x.rank)]

    return b.view(x, [x.shape[axis] for axis in kept], index)


def narrow(b: Builder, x: Tensor, axis: int, start: Size, length: Size, step: int = 1) -> Tensor:
    """`length` elements from `start` with `step` along `axis`, known to be in range."""
    shape = [expr(length) if other == axis else size for other, size in enumerate(x.shape)]
    first = b.symbols.fit(expr(start))
    return b.view(
        x,
        shape,
        lambda *dims: [first + dim * step if other == axis else dim for other, dim in enumerate(dims)],
    )


def concatenate(b: Builder, tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Scatter each part into a zero-filled result at its offset."""
    if len(tensors) == 1:
        return tensors[0]
    shape = list(tensors[0].shape)
    shape[axis] = expr(0)
    for tensor in tensors:
        shape[axis] = shape[axis] + tensor.shape[axis]
    result = b.full(shape, 0, tensors[0].dtype)
    offset = expr(0)
    for tensor in tensors:
        start = b.symbols.fit(offset)
        result = b.scatter(
            result,
            tensor,
            [],
            lambda *dims, start=start: [d + start if i == axis else d for i, d in enumerate(dims)],
        )
        offset = offset + tensor.shape[axis]
    return result


# Reshapes.


@converter(
    "torch.aten.view",
    "torch.aten.reshape",
    "torch.aten._unsafe_view",
    "torch.aten.view_copy",
    "torch.aten._reshape_copy",
    "torch.aten._reshape_alias",
    "torch.prims.reshape",
)
def convert_reshape(b: Builder, x: Tensor, sizes: Sequence[Size], *_: Any) -> Tensor:
    return reshape(b, x, sizes)


@converter("torch.aten.flatten.using_ints")
def convert_flatten(b: Builder, x: Tensor, start: int, end: int) -> Tensor:
    if x.rank == 0:
        return reshape(b, x, [1])
    first, last = normalize_axis(start, x.rank), normalize_axis(end, x.rank)
    return reshape(b, x, [*x.shape[:first], -1, *x.shape[last + 1 :]]) if first != last else x


@converter("torch.aten.unflatten.int")
def convert_unflatten(b: Builder, x: Tensor, axis: int, sizes: Sequence[Size]) -> Tensor:
    at = normalize_axis(axis, x.rank)
    inner = infer_size(sizes, [x.shape[at]])
    return reshape(b, x, [*x.shape[:at], *inner, *x.shape[at + 1 :]])


@converter("torch.aten.unsqueeze", "torch.aten.unsqueeze_copy")
def convert_unsqueeze(b: Builder, x: Tensor, axis: int) -> Tensor:
    return unsqueeze(b, x, b.static(axis))


@converter("torch.aten.squeeze", "torch.aten.squeeze_copy")
def convert_squeeze(b: Builder, x: Tensor) -> Tensor:
    return squeeze(b, x, range(x.rank))


@converter("torch.aten.squeeze.dim", "torch.aten.squeeze_copy.dim")
def convert_squeeze_dim(b: Builder, x: Tensor, axis: int) -> Tensor:
    return squeeze(b, x, [normalize_axis(b.static(axis), x.rank)] if x.rank else [])


@converter("torch.aten.squeeze.dims", "torch.aten.squeeze_copy.dims")
def convert_squeeze_dims(b: Builder, x: Tensor, axes: Sequence[int]) -> Tensor:
    return squeeze(b, x, [normalize_axis(axis, x.rank) for axis in axes] if x.rank else [])


# Permutations.


@converter("torch.aten.permute", "torch.aten.permute_copy")
def convert_permute(b: Builder, x: Tensor, order: Sequence[int]) -> Tensor:
    return permute(b, x, order)


@converter("torch.aten.transpose.int", "torch.aten.transpose_copy.int", "torch.aten.swapaxes")
def convert_transpose(b: Builder, x: Tensor, first: int, second: int) -> Tensor:
    if x.rank == 0:
        return x
    order = list(range(x.rank))
    p, q = normalize_axis(first, x.rank), normalize_axis(second, x.rank)
    order[p], order[q] = q, p
    return permute(b, x, order)


@converter("torch.aten.t", "torch.aten.t_copy", "torch.aten.numpy_T")
def convert_t(b: Builder, x: Tensor) -> Tensor:
    return permute(b, x, list(reversed(range(x.rank))))


# Broadcasting and repetition.


@converter("torch.aten.expand", "torch.aten.expand_copy")
def convert_expand(b: Builder, x: Tensor, sizes: Sequence[Size], _implicit: bool = False) -> Tensor:
    lead = len(sizes) - x.rank
    shape = [
        x.shape[axis - lead] if expr(size).is_const and expr(size).value == -1 else expr(size)
        for axis, size in enumerate(sizes)
    ]
    return b.broadcast(x, shape)


@converter("torch.aten.expand_as")
def convert_expand_as(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    return b.broadcast(x, other.shape)


@converter("torch.aten.broadcast_to")
def convert_broadcast_to(b: Builder, x: Tensor, sizes: Sequence[Size]) -> Tensor:
    return convert_expand(b, x, sizes)


@converter("torch.aten.broadcast_tensors")
def convert_broadcast_tensors(b: Builder, tensors: Sequence[Tensor]) -> list[Tensor]:
    shape = broadcast_shapes([tensor.shape for tensor in tensors])
    return [b.broadcast(tensor, shape) for tensor in tensors]


@converter("torch.aten.repeat", "torch.aten.tile")
def convert_repeat(b: Builder, x: Tensor, repeats: Sequence[Size]) -> Tensor:
    lead = max(len(repeats) - x.rank, 0)
    counts = [expr(1)] * (x.rank - len(repeats)) + [expr(count) for count in repeats]
    padded = [expr(1)] * lead + list(x.shape)
    shape = [count * size for count, size in zip(counts, padded, strict=True)]

    def index(*dims: Expr) -> list[Expr]:
        return [dims[lead + axis] % size if counts[lead + axis] is not expr(1) else dims[lead + axis]
                for axis, size in enumerate(x.shape)]  # fmt: skip

    if any(size.is_const and size.value == 0 for size in shape):
        return b.full(shape, 0, x.dtype)
    return b.view(x, shape, index)


@converter("torch.aten.repeat_interleave.self_int")
def convert_repeat_interleave(
    b: Builder, x: Tensor, repeats: Size, axis: int | None, _size: Size | None
) -> Tensor:
    if axis is None:
        x, axis = reshape(b, x, [-1]), 0
    at = normalize_axis(axis, x.rank)
    count = expr(repeats)
    shape = [size * count if other == at else size for other, size in enumerate(x.shape)]
    if any(size.is_const and size.value == 0 for size in shape):
        return b.full(shape, 0, x.dtype)
    return b.view(
        x, shape, lambda *dims: [dim // count if other == at else dim for other, dim in enumerate(dims)]
    )


# Slices.


@converter("torch.aten.slice.Tensor", "torch.aten.slice_copy.Tensor")
def convert_slice(
    b: Builder, x: Tensor, axis: int, start: Size | None, end: Size | None, step: int
) -> Tensor:
    at = normalize_axis(axis, x.rank)
    stride = b.static(step)
    first, length = slice_bounds(x.shape[at], start, end, stride)
    return narrow(b, x, at, first, _refined(b, length, at), stride)


def _refined(b: Builder, length: Expr, axis: int) -> Expr:
    """The length the importer found static (by a guard on the shape), where ours is a longer expression."""
    known = b.results[0].dims[axis] if b.results and axis < len(b.results[0].dims) else None
    return length if known is None else expr(known)


@converter("torch.aten.narrow")
def convert_narrow(b: Builder, x: Tensor, axis: int, start: Size, length: Size) -> Tensor:
    at = normalize_axis(axis, x.rank)
    return convert_slice(b, x, at, start, expr(start) + length, 1)


@converter("torch.aten.select.int", "torch.aten.select_copy.int")
def convert_select(b: Builder, x: Tensor, axis: int, position: Size | Tensor) -> Tensor:
    at = normalize_axis(axis, x.rank)
    if isinstance(position, Tensor):
        raise Unsupported("select at a position computed by the program")
    where = wrap_position(expr(position), x.shape[at])
    shape = [size for other, size in enumerate(x.shape) if other != at]
    return b.view(x, shape, lambda *dims: [*dims[:at], where, *dims[at:]])


def wrap_position(position: Expr, size: Expr) -> Expr:
    """A Python index as 0 <= index < size."""
    low, high = position.bounds()
    if low is not None and low >= 0:
        return position
    if high is not None and high < 0:
        return position + size
    raise Unsupported(f"index {position} may be negative or not, depending on a symbol")


@converter("torch.aten.diagonal", "torch.aten.diagonal_copy")
def convert_diagonal(b: Builder, x: Tensor, offset: int, first: int, second: int) -> Tensor:
    p, q = normalize_axis(first, x.rank), normalize_axis(second, x.rank)
    down, right = max(-offset, 0), max(offset, 0)
    length = maximum(minimum(x.shape[p] - down, x.shape[q] - right), 0)
    kept = [axis for axis in range(x.rank) if axis not in (p, q)]

    def index(*dims: Expr) -> list[Expr]:
        along = dims[-1]
        fixed = {p: along + down, q: along + right}
        return [fixed[axis] if axis in fixed else dims[kept.index(axis)] for axis in range(x.rank)]

    return b.view(x, [*(x.shape[axis] for axis in kept), length], index)


@converter("torch.aten.unfold", "torch.aten.unfold_copy")
def convert_unfold(b: Builder, x: Tensor, axis: int, size: int, step: int) -> Tensor:
    if x.rank == 0:
        return reshape(b, x, [1])
    at = normalize_axis(axis, x.rank)
    windows = (x.shape[at] - size) // step + 1
    shape = [windows if other == at else extent for other, extent in enumerate(x.shape)]
    return b.view(
        x,
        [*shape, expr(size)],
        lambda *dims: [dim * step + dims[-1] if other == at else dim for other, dim in enumerate(dims[:-1])],
    )


# Joining and splitting.


@converter("torch.aten.cat", "torch.aten.concat")
def convert_cat(b: Builder, tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Legacy empty tensors of shape (0,) are skipped like in eager; dtypes promote."""
    dtype = result_dtype(*tensors)
    ranks = {tensor.rank for tensor in tensors}
    parts = [t for t in tensors if len(ranks) == 1 or not (t.rank == 1 and t.shape[0] is expr(0))]
    parts = parts or list(tensors[:1])
    return concatenate(
        b, [b.cast(part, dtype) for part in parts], normalize_axis(b.static(axis), parts[0].rank)
    )


@converter("torch.aten.stack")
def convert_stack(b: Builder, tensors: Sequence[Tensor], axis: int) -> Tensor:
    dtype = result_dtype(*tensors)
    at = normalize_axis(axis, tensors[0].rank + 1)
    return concatenate(b, [unsqueeze(b, b.cast(tensor, dtype), at) for tensor in tensors], at)


def split_sizes(b: Builder, x: Tensor, sizes: Sequence[Size], axis: int) -> list[Tensor]:
    """Consecutive parts of the given lengths."""
    at = normalize_axis(axis, x.rank)
    parts, offset = [], expr(0)
    for size in sizes:
        parts.append(narrow(b, x, at, offset, size))
        offset = offset + size
    return parts


@converter("torch.aten.split_with_sizes", "torch.aten.split_with_sizes_copy", "torch.aten.split.sizes")
def convert_split_with_sizes(b: Builder, x: Tensor, sizes: Sequence[Size], axis: int) -> list[Tensor]:
    return split_sizes(b, x, sizes, axis)


def _equal_parts(b: Builder, x: Tensor, size: Size, axis: int) -> list[Tensor]:
    at = normalize_axis(axis, x.rank)
    total, step = x.shape[at], expr(size)
    count = total // step if (total % step) is expr(0) else (total + step - 1) // step
    number = b.list_length if b.list_length is not None else b.static(count) or 1
    return split_sizes(b, x, [step] * (number - 1) + [total - step * (number - 1)], at)


@converter("torch.aten.split.Tensor", "torch.aten.split_copy.Tensor")
def convert_split(b: Builder, x: Tensor, size: Size, axis: int) -> list[Tensor]:
    return _equal_parts(b, x, size, axis)


@converter("torch.aten.chunk")
def convert_chunk(b: Builder, x: Tensor, chunks: int, axis: int) -> list[Tensor]:
    size = x.shape[normalize_axis(axis, x.rank)]
    return _equal_parts(b, x, (size + (chunks - 1)) // chunks, axis)


@converter("torch.aten.unbind.int", "torch.aten.unbind_copy.int")
def convert_unbind(b: Builder, x: Tensor, axis: int) -> list[Tensor]:
    at = normalize_axis(axis, x.rank)
    return [convert_select(b, x, at, position) for position in range(b.static(x.shape[at]))]
