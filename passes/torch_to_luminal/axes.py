"""Small moves along one axis that several families share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dialects.symbolic import Expr
from .builder import Builder, Tensor
from .shapes import element_count, expr, reshape_index


def replace(items: Sequence[Any], axis: int, *values: Any) -> list[Any]:
    """`items` with the entry at `axis` replaced by `values` (none, one or several)."""
    return [*items[:axis], *values, *items[axis + 1 :]]


def reshape(b: Builder, x: Tensor, shape: Sequence[Expr | int]) -> Tensor:
    """The same elements in row-major order under another shape."""
    target = [expr(size) for size in shape]
    return b.view(x, target, reshape_index(x.shape, target))


def flatten(b: Builder, x: Tensor) -> Tensor:
    """All elements as one axis."""
    return reshape(b, x, [element_count(x.shape)])


def at_least_1d(b: Builder, x: Tensor) -> Tensor:
    """`x`, or a rank-0 tensor as one of shape (1,)."""
    return x if x.rank else b.view(x, [1], lambda _: [])


def restore_rank(b: Builder, x: Tensor, rank: int) -> Tensor:
    """Undo `at_least_1d`: shape (1,) back to rank 0 if the original `rank` was 0."""
    return x if rank else b.view(x, [], lambda: [0])


def unsqueeze(b: Builder, x: Tensor, axis: int) -> Tensor:
    """A new axis of size one before `axis`."""
    shape = [*x.shape[:axis], expr(1), *x.shape[axis:]]
    return b.view(x, shape, lambda *c: replace(c, axis))


def drop_axis(b: Builder, x: Tensor, axis: int, position: Expr | int = 0) -> Tensor:
    """The slice of `x` at `position` of `axis`."""
    return b.view(x, replace(x.shape, axis), lambda *c: [*c[:axis], position, *c[axis:]])


def crop(b: Builder, x: Tensor, axis: int, start: Expr | int, length: Expr | int) -> Tensor:
    """x[start : start + length] along `axis`; must be in range."""
    return b.view(x, replace(x.shape, axis, expr(length)), lambda *c: replace(c, axis, c[axis] + start))


def keep_axes(b: Builder, reduced: Tensor, axes: Sequence[int], keep: bool) -> Tensor:
    """A reduction's result, with its reduced `axes` back as size one if `keep`."""
    if keep:
        for axis in sorted(axes):
            reduced = unsqueeze(b, reduced, axis)
    return reduced


def spread(b: Builder, reduced: Tensor, axis: int, size: Expr) -> Tensor:
    """A tensor without `axis` repeated `size` times along a new one there."""
    shape = [*reduced.shape[:axis], size, *reduced.shape[axis:]]
    return b.view(reduced, shape, lambda *c: replace(c, axis))


def ravel(coordinates: Sequence[Expr | int], shape: Sequence[Expr]) -> Expr:
    """Row-major element number of `coordinates`."""
    linear = expr(0)
    for coordinate, size in zip(coordinates, shape, strict=True):
        linear = linear * size + coordinate
    return linear


def unravel(linear: Expr, shape: Sequence[Expr]) -> list[Expr]:
    """Coordinates in `shape` of a row-major element number."""
    return reshape_index(shape, [element_count(shape)])(linear)
