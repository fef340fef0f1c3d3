"""Matrix products with constant weights, which every compiler may pack beforehand."""

from collections.abc import Callable

import torch
from torch import nn

from ..measure import StageClock
from .contestants import module_contestants, nothing
from .data import normal
from .workload import Contestant, Run, Workload


class Linear(nn.Module):
    """A linear layer and relu on square matrices."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


def mlp(threads: int) -> Workload:
    """64 rows through 1024 -> 4096 -> 1024 with GELU."""
    rows, width, inner = 64, 1024, 4096
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width)).eval()
    return Workload(
        module_contestants(module, (normal(rows, width, seed=0),), threads),
        bytes=4.0 * (2 * width * inner + 2 * rows * width),
        flops=4.0 * rows * width * inner,
    )


def matmul(side: int, threads: int) -> Workload:
    """A square linear layer with relu, beside oneDNN's own packed product."""
    torch.manual_seed(0)
    module = Linear(side).eval()
    x = normal(side, side, seed=0)
    contestants = module_contestants(module, (x,), threads)
    if torch.backends.mkldnn.is_available():
        contestants["onednn"] = _onednn(module.linear, x)
    return Workload(contestants, bytes=12.0 * side * side, flops=2.0 * side**3)


def _onednn(linear: nn.Linear, x: torch.Tensor) -> Contestant:
    """oneDNN with its weights reordered once, bias and relu fused: what Inductor calls when it freezes."""

    def make(_clock: StageClock) -> tuple[Callable[[], object], Run]:
        packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), x.shape[0])
        bias = linear.bias.detach()
        return nothing, lambda: torch.ops.mkldnn._linear_pointwise(x, packed, bias, "relu", [], "")

    return Contestant(make)
