"""Running one workload: every contestant in a block of its own, eager first as the reference."""

import shutil
import time
from collections.abc import Callable, Sequence

import torch

from luminal.errors import RuntimeFailure

from ..measure import StageClock, measured_block
from .workload import Contestant, Result, Run, Workload


def run_workload(
    name: str, workload: Workload, contestants: Sequence[str], budget: float
) -> dict[str, Result]:
    """Figures by contestant. Raises RuntimeFailure if a result is further from eager's than the workload
    allows.
    """
    results: dict[str, Result] = {}
    reference: torch.Tensor | None = None
    for who in ("eager", "luminal", "inductor"):
        if who not in contestants:
            continue
        if who == "inductor" and not any(map(shutil.which, ("c++", "g++", "clang++"))):
            results[who] = Result(skipped="no C++ compiler")
            continue
        results[who], output = _measure(name, who, workload, workload.contestants[who], budget)
        if reference is None:
            reference = output if who == "eager" else None
            continue
        difference = float((output - reference).abs().max())
        results[who].difference = difference
        if not difference <= workload.tolerance * max(1.0, float(reference.abs().max())):
            raise RuntimeFailure(f"{name}: {who}'s result differs from torch eager's by {difference:.2e}")
    return results


def _measure(
    name: str, who: str, workload: Workload, contestant: Contestant, budget: float
) -> tuple[Result, torch.Tensor]:
    with torch.no_grad(), measured_block() as peak:
        clock = StageClock(f"{name}: {who}")
        start = time.perf_counter()
        prepare, run = contestant.make(clock)
        prepare()
        output = run().clone()
        compile_seconds = time.perf_counter() - start
        if clock.seconds:
            clock.done()
        seconds = _median_seconds(prepare, run, budget) / workload.units
    compiled = None if who == "eager" else compile_seconds
    return Result(seconds, compiled, dict(clock.seconds), peak.bytes), output


def _median_seconds(prepare: Callable[[], object], run: Run, budget: float) -> float:
    """The median of the runs that fit into `budget` seconds, at least three."""
    samples: list[float] = []
    end = time.perf_counter() + budget
    while len(samples) < 3 or time.perf_counter() < end:
        prepare()
        start = time.perf_counter()
        run()
        samples.append(time.perf_counter() - start)
    return sorted(samples)[len(samples) // 2]
