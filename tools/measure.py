"""Measuring within one process: peak memory of a block, quiet time between blocks, compile time per stage."""

import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# torch.export warns of a deprecation within torch itself.
warnings.filterwarnings("ignore", message=".*LeafSpec", category=FutureWarning)

QUIET_SECONDS = 0.5
"""torch's worker threads keep spinning after their last job; a block that follows at once would share the
cores.
"""


@dataclass
class Peak:
    """Peak resident memory of a block, in bytes, once the block has ended."""

    bytes: int = 0


@contextmanager
def measured_block() -> Iterator[Peak]:
    """A time block of its own: waits until other threads are quiet, then records the block's peak memory.

    Where the system cannot restart its peak counter (only Linux can), the peak is the process's so far.
    """
    quiet()
    restart_peak()
    peak = Peak()
    try:
        yield peak
    finally:
        peak.bytes = peak_memory()


def quiet() -> None:
    """Wait until other threads sleep."""
    time.sleep(QUIET_SECONDS)


def resident_memory() -> int:
    """Resident memory in bytes now; where the system does not tell, the process's peak so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_memory()
    return pages * resource.getpagesize()


def restart_peak() -> None:
    """Set the peak counter to the memory in use now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_memory() -> int:
    """Peak resident memory in bytes since `restart_peak`."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def best_seconds(
    run: Callable[[], object],
    budget: float,
    least: int = 3,
    timer: Callable[[], float] = time.perf_counter,
) -> float:
    """The fastest of repeated runs within `budget` seconds of `timer` (at least `least` runs, after one to
    warm up).
    """
    run()
    best, runs = float("inf"), 0
    end = timer() + budget
    while runs < least or timer() < end:
        start = timer()
        run()
        best = min(best, timer() - start)
        runs += 1
    return best


class StageClock:
    """A progress callback for luminal's compile options that sums seconds by stage and shows the stages on
    stderr. `shared`: seconds of stages that were done before, for someone else.
    """

    def __init__(self, label: str, show: bool = True) -> None:
        self.seconds: dict[str, float] = {}
        self.shared = 0.0
        self._label, self._show = label, show and sys.stderr.isatty()
        self._verbose = show and not self._show

    def __call__(self, stage: str, seconds: float | None) -> None:
        if seconds is None:
            if self._show:
                print(f"\r\x1b[K{self._label}: {stage} ...", end="", file=sys.stderr, flush=True)
            return
        self.seconds[stage] = seconds
        if self._verbose and "/" not in stage:
            print(f"{self._label}: {stage} {seconds:.2f} s", file=sys.stderr, flush=True)

    def stage_of(self, program: str, stage: str, seconds: float | None) -> None:
        """As the clock itself, for one of several programs: its stages are named `program: stage`."""
        self(f"{program}: {stage}", seconds)

    @property
    def total(self) -> float:
        return sum(seconds for stage, seconds in self.seconds.items() if "/" not in stage)

    def done(self) -> None:
        """End the progress line with the total."""
        start = "\r\x1b[K" if self._show else ""
        if self._show or self._verbose:
            print(f"{start}{self._label}: compiled in {self.total:.1f} s", file=sys.stderr, flush=True)


def print_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """A plain table: the first column to the left, the others to the right."""
    lines = (header, *rows)
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    for first, *others in lines:
        cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        print("  ".join([first.ljust(widths[0]), *cells]).rstrip())
