"""Small blocks in the shape of well-known models, with random weights, for the fuzzer and its tests."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

Block = tuple[nn.Module, tuple[torch.Tensor, ...]]


class RmsNorm(nn.Module):
    """x / sqrt(mean(x^2) + eps) * (offset + weight) over the last axis."""

    def __init__(self, width: int, offset: float = 0.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width) * 0.1 + 1 - offset)
        self.offset = offset

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * (self.offset + self.weight)


def rotate(x: torch.Tensor) -> torch.Tensor:
    """Rotary positions 0, 1, ... of (batch, heads, length, size)."""
    length, size = x.shape[-2:]
    angle = torch.arange(length)[:, None] * 100.0 ** (-torch.arange(0, size, 2) / size)
    cos, sin = (torch.cat([f(angle)] * 2, -1) for f in (torch.cos, torch.sin))
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class Attention(nn.Module):
    """(batch, length, width) attends to `other` (or itself), with `groups` key heads."""

    def __init__(self, width: int, heads: int, groups: int, causal: bool, rope: bool = False) -> None:
        super().__init__()
        self.heads, self.groups, self.size, self.causal, self.rope = (
            heads,
            groups,
            width // heads,
            causal,
            rope,
        )
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, other: torch.Tensor | None = None, mask: torch.Tensor | None = None):
        source = x if other is None else other
        q = self.q(x).unflatten(-1, (self.heads, self.size)).transpose(1, 2)
        k = self.k(source).unflatten(-1, (self.groups, self.size)).transpose(1, 2)
        v = self.v(source).unflatten(-1, (self.groups, self.size)).transpose(1, 2)
        if self.rope:
            q, k = rotate(q), rotate(k)
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.size)
        if self.causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
        if mask is not None:
            scores = scores + mask
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Llama(nn.Module):
    """Embedding, rotary grouped attention, gated feed-forward; `gemma` has its variants."""

    def __init__(self, gemma: bool = False) -> None:
        super().__init__()
        self.gemma = gemma
        self.embedding = nn.Embedding(20, 16)
        offset = 1.0 if gemma else 0.0
        self.norms = nn.ModuleList(RmsNorm(16, offset) for _ in range(3))
        self.attention = Attention(16, 4, 1 if gemma else 2, causal=True, rope=True)
        self.gate, self.up, self.down = nn.Linear(16, 24), nn.Linear(16, 24), nn.Linear(24, 16)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids) * (4.0 if self.gemma else 1.0)
        x = x + self.attention(self.norms[0](x))
        hidden = self.norms[1](x)
        gate = F.gelu(self.gate(hidden), approximate="tanh") if self.gemma else F.silu(self.gate(hidden))
        x = x + self.down(gate * self.up(hidden))
        logits = self.norms[2](x) @ self.embedding.weight.t()
        return torch.tanh(logits / 5.0) * 5.0 if self.gemma else logits


class Mixture(nn.Module):
    """A router chooses 2 of 4 gated experts per token and normalises their weights."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(12, 4, bias=False)
        self.up = nn.Parameter(torch.randn(4, 12, 16) * 0.3)
        self.down = nn.Parameter(torch.randn(4, 8, 12) * 0.3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = self.router(x).softmax(-1).topk(2, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        gate, up = torch.einsum("tw,tkwh->tkh", x, self.up[chosen]).chunk(2, -1)
        return torch.einsum("tkh,tkhw,tk->tw", F.silu(gate) * up, self.down[chosen], weights)


class Bert(nn.Module):
    """Masked self-attention and feed-forward, each followed by a layer norm."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.position = nn.Embedding(20, 16), nn.Embedding(8, 16)
        self.attention = Attention(16, 2, 2, causal=False)
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(3))
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, ids: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
        x = self.norms[0](self.embedding(ids) + self.position(torch.arange(ids.shape[1])))
        mask = torch.where(visible[:, None, None, :] > 0, 0.0, torch.finfo(torch.float32).min)
        x = self.norms[1](x + self.attention(x, mask=mask))
        x = self.norms[2](x + self.down(F.gelu(self.up(x))))
        return (x * visible[..., None]).sum(1) / visible.sum(1, keepdim=True)


class Vit(nn.Module):
    """Patches, a class token, one pre-norm layer."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, 4)
        self.token, self.position = nn.Parameter(torch.randn(1, 1, 16)), nn.Parameter(torch.randn(1, 5, 16))
        self.attention = Attention(16, 2, 2, causal=False)
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(2))
        self.up, self.down, self.head = nn.Linear(16, 32), nn.Linear(32, 16), nn.Linear(16, 5)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.position
        x = x + self.attention(self.norms[0](x))
        x = x + self.down(F.gelu(self.up(self.norms[1](x))))
        return self.head(x[:, 0]).log_softmax(-1)


class Convolutions(nn.Module):
    """Strided, depthwise and pointwise convolutions, batch norm, a residual, pooling and upsampling."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, 2, 1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.norm.running_mean = torch.randn(8) * 0.1
        self.norm.running_var = torch.rand(8) + 0.5
        self.depthwise, self.pointwise = nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.Conv2d(8, 8, 1)
        self.head = nn.Linear(8, 4)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.first(image))), 3, 1, 1)
        x = F.relu(x + self.pointwise(F.hardswish(self.depthwise(x))))
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1)).softmax(-1)


class Whisper(nn.Module):
    """Convolved audio frames; a decoder position attends to itself and to them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv1d(6, 16, 3, padding=1), nn.Conv1d(16, 16, 3, 2, 1)
        self.embedding = nn.Embedding(20, 16)
        self.own, self.cross = Attention(16, 2, 2, causal=True), Attention(16, 2, 2, causal=False)
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(3))

    def forward(self, audio: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        frames = self.norms[0](F.gelu(self.second(F.gelu(self.first(audio)))).transpose(1, 2))
        x = self.embedding(ids)
        x = x + self.own(self.norms[1](x))
        x = x + self.cross(self.norms[2](x), frames)
        return x @ self.embedding.weight.t()


def _ids(length: int) -> torch.Tensor:
    return torch.randint(0, 20, (2, length))


BLOCKS: dict[str, Callable[[], Block]] = {
    "llama": lambda: (Llama(), (_ids(5),)),
    "gemma": lambda: (Llama(gemma=True), (_ids(5),)),
    "moe": lambda: (Mixture(), (torch.randn(3, 12),)),
    "bert": lambda: (Bert(), (_ids(4), torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]]))),
    "vit": lambda: (Vit(), (torch.randn(2, 3, 8, 8),)),
    "conv": lambda: (Convolutions(), (torch.randn(2, 3, 8, 8),)),
    "whisper": lambda: (Whisper(), (torch.randn(2, 6, 8), _ids(3))),
}


def build_block(name: str, seed: int = 0) -> Block:
    """A block in evaluation mode and its inputs, from a fixed seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module, inputs = BLOCKS[name]()
    return module.eval(), inputs
