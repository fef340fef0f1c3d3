"""Causal attention: as torch's fused function, and written out as matrix products and a softmax."""

import torch
from torch import nn
from torch.nn import functional

from .contestants import module_contestants
from .data import normal
from .workload import Workload

HEADS, SIZE = 8, 64


class Attention(nn.Module):
    """`(heads, tokens, size)` queries, keys and values to attended values of the same shape."""

    def forward(self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)


class WrittenAttention(nn.Module):
    """The same, step by step; the mask is a buffer (tokens, tokens) of zeros and -inf."""

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.mask: torch.Tensor
        self.register_buffer("mask", torch.full((tokens, tokens), -torch.inf).triu(1))

    def forward(self, queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        scores = queries @ keys.transpose(-1, -2) * queries.shape[-1] ** -0.5 + self.mask
        return torch.softmax(scores, -1) @ values


def attention(tokens: int, threads: int) -> Workload:
    """torch's scaled_dot_product_attention on one sequence."""
    return _workload(Attention(), tokens, threads)


def attention_written(tokens: int, threads: int) -> Workload:
    """Matrix product, scale, mask, softmax, matrix product."""
    return _workload(WrittenAttention(tokens), tokens, threads)


def _workload(module: nn.Module, tokens: int, threads: int) -> Workload:
    inputs = tuple(normal(1, HEADS, tokens, SIZE, seed=seed) for seed in range(3))
    visible = HEADS * tokens * (tokens + 1) / 2
    return Workload(
        module_contestants(module, inputs, threads, names=("queries", "keys", "values")),
        bytes=4.0 * 4 * HEADS * tokens * SIZE,
        flops=visible * 4 * SIZE,
    )
