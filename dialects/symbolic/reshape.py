"""The index map of a reshape, without divisions wherever axes only merge or split."""

from __future__ import annotations

from collections.abc import Sequence

from .expr import ONE, ZERO, Expr, as_expr, product
from .index_map import IndexMap, dim_vars, shape_text


def reshape_map(old_dims: Sequence[Expr | int], new_dims: Sequence[Expr | int]) -> IndexMap:
    """Map from coordinates of shape `new_dims` to coordinates of shape `old_dims`, row-major order kept.

    Axes are matched in the smallest groups whose sizes have equal products; symbolic sizes need equal
    canonical
    products. ValueError if the element counts are not provably equal.
    """
    old = [as_expr(dim) for dim in old_dims]
    new = [as_expr(dim) for dim in new_dims]
    old_count, new_count = product(old), product(new)
    if old_count is not new_count:
        raise ValueError(
            f"cannot reshape {shape_text(old)} to {shape_text(new)}: {old_count} and {new_count} elements"
        )
    if old_count is ZERO:
        return IndexMap.of(new, [ZERO] * len(old))
    coordinates: list[Expr] = list(dim_vars(new))
    results: list[Expr] = [ZERO] * len(old)
    old_axes = [axis for axis, dim in enumerate(old) if dim is not ONE]
    new_axes = [axis for axis, dim in enumerate(new) if dim is not ONE]
    while old_axes:
        taken_old, taken_new = _smallest_group([old[a] for a in old_axes], [new[a] for a in new_axes])
        linear = _linearize(
            [coordinates[a] for a in new_axes[:taken_new]], [new[a] for a in new_axes[:taken_new]]
        )
        stride: Expr = ONE
        for position, axis in reversed(list(enumerate(old_axes[:taken_old]))):
            digit = linear // stride
            results[axis] = digit if position == 0 else digit % old[axis]
            stride = stride * old[axis]
        old_axes, new_axes = old_axes[taken_old:], new_axes[taken_new:]
    return IndexMap.of(new, results)


def _smallest_group(old: list[Expr], new: list[Expr]) -> tuple[int, int]:
    """How many leading axes of each side form the first group of equal size."""
    new_sizes: dict[Expr, int] = {}
    size: Expr = ONE
    for count, dim in enumerate(new, start=1):
        size = size * dim
        new_sizes.setdefault(size, count)
    size = ONE
    for count, dim in enumerate(old, start=1):
        size = size * dim
        if size in new_sizes:
            return count, new_sizes[size]
    return len(old), len(new)


def _linearize(coordinates: list[Expr], dims: list[Expr]) -> Expr:
    linear: Expr = ZERO
    for coordinate, dim in zip(coordinates, dims, strict=True):
        linear = linear * dim + coordinate
    return linear
