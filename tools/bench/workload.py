"""What a benchmark is made of: inputs, one way to run for each contestant, and the work that one run does."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

Run = Callable[[], torch.Tensor]
Make = Callable[[Any], tuple[Callable[[], object], Run]]


@dataclass(frozen=True)
class Contestant:
    """`make(stage clock)` compiles and returns `(prepare, run)`: `run` is timed, `prepare` comes before each
    run.

    `packages`: modules that it needs, all of the `[bench]` extra. `compiler`: it needs a C++ compiler.
    `planned`: once it has run, the temporary memory in bytes that it planned for, and its packed weights.
    """

    make: Make
    packages: tuple[str, ...] = ()
    compiler: bool = False
    planned: Callable[[], tuple[int, int]] | None = None


@dataclass(frozen=True)
class Workload:
    """One benchmark. `bytes` and `flops` are what one unit must move and compute; `units` are in one timed
    run. `tolerance` is relative to the largest number of eager's result.
    """

    contestants: dict[str, Contestant]
    bytes: float
    flops: float
    units: int = 1
    tolerance: float = 1e-3


@dataclass
class Result:
    """One contestant's figures, seconds per unit.

    `seconds`: the fastest run; `median`: of all runs. `difference`: the largest from torch eager's result,
    absolute. `run_bytes`: growth of the process's resident memory in one run, results included.
    `planned_bytes`, `packed_bytes`: luminal's own plan, exact. `skipped`: why there are no figures.
    """

    seconds: float = 0.0
    median: float = 0.0
    runs: int = 0
    compile_seconds: float | None = None
    stages: dict[str, float] = field(default_factory=dict)
    run_bytes: int = 0
    planned_bytes: int | None = None
    packed_bytes: int | None = None
    difference: float | None = None
    skipped: str = ""
