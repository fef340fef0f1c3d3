"""What this machine can do: the yardsticks that achieved figures are compared with."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from ..measure import best_seconds, quiet
from .peak import peak_flops


@dataclass(frozen=True)
class Machine:
    """Memory bandwidth in bytes per second, and single-precision arithmetic in FLOP per second."""

    bandwidth: float
    flops: float
    threads: int


def measure_machine(
    known: Machine | None = None, budget: float = 0.5, timer: Callable[[], float] = time.perf_counter
) -> Machine:
    """Bandwidth: the best of summing and copying 256 MiB; arithmetic: multiply-adds on registers.

    `known`: an earlier measurement, which a disturbed one does not lower.
    """
    threads = torch.get_num_threads()
    with torch.no_grad():
        quiet()
        flops = peak_flops(threads, budget, timer)
        data = torch.ones(64 << 20)
        copy = torch.empty_like(data)
        size = data.numel() * data.element_size()
        read = size / best_seconds(data.sum, budget, timer=timer)
        moved = 2 * size / best_seconds(lambda: copy.copy_(data), budget, timer=timer)
    bandwidth = max(read, moved)
    if known is not None:
        bandwidth, flops = max(bandwidth, known.bandwidth), max(flops, known.flops)
    return Machine(bandwidth, flops, threads)
