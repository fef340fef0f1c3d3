"""PyTorch's fused operators for inference with nn.MultiheadAttention and nn.TransformerEncoderLayer, built
from linear layers, attention, activations and layer norms as eager's CPU kernels compose them."""

from __future__ import annotations

import math
from typing import Any

from . import composite, dtypes
from .activations import gelu_erf
from .builder import Builder, Tensor
from .matmul import convert_linear, product_wide
from .normalization import convert_layer_norm
from .promotion import in_opmath
from .registry import Unsupported, converter
from .shapes import expr
from .softmax import softmax
from .views import narrow, permute, reshape

_SOURCE_MASK, _PADDING_MASK, _WHOLE_MASK = range(3)


def masked(b: Builder, scores: Tensor, mask: Tensor, kind: int | None) -> Tensor:
    """-inf where the mask (made boolean) is true. Kinds: (rows, columns), (batch, columns), or whole."""
    hidden = b.cast(mask, "i1")
    if kind == _PADDING_MASK and hidden.rank == 2:
        ones = [expr(1)] * (scores.rank - 2)
        shape = [hidden.shape[0], *ones, hidden.shape[1]]
        hidden = b.view(hidden, shape, lambda *c: [c[0], c[-1]])
    elif kind not in (None, _SOURCE_MASK, _PADDING_MASK, _WHOLE_MASK):
        raise Unsupported(f"attention with mask_type {kind}")
    return composite.select(b, b.broadcast(hidden, scores.shape), -math.inf, scores)


@converter("torch.aten._masked_softmax")
def convert_masked_softmax(
    b: Builder, x: Tensor, mask: Tensor, axis: int | None = None, kind: int | None = None
) -> Tensor:
    """softmax over what the mask leaves; NaN where that is nothing."""
    wide = masked(b, b.cast(x, dtypes.opmath(x.dtype)), mask, kind)
    return b.cast(softmax(b, wide, (axis if axis is not None else -1) % x.rank), x.dtype)


def _heads(b: Builder, x: Tensor, count: int) -> Tensor:
    """(batch, rows, count * size) -> (batch, count, rows, size)"""
    size = x.shape[2] // count
    return permute(b, reshape(b, x, [x.shape[0], x.shape[1], expr(count), size]), [0, 2, 1, 3])


def multi_head_attention(
    b: Builder,
    inputs: tuple[Tensor, Tensor, Tensor],
    width: int,
    heads: int,
    in_weight: Tensor,
    in_bias: Tensor,
    out_weight: Tensor,
    out_bias: Tensor,
    mask: Tensor | None,
    mask_kind: int | None,
) -> tuple[Tensor, Tensor]:
    """(result (batch, rows, width), probabilities (batch, heads, rows, columns)). `in_weight` and `in_bias`
    hold the projections of queries, keys and values one below the other."""
    query, key, value = (
        _heads(
            b,
            convert_linear(
                b, x, narrow(b, in_weight, 0, k * width, width), narrow(b, in_bias, 0, k * width, width)
            ),
            heads,
        )
        for k, x in enumerate(inputs)
    )
    scale = 1 / math.sqrt(width // heads)
    query = in_opmath(b, lambda b, q: b.mul(q, scale), query.dtype, query)
    scores = product_wide(b, query, permute(b, key, [0, 1, 3, 2]))
    if mask is not None:
        scores = masked(b, scores, mask, mask_kind)
    probabilities = b.cast(softmax(b, scores, 3), query.dtype)
    context = b.cast(product_wide(b, probabilities, value), query.dtype)
    joined = permute(b, context, [0, 2, 1, 3])
    joined = reshape(b, joined, [joined.shape[0], joined.shape[1], expr(width)])
    return convert_linear(b, joined, out_weight, out_bias), probabilities


@converter("torch.aten._native_multi_head_attention")
def convert_native_multi_head_attention(
    b: Builder,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    width: int,
    heads: int,
    in_weight: Tensor,
    in_bias: Tensor,
    out_weight: Tensor,
    out_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average: bool = True,
    mask_kind: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The second result: the probabilities or their mean over the heads."""
    inputs = (query, key, value)
    result, probabilities = multi_head_attention(
        b, inputs, width, heads, in_weight, in_bias, out_weight, out_bias, mask, mask_kind
    )
    if not need_weights:
        return result, b.full([0], 0, query.dtype)
    if average:

        def mean(b: Builder, p: Tensor) -> Tensor:
            return b.mul(b.sum_reduce(p, [1]), 1 / heads)

        probabilities = in_opmath(b, mean, query.dtype, probabilities)
    return result, probabilities


@converter("torch.aten._transformer_encoder_layer_fwd")
def convert_encoder_layer(
    b: Builder,
    source: Tensor,
    width: int,
    heads: int,
    in_weight: Tensor,
    in_bias: Tensor,
    out_weight: Tensor,
    out_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    epsilon: float,
    *rest: Any,
) -> Tensor:
    """Attention and a feed-forward network, each with a residual and a layer norm before or after it."""
    b.require(source.shape[-1], width)
    first, second, (up, up_bias), (down, down_bias) = (tuple(rest[k : k + 2]) for k in range(0, 8, 2))
    mask, mask_kind = (*rest[8:], None, None)[:2]

    def norm(x: Tensor, parameters: tuple[Tensor, ...]) -> Tensor:
        return convert_layer_norm(b, x, [width], parameters[0], parameters[1], epsilon, False)

    def attend(x: Tensor) -> Tensor:
        return multi_head_attention(
            b, (x, x, x), width, heads, in_weight, in_bias, out_weight, out_bias, mask, mask_kind
        )[0]

    def feed_forward(x: Tensor) -> Tensor:
        hidden = convert_linear(b, x, up, up_bias)
        hidden = in_opmath(b, gelu_erf if use_gelu else composite.relu, x.dtype, hidden)
        return convert_linear(b, hidden, down, down_bias)

    if norm_first:
        x = b.add(attend(norm(source, first)), source)
        return b.add(feed_forward(norm(x, second)), x)
    x = norm(b.add(attend(source), source), first)
    return norm(b.add(feed_forward(x), x), second)
