"""Scaled dot-product attention and embeddings."""

from __future__ import annotations

import math
from typing import Any

from ...dialects.symbolic import ONE
from . import composite
from .builder import Builder, Operand, Tensor
from .dropouts import dropout
from .matmul import product_wide
from .reductions import log_sum_exp
from .registry import Unsupported, converter
from .softmax import masked_softmax, softmax
from .views import permute


def attention_scores(
    b: Builder, query: Tensor, key: Tensor, mask: Tensor | None, causal: bool, scale: Operand | None
) -> Tensor:
    """query @ key^T * scale + mask in the opmath dtype; masked-out entries are -inf."""
    order = [*range(key.rank - 2), key.rank - 1, key.rank - 2]
    scores = product_wide(b, query, permute(b, key, order))
    scores = b.mul(scores, _scale(b, query, scale, scores.dtype))
    if causal:
        rows, columns = scores.shape[-2:]
        position = b.iota((rows, columns), lambda i, j: j - i)
        scores = composite.select(b, b.less_than(0, position), -math.inf, scores)
    if mask is None:
        return scores
    for size, whole in zip(reversed(mask.shape[-2:]), reversed(scores.shape[-2:]), strict=False):
        if size is not ONE:
            b.require(size, whole)
    if mask.dtype == "i1":
        return composite.select(b, mask, scores, -math.inf)
    return b.add(scores, b.cast(mask, scores.dtype))


def _scale(b: Builder, query: Tensor, scale: Operand | None, dtype: str) -> Operand:
    if scale is not None:
        return b.scalar(scale, dtype) if isinstance(scale, Tensor) else scale
    size = query.shape[-1]
    if size.is_const:
        return 1 / math.sqrt(size.value) if size.value else 1.0
    return composite.rsqrt(b, b.scalar(size, dtype))


def attention(
    b: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    causal: bool,
    scale: Operand | None,
    grouped: bool = False,
    drop: float = 0.0,
) -> Tensor:
    """softmax(scores) @ value; a row whose mask leaves nothing gives zeros. The probabilities stay in the
    opmath dtype, as in eager's fused kernel. `drop`: the probability of dropping one of them."""
    if grouped:
        key, value = (_repeat_heads(b, tensor, query) for tensor in (key, value))
    scores = attention_scores(b, query, key, mask, causal, scale)
    normalize = masked_softmax if mask is not None else softmax
    probabilities = normalize(b, scores, scores.rank - 1)
    if drop:
        probabilities = dropout(b, probabilities, drop)[0]
    return b.cast(product_wide(b, probabilities, b.cast(value, probabilities.dtype)), query.dtype)


def _repeat_heads(b: Builder, tensor: Tensor, query: Tensor) -> Tensor:
    """Grouped-query attention: head h of the query reads head h // (query heads / key heads)."""
    heads, groups = query.shape[-3], tensor.shape[-3]
    shape = [*tensor.shape[:-3], heads, *tensor.shape[-2:]]
    ratio = heads // groups
    return b.view(tensor, shape, lambda *dims: [*dims[:-3], dims[-3] // ratio, *dims[-2:]])


@converter("torch.aten.scaled_dot_product_attention")
def convert_attention(
    b: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    drop: float,
    causal: bool,
    scale: Operand | None,
    grouped: bool,
) -> Tensor:
    return attention(b, query, key, value, mask, causal, scale, grouped, drop)


@converter("torch.aten._scaled_dot_product_flash_attention_for_cpu")
def convert_flash_attention(
    b: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    drop: float,
    causal: bool,
    mask: Tensor | None,
    scale: Operand | None,
) -> tuple[Tensor, Tensor]:
    """The second result is the row-wise log of the softmax's denominator, (batch, heads, rows)."""
    if drop:
        raise Unsupported("attention with dropout, which eager's fused kernel has not either")
    if key.shape[-3] is not query.shape[-3]:
        key, value = (_repeat_heads(b, tensor, query) for tensor in (key, value))
    scores = attention_scores(b, query, key, mask, causal, scale)
    return attention(b, query, key, value, mask, causal, scale), log_sum_exp(b, scores, [scores.rank - 1])


@converter("torch.aten._scaled_dot_product_attention_math")
def convert_math_attention(
    b: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    drop: float,
    causal: bool,
    kept: Tensor | None,
    scale: Operand | None,
    grouped: bool,
) -> tuple[Tensor, Tensor]:
    """The second result is the probabilities that were applied, after dropout. A boolean mask is added like
    a number: the public operator has made it one before it comes here."""
    if kept is not None:
        raise Unsupported("a given dropout mask, which PyTorch has for its own tests only")
    mask = b.cast(mask, query.dtype) if mask is not None else None
    if grouped:
        key, value = (_repeat_heads(b, tensor, query) for tensor in (key, value))
    scores = attention_scores(b, query, key, mask, causal, scale)
    normalize = masked_softmax if mask is not None else softmax
    probabilities = normalize(b, scores, scores.rank - 1)
    if drop:
        probabilities = dropout(b, probabilities, drop)[0]
    result = b.cast(product_wide(b, probabilities, b.cast(value, probabilities.dtype)), query.dtype)
    return result, b.cast(probabilities, query.dtype)


# Embeddings.


@converter("torch.aten.embedding")
def convert_embedding(b: Builder, weight: Tensor, indices: Tensor, *_: Any) -> Tensor:
    """One row of `weight` per index."""
    shape = (*indices.shape, *weight.shape[1:])
    index = b.cast(indices, "i64")
    spread = b.view(index, shape, lambda *dims: dims[: indices.rank])
    return b.gather(weight, [spread], shape, lambda *dims: [dims[-1], *dims[indices.rank : -1]])
