"""The table of benchmarks: tensor programs here, whole models in `model_workloads`."""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from .attention_workloads import attention, attention_written
from .contestants import module_contestants
from .data import normal
from .linear_workloads import matmul, mlp
from .model_workloads import decode, embed, images, prefill
from .workload import Workload


def build_workload(name: str, threads: int) -> Workload:
    """The workload of that name; all contestants run with `threads` threads (0: all processors)."""
    return BUILDERS[name](threads)


class Pointwise(nn.Module):
    """Transcendental functions, a condition and a division."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        gated = torch.tanh(x) * torch.sigmoid(y)
        return torch.where(x > 0, gated, torch.exp(-y * y)) / (1 + x * x)


class Norm(nn.Module):
    """Layer norm, gelu and softmax over rows."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(functional.gelu(self.norm(x)), dim=-1)


def _pointwise(threads: int) -> Workload:
    size = 8 << 20
    inputs = (normal(size, seed=0), normal(size, seed=1))
    return Workload(module_contestants(Pointwise(), inputs, threads), bytes=12.0 * size, flops=20.0 * size)


def _norm(threads: int) -> Workload:
    rows, width = 4096, 2048
    inputs = (normal(rows, width, seed=0),)
    return Workload(
        module_contestants(Norm(width), inputs, threads), bytes=8.0 * rows * width, flops=40.0 * rows * width
    )


def _conv(channels: int, side: int, kernel: int, stride: int, groups: int) -> Callable[[int], Workload]:
    """One image through a convolution, batch norm and relu, `channels` in and out."""

    def build(threads: int) -> Workload:
        torch.manual_seed(0)
        conv = nn.Conv2d(channels, channels, kernel, stride, kernel // 2, groups=groups, bias=False)
        module = nn.Sequential(conv, nn.BatchNorm2d(channels), nn.ReLU()).eval()
        pixels, result = channels * side**2, channels * (side // stride) ** 2
        return Workload(
            module_contestants(module, (normal(1, channels, side, side, seed=0),), threads),
            bytes=4.0 * (pixels + result + conv.weight.numel()),
            flops=2.0 * result * conv.weight[0].numel(),
        )

    return build


BUILDERS: dict[str, Callable[[int], Workload]] = {
    "decode": decode,
    "prefill": prefill,
    "embed": embed,
    "images": images,
    "mlp": mlp,
    "pointwise": _pointwise,
    "norm": _norm,
    "attention": lambda threads: attention(1024, threads),
    "attention-written": lambda threads: attention_written(1024, threads),
    "attention-4096": lambda threads: attention(4096, threads),
    "matmul-512": lambda threads: matmul(512, threads),
    "matmul": lambda threads: matmul(1024, threads),
    "matmul-2048": lambda threads: matmul(2048, threads),
    "conv-1x1": _conv(256, 14, 1, 1, 1),
    "conv-3x3": _conv(128, 28, 3, 1, 1),
    "conv-strided": _conv(64, 56, 3, 2, 1),
    "conv-depthwise": _conv(384, 28, 3, 1, 384),
}
