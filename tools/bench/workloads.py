"""The table of benchmarks: tensor programs here, whole models in `model_workloads`."""

from collections.abc import Callable

import torch
from torch.nn import functional

from ..measure import StageClock
from .model_workloads import decode, embed, images, prefill
from .workload import Contestant, Run, Workload


def build_workload(name: str, threads: int) -> Workload:
    """The workload of that name; luminal runs with `threads` worker threads (0: all processors)."""
    return BUILDERS[name](threads)


def _pointwise(threads: int) -> Workload:
    class Pointwise(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            gated = torch.tanh(x) * torch.sigmoid(y)
            return torch.where(x > 0, gated, torch.exp(-y * y)) / (1 + x * x)

    size = 8 << 20
    inputs = (_normal(size, seed=0), _normal(size, seed=1))
    return Workload(_same_module(Pointwise(), inputs, threads), bytes=12.0 * size, flops=20.0 * size)


def _norm(threads: int) -> Workload:
    class Norm(torch.nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.softmax(functional.gelu(self.norm(x)), dim=-1)

    rows, width = 4096, 2048
    inputs = (_normal(rows, width, seed=0),)
    return Workload(
        _same_module(Norm(width), inputs, threads), bytes=8.0 * rows * width, flops=40.0 * rows * width
    )


def _matmul(threads: int) -> Workload:
    class Linear(torch.nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(width, width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.linear(x))

    side = 1024
    inputs = (_normal(side, side, seed=0),)
    return Workload(
        _same_module(Linear(side), inputs, threads), bytes=12.0 * side * side, flops=2.0 * side**3
    )


def _normal(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _same_module(
    module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], threads: int
) -> dict[str, Contestant]:
    """All contestants on one module and its inputs, with static shapes."""

    def by_luminal(clock: StageClock) -> tuple[Callable[[], object], Run]:
        import luminal

        options = luminal.CompileOptions(threads=threads, progress=clock)
        compiled = luminal.compile(module, inputs, options=options)
        return _nothing, lambda: compiled(*inputs)

    def by_inductor(_clock: StageClock) -> tuple[Callable[[], object], Run]:
        compiled = torch.compile(module)
        return _nothing, lambda: compiled(*inputs)

    eager = Contestant(lambda _clock: (_nothing, lambda: module(*inputs)))
    return {"eager": eager, "luminal": Contestant(by_luminal), "inductor": Contestant(by_inductor)}


def _nothing() -> None:
    """No preparation."""


BUILDERS: dict[str, Callable[[int], Workload]] = {
    "decode": decode,
    "prefill": prefill,
    "embed": embed,
    "images": images,
    "pointwise": _pointwise,
    "norm": _norm,
    "matmul": _matmul,
}
