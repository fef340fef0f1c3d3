"""What this machine can do: the yardsticks that achieved figures are compared with."""

from dataclasses import dataclass

import torch

from ..measure import best_seconds, measured_block


@dataclass(frozen=True)
class Machine:
    """Memory bandwidth for reading in bytes per second, and single-precision matrix arithmetic in FLOP per
    second.
    """

    bandwidth: float
    flops: float
    threads: int


def measure_machine() -> Machine:
    """Bandwidth: the best of summing and copying 256 MiB; arithmetic: torch's best square matrix product."""
    with torch.no_grad(), measured_block():
        data = torch.ones(64 << 20)
        copy = torch.empty_like(data)
        size = data.numel() * data.element_size()
        read = size / best_seconds(lambda: data.sum(), 0.5)
        moved = 2 * size / best_seconds(lambda: copy.copy_(data), 0.5)
        flops = 0.0
        for side in (1024, 1536, 2048):
            left, right = torch.randn(side, side), torch.randn(side, side)
            flops = max(flops, 2 * side**3 / best_seconds(lambda a=left, b=right: a @ b, 0.3))  # type: ignore[misc]
    return Machine(max(read, moved), flops, torch.get_num_threads())
