"""Inputs of the benchmarks."""

import torch


def normal(*shape: int, seed: int) -> torch.Tensor:
    """Standard normal float32 numbers, the same for the same seed."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
