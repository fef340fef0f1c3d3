"""tril_indices and triu_indices: every position of the grid writes its coordinates where they belong."""

from __future__ import annotations

from typing import Any

from . import composite
from .axes import spread
from .builder import Builder, Tensor
from .dtypes import from_scalar_type
from .registry import converter
from .shapes import expr


def _indices(b: Builder, rows: int, columns: int, offset: int, lower: bool, dtype: str) -> Tensor:
    """(2, count): coordinates (row, column) in row-major order with column - row <= offset (lower) or >=."""
    lengths = [
        min(max(row + offset + 1, 0), columns) if lower else columns - min(max(row + offset, 0), columns)
        for row in range(rows)
    ]
    total = sum(lengths)
    shape = (expr(rows), expr(columns))
    # Row r has clamp(r + offset + 1, 0, columns) elements to the left of the diagonal's end.
    edge = b.iota([rows], lambda r: r + (offset + 1 if lower else offset))
    edge = composite.minimum(b, composite.maximum(b, edge, 0), columns)
    length = edge if lower else composite.sub(b, columns, edge)
    pairs = (expr(rows), expr(rows))
    before = b.cast(b.less_than(b.iota(pairs, lambda r, i: i - r), 0), "i64")
    start = b.sum_reduce(b.mul(b.view(length, pairs, lambda r, i: [i]), before), [1])
    column = b.iota(shape, lambda r, c: c)
    inside = b.less_than(column, spread(b, edge, 1, shape[1]))
    if not lower:
        inside = composite.logical_not(b, inside)
        start = composite.sub(b, start, edge)
    place = composite.select(b, inside, b.add(spread(b, start, 1, shape[1]), column), total)
    result = b.full([2, total], 0, "i64")
    for axis in range(2):
        coordinate = b.iota(shape, lambda *c, axis=axis: c[axis])
        result = b.scatter(result, coordinate, [place], lambda r, c, at, axis=axis: [axis, at])
    return b.cast(result, dtype)


def _register(name: str, lower: bool) -> None:
    @converter(f"torch.aten.{name}")
    def convert(
        b: Builder, rows: Any, columns: Any, offset: Any = 0, dtype: int | None = 4, *_: Any
    ) -> Tensor:
        target = "i64" if dtype is None else from_scalar_type(dtype)
        return _indices(b, b.static(rows), b.static(columns), b.static(offset), lower, target)


for _name, _lower in (("tril_indices", True), ("triu_indices", False)):
    _register(_name, _lower)
