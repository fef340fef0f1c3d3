"""Triangles, flips, rolls, one-hot and diagonal matrices: index maps, and masks where values are dropped."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.symbolic import Expr
from . import composite
from .axes import flatten, reshape
from .builder import Builder, Tensor
from .registry import Unsupported, converter
from .shapes import expr, normalize_axis
from .views import convert_diagonal


@converter("torch.aten.tril")
def convert_tril(b: Builder, x: Tensor, diagonal: int | Expr = 0) -> Tensor:
    """x where column - row <= diagonal, else 0."""
    distance = b.iota(x.shape, lambda *c: c[-1] - c[-2] - diagonal)
    return composite.select(b, b.less_than(distance, 1), x, 0)


@converter("torch.aten.triu")
def convert_triu(b: Builder, x: Tensor, diagonal: int | Expr = 0) -> Tensor:
    """x where column - row >= diagonal, else 0."""
    distance = b.iota(x.shape, lambda *c: c[-1] - c[-2] - diagonal)
    return composite.select(b, b.less_than(distance, 0), 0, x)


def diagonal_coordinates(c: Sequence[Expr], offset: int, first: int, second: int) -> list[Expr]:
    """Coordinates of element c[-1] of the diagonal between axes `first` and `second`; the others in order."""
    kept = list(c[:-1])
    placed = {first: c[-1] + max(-offset, 0), second: c[-1] + max(offset, 0)}
    for axis in sorted(placed):
        kept.insert(axis, placed[axis])
    return kept


@converter("torch.aten.flip")
def convert_flip(b: Builder, x: Tensor, dims: Sequence[int]) -> Tensor:
    axes = {normalize_axis(dim, x.rank) for dim in dims}

    def index(*c: Expr) -> list[Expr]:
        return [x.shape[axis] - 1 - d if axis in axes else d for axis, d in enumerate(c)]

    return b.view(x, x.shape, index)


@converter("torch.aten.roll")
def convert_roll(
    b: Builder, x: Tensor, shifts: Sequence[int | Expr] | int | Expr, dims: Sequence[int] | int = ()
) -> Tensor:
    amounts = list(shifts) if isinstance(shifts, Sequence) else [shifts]
    axes = [dims] if isinstance(dims, int) else list(dims)
    if not axes:
        return reshape(b, convert_roll(b, flatten(b, x), amounts, [0]), x.shape)
    total: dict[int, Expr] = {}
    for amount, dim in zip(amounts, axes, strict=True):
        axis = normalize_axis(dim, x.rank)
        total[axis] = total.get(axis, expr(0)) + amount

    def index(*c: Expr) -> list[Expr]:
        return [
            (d - total[axis]) % x.shape[axis] if axis in total and x.shape[axis] is not expr(0) else d
            for axis, d in enumerate(c)
        ]

    return b.view(x, x.shape, index)


@converter("torch.aten.one_hot")
def convert_one_hot(b: Builder, x: Tensor, classes: int | Expr = -1) -> Tensor:
    if isinstance(classes, int) and classes < 0:
        raise Unsupported("one_hot without num_classes gives a shape that depends on data")
    shape = [*x.shape, expr(classes)]
    value = b.view(x, shape, lambda *c: c[:-1])
    return b.cast(composite.eq(b, value, b.cast(b.iota(shape, lambda *c: c[-1]), x.dtype)), "i64")


@converter("torch.aten.trace")
def convert_trace(b: Builder, x: Tensor) -> Tensor:
    diagonal = convert_diagonal(b, x, 0, 0, 1)
    result = b.results[0].dtype or x.dtype
    return b.sum_reduce(b.cast(diagonal, result), [0])


@converter("torch.aten.diag_embed")
def convert_diag_embed(b: Builder, x: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    first, second = normalize_axis(dim1, x.rank + 1), normalize_axis(dim2, x.rank + 1)
    side = x.shape[-1] + abs(offset)
    shape = list(x.shape[:-1])
    for axis in sorted((first, second)):
        shape.insert(axis, side)
    base = b.full(shape, 0, x.dtype)
    return b.scatter(base, x, [], lambda *c: diagonal_coordinates(c, offset, first, second))


@converter("torch.aten.as_strided", "torch.aten.as_strided_copy", "torch.aten.as_strided_scatter")
def refuse_as_strided(b: Builder, *operands: object) -> Tensor:
    raise Unsupported("as_strided reads the memory behind a tensor; use slicing, transpose, expand or unfold")
