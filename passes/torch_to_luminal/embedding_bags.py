"""Sums, means and maxima over bags of embedding rows (nn.EmbeddingBag), and their gradients.

Position i of the indices belongs to the bag whose offset is the last one not above i: that is a count of
offsets. Sums add the rows to their bags (`scatter`), maxima go over the positions of a bag. Positions that
hold `padding_idx` belong to no bag; an empty bag gives zeros.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...dialects.symbolic import Expr
from . import composite, dtypes
from .axes import spread
from .builder import Builder, Tensor
from .extremes import locate
from .registry import Unsupported, converter
from .shapes import expr

_SUM, _MEAN, _MAX = range(3)


@dataclass(frozen=True)
class _Bags:
    """`indices` and `bag` are i64, one per position; `bag` is past the end (`count`) at positions to skip."""

    indices: Tensor
    bag: Tensor
    count: Expr
    padding: int

    def used(self, b: Builder) -> Tensor:
        """The bag of each position, past the end where the index is the padding."""
        if self.padding < 0:
            return self.bag
        skip = composite.eq(b, self.indices, self.padding)
        return composite.select(b, skip, b.scalar(self.count, "i64"), self.bag)

    def rows(self, b: Builder, table: Tensor) -> Tensor:
        """The row of `table` for each position."""
        shape = (self.indices.shape[0], table.shape[1])
        return b.gather(table, [spread(b, self.indices, 1, shape[1])], shape, lambda i, d, at: [at, d])

    def add_up(self, b: Builder, values: Tensor) -> Tensor:
        """Sums per bag of values (positions, ...)."""
        base = b.full([self.count, *values.shape[1:]], 0, values.dtype)
        bag = b.view(self.used(b), values.shape, lambda *c: c[:1])
        return b.scatter(base, values, [bag], lambda *c: [c[-1], *c[1:-1]], "add")

    def sizes(self, b: Builder) -> Tensor:
        return self.add_up(b, b.full(self.indices.shape, 1, "i64"))


def _bags(
    b: Builder, indices: Tensor, offsets: Tensor, include_last: bool, to_the_end: bool, padding: int
) -> _Bags:
    indices, offsets = b.cast(indices, "i64"), b.cast(offsets, "i64")
    shape = (indices.shape[0], offsets.shape[0])
    begun = b.less_than(b.view(offsets, shape, lambda i, j: [j]), b.iota(shape, lambda i, j: i + 1))
    bag = b.add(b.sum_reduce(b.cast(begun, "i64"), [1]), -1)
    count = offsets.shape[0] - 1 if include_last else offsets.shape[0]
    if include_last and to_the_end:  # as in eager, the last bag goes on to the end of the indices
        bag = composite.minimum(b, bag, b.scalar(count - 1, "i64"))
    return _Bags(indices, bag, count, padding)


@converter("torch.aten._embedding_bag")
def convert_embedding_bag(
    b: Builder,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(result, bag of each position, size of each bag, row that each maximum came from). What eager's fast
    path for sums does not compute is empty or zero here too."""
    fast = b.results[1].dims == (0,)
    bags = _bags(b, indices, offsets, include_last_offset, not fast, padding_idx)
    wide = dtypes.opmath(weight.dtype)
    rows = b.cast(bags.rows(b, weight), wide)
    if per_sample_weights is not None:
        rows = b.mul(rows, spread(b, b.cast(per_sample_weights, wide), 1, rows.shape[1]))
    sizes = b.full([bags.count], 0, "i64") if mode == _SUM else bags.sizes(b)
    extra = sizes
    if mode == _MAX:
        result, extra = _maxima(b, bags, rows, sizes)
    else:
        result = bags.add_up(b, rows)
        if mode == _MEAN:
            divisor = b.cast(composite.maximum(b, sizes, 1), wide)
            result = composite.div(b, result, spread(b, divisor, 1, rows.shape[1]))
    kinds = [kind.dtype or "i64" for kind in b.results]
    bag = b.full([0], 0, "i64") if fast else bags.bag
    return b.cast(result, kinds[0]), b.cast(bag, kinds[1]), b.cast(sizes, kinds[2]), b.cast(extra, kinds[3])


@converter("torch.aten._embedding_bag_forward_only")
def convert_embedding_bag_forward(
    b: Builder, weight: Tensor, indices: Tensor, offsets: Tensor, *rest: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The same; torch's metadata has one size per offset, also where the last one begins no bag."""
    result, bag, sizes, extra = convert_embedding_bag(b, weight, indices, offsets, *rest)
    if sizes.shape != offsets.shape:
        sizes = b.scatter(b.full(offsets.shape, 0, sizes.dtype), sizes, [], lambda k: [k])
    return result, bag, sizes, extra


def _maxima(b: Builder, bags: _Bags, rows: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """(maxima, indices where they are) per bag and column."""
    shape = (bags.count, rows.shape[1], rows.shape[0])
    if rows.shape[0].bounds()[0] in (None, 0):
        raise Unsupported("maxima over bags when there may be no indices at all")
    member = composite.eq(
        b, b.view(bags.used(b), shape, lambda k, d, i: [i]), b.iota(shape, lambda k, d, i: k)
    )
    candidates = composite.select(b, member, b.view(rows, shape, lambda k, d, i: [i, d]), -math.inf)
    largest, position = locate(b, candidates, 2, True)
    at = b.gather(bags.indices, [position], position.shape, lambda k, d, i: [i])
    filled = spread(b, b.less_than(0, sizes), 1, rows.shape[1])
    return composite.select(b, filled, largest, 0), composite.select(b, filled, at, 0)


@converter("torch.aten._embedding_bag_dense_backward")
def convert_embedding_bag_backward(
    b: Builder,
    grad: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    max_indices: Tensor,
    count: int | Expr,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Tensor:
    """The gradient of the table of embeddings."""
    if scale_grad_by_freq:
        raise Unsupported("scale_grad_by_freq: eager divides by the frequencies of other rows on the CPU")
    wide, columns = dtypes.opmath(grad.dtype), grad.shape[1]
    base = b.full([count, columns], 0, wide)
    if mode == _MAX:
        filled = spread(b, b.less_than(0, b.cast(bag_size, "i64")), 1, columns)
        row = composite.select(b, filled, b.cast(max_indices, "i64"), b.scalar(count, "i64"))
        summed = b.scatter(base, b.cast(grad, wide), [row], lambda k, d, at: [at, d], "add")
        return b.cast(summed, grad.dtype)
    bags = _Bags(b.cast(indices, "i64"), b.cast(offset2bag, "i64"), grad.shape[0], padding_idx)
    if mode == _MEAN:
        divisor = b.cast(composite.maximum(b, b.cast(bag_size, "i64"), 1), wide)
        grad = composite.div(b, b.cast(grad, wide), spread(b, divisor, 1, columns))
    values = _Bags(bags.bag, bags.bag, grad.shape[0], -1).rows(b, b.cast(grad, wide))
    if per_sample_weights is not None:
        values = b.mul(values, spread(b, b.cast(per_sample_weights, wide), 1, columns))
    row = bags.indices
    if padding_idx >= 0:
        row = composite.select(b, composite.eq(b, row, padding_idx), b.scalar(count, "i64"), row)
    summed = b.scatter(base, values, [spread(b, row, 1, columns)], lambda i, d, at: [at, d], "add")
    return b.cast(summed, b.results[0].dtype or grad.dtype)


@converter("torch.aten._embedding_bag_backward")
def convert_sparse_or_dense_backward(
    b: Builder,
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    max_indices: Tensor,
    count: int | Expr,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Tensor:
    """Where the forward left the bags of the positions out (sums), they are found again."""
    if sparse:
        raise Unsupported("the sparse gradient of an embedding")
    if offset2bag.shape[0] is expr(0):
        offset2bag = _bags(b, indices, offsets, False, True, padding_idx).bag
    return convert_embedding_bag_backward(
        b, grad, indices, offset2bag, bag_size, max_indices, count, scale_grad_by_freq, mode,
        per_sample_weights, padding_idx,
    )  # fmt: skip


@converter("torch.aten._embedding_bag_per_sample_weights_backward")
def convert_per_sample_weights_backward(
    b: Builder,
    grad: Tensor,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    mode: int,
    padding_idx: int = -1,
) -> Tensor:
    """For each position the product of its row with the gradient of its bag."""
    bags = _bags(b, indices, offsets, False, True, padding_idx)
    wide = dtypes.opmath(weight.dtype)
    grads = _Bags(bags.bag, bags.bag, bags.count, -1).rows(b, b.cast(grad, wide))
    result = b.sum_reduce(b.mul(grads, b.cast(bags.rows(b, weight), wide)), [1])
    if padding_idx >= 0:
        result = composite.select(b, composite.eq(b, bags.indices, padding_idx), 0, result)
    return b.cast(result, weight.dtype)
