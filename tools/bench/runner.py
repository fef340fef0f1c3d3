"""Running one workload: every contestant is built and compared with eager, then all take turns.

Turns are short and go round several times, so that whatever else the machine does meets all of them alike.
"""

import importlib.util
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from luminal.errors import LuminalError, RuntimeFailure

from ..measure import StageClock, measured_block, quiet, resident_memory
from .workload import Contestant, Result, Run, Workload

ROUNDS = 5
OWN = "luminal"
"""A name that begins so is ours: if it is wrong, there is no measurement at all."""


@dataclass
class _Entrant:
    prepare: Callable[[], object]
    run: Run
    samples: list[float] = field(default_factory=list)


def run_workload(
    name: str,
    workload: Workload,
    contestants: Sequence[str],
    budget: float,
    rounds: int = ROUNDS,
    timer: Callable[[], float] = time.perf_counter,
) -> dict[str, Result]:
    """Figures by contestant, in the order given, eager first; `budget`: seconds that each runs in all, as
    `timer` counts them.

    A contestant that lacks its packages, fails or differs from eager is skipped with the reason. Raises
    RuntimeFailure if that is luminal's result, and LuminalError if luminal fails.
    """
    results: dict[str, Result] = {}
    entrants: dict[str, _Entrant] = {}
    reference: torch.Tensor | None = None
    with torch.no_grad():
        for who in sorted(contestants, key=lambda who: who != "eager"):
            contestant = workload.contestants.get(who)
            if contestant is None:
                continue
            missing = _missing(contestant)
            if missing:
                results[who] = Result(skipped=missing)
                continue
            try:
                entrant, results[who], output = _build(f"{name}: {who}", contestant)
            except Exception as error:
                if who.startswith(OWN) or who == "eager":
                    raise
                results[who] = Result(skipped=f"failed: {_first_line(error)}")
                continue
            if who == "eager":
                reference = output
            elif reference is not None:
                wrong = _compare(results[who], output, reference, workload.tolerance)
                if wrong and who.startswith(OWN):
                    raise RuntimeFailure(f"{name}: {who}'s {wrong}")
                if wrong:
                    results[who] = Result(skipped=wrong)
                    continue
            entrants[who] = entrant
        _take_turns(list(entrants.values()), budget / rounds, rounds, timer)
    torch.compiler.reset()
    for who, entrant in entrants.items():
        samples = sorted(sample / workload.units for sample in entrant.samples)
        results[who].seconds, results[who].median = samples[0], samples[len(samples) // 2]
        results[who].runs = len(samples)
    return results


def _missing(contestant: Contestant) -> str:
    """Why the contestant cannot be built here; empty if it can."""
    absent = [name for name in contestant.packages if importlib.util.find_spec(name) is None]
    if absent:
        return f"{', '.join(absent)} not installed; pip install 'luminal[bench]'"
    if contestant.compiler and not any(map(shutil.which, ("c++", "g++", "clang++"))):
        return "no C++ compiler"
    return ""


def _build(label: str, contestant: Contestant) -> tuple[_Entrant, Result, torch.Tensor]:
    clock = StageClock(label)
    quiet()
    start = time.perf_counter()
    prepare, run = contestant.make(clock)
    prepare()
    output = run().clone()
    compile_seconds = time.perf_counter() - start + clock.shared
    if clock.seconds:
        clock.done()
    prepare()
    before = resident_memory()
    with measured_block() as peak:
        run()
    result = Result(compile_seconds=compile_seconds, stages=dict(clock.seconds))
    result.run_bytes = max(peak.bytes - before, 0)
    if contestant.planned is not None:
        result.planned_bytes, result.packed_bytes = contestant.planned()
    return _Entrant(prepare, run), result, output


def _compare(result: Result, output: torch.Tensor, reference: torch.Tensor, tolerance: float) -> str:
    """Records the difference; what is wrong with it, if anything."""
    difference = float((output - reference).abs().max())
    result.difference = difference
    if difference <= tolerance * max(1.0, float(reference.abs().max())):
        return ""
    return f"result differs from torch eager's by {difference:.2e}"


def _take_turns(entrants: list[_Entrant], turn: float, rounds: int, timer: Callable[[], float]) -> None:
    """Each round starts with another entrant. The first run of a turn warms caches and threads, untimed."""
    for number in range(rounds):
        first = number % max(len(entrants), 1)
        for entrant in entrants[first:] + entrants[:first]:
            quiet()
            entrant.prepare()
            entrant.run()
            end = timer() + turn
            while True:
                entrant.prepare()
                start = timer()
                entrant.run()
                stop = timer()
                entrant.samples.append(stop - start)
                if stop >= end:
                    break


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    kind = "" if isinstance(error, LuminalError) else f"{type(error).__name__}: "
    return f"{kind}{text.splitlines()[0][:120]}"
