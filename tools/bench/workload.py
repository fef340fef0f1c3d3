"""What a benchmark is made of: inputs, one way to run for each contestant, and the work that one run does."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

Run = Callable[[], torch.Tensor]


@dataclass(frozen=True)
class Contestant:
    """`make(stage clock)` compiles and returns `(prepare, run)`: `run` is timed, `prepare` comes before each
    run.
    """

    make: Callable[[Any], tuple[Callable[[], object], Run]]


@dataclass(frozen=True)
class Workload:
    """One benchmark. `bytes` and `flops` are what one unit must move and compute; `units` are in one timed
    run.
    """

    contestants: dict[str, Contestant]
    bytes: float
    flops: float
    units: int = 1
    tolerance: float = 1e-3


@dataclass
class Result:
    """One contestant's figures. `seconds` is per unit; `difference`: the largest from torch eager's."""

    seconds: float = 0.0
    compile_seconds: float | None = None
    stages: dict[str, float] = field(default_factory=dict)
    peak_bytes: int = 0
    difference: float | None = None
    skipped: str = ""
