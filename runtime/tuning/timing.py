"""Seconds of one kernel in the native team, as a program runs it: launches in a row with barriers between.

Operands that are not cold stay in the cache if they fit, as most intermediate values of a program do. The
clock is read by the team after each launch, so that neither Python nor waking the workers takes part.
"""

from __future__ import annotations

import ctypes
import glob
import resource
import time
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..native.jit import compile_ir
from ..native.team import LAUNCH, SERIAL, Team, aligned_bytes
from ..program import KernelCode
from .buffers import Buffers
from .signature import Launch

BATCH_SECONDS = 1e-3
"""Launches of a quick kernel are timed in batches of about this long."""

LARGEST_BATCH = 256
ENOUGH_SECONDS = 5e-3
"""Time spent on one kernel after which no further batch begins, if nothing disturbed it."""

MOST_SECONDS = 25e-3
"""Time spent on one kernel at most, if it is quick."""

BATCHES = 5
SLOW_SECONDS = 2e-2
"""A kernel that takes longer runs three times."""

QUIET = 0.05
"""Part of a batch's time that threads may wait for a processor in a quiet one: waking them takes a little."""

NOISE = 0.02
"""A time less by a smaller part is no news."""

SHARES = 64
"""One in so many parts of each thread's work is run first, to see how long a launch takes."""


@dataclass(frozen=True)
class Timing:
    """Seconds of a launch and how many were run.

    rough: it was broken off as too slow. calm: nothing disturbed it, so that there is no need to repeat it.
    """

    seconds: float
    runs: int
    rough: bool = False
    calm: bool = False

    def and_then(self, later: Timing) -> Timing:
        """Both measurements of a kernel as one."""
        return Timing(min(self.seconds, later.seconds), self.runs + later.runs, calm=later.calm)


@dataclass
class _Effort:
    """How much a measurement can be trusted: batches, those in which nobody else took a processor, and those
    since the time fell last.
    """

    batches: int = 0
    quiet: int = 0
    steady: int = 0

    def add(self, steady: bool, quiet: bool) -> None:
        self.batches += 1
        self.steady = self.steady + 1 if steady else 0
        self.quiet += quiet

    def enough(self, best: float, spent: float) -> bool:
        """Whether more batches are not worth their time."""
        if best > SLOW_SECONDS:
            return self.batches >= 1 + (self.quiet == 0)
        if spent > MOST_SECONDS:
            # Quick launches find quiet stretches in a disturbed batch, long ones need a quiet batch.
            return best < BATCH_SECONDS / 2 or self.quiet > 0 or spent > 3 * MOST_SECONDS
        return self.calm(best) and (self.batches >= BATCHES or spent > ENOUGH_SECONDS)

    def calm(self, best: float) -> bool:
        """Whether several batches were quiet and agree; of few long runs, whether all were quiet."""
        if best > BATCH_SECONDS and 0 < self.batches == self.quiet:
            return True
        return self.steady >= 2 and self.quiet >= 3


def _waited() -> float:
    """How long threads of this process have waited for a processor so far, in seconds.

    Where the system does not tell, each time that one had to leave a processor counts as a millisecond.
    """
    total = 0
    try:
        for path in glob.iglob("/proc/self/task/*/schedstat"):
            with open(path, "rb") as file:
                total += int(file.read().split()[1])
        if total:
            return total * 1e-9
    except (OSError, ValueError, IndexError):
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw * 1e-3


class Clock:
    """Runs one kernel at one size. `code`, `launch` and the buffers' blocks must stay alive meanwhile."""

    def __init__(self, team: Team, code: KernelCode, launch: Launch, buffers: Buffers) -> None:
        self._team = team
        self._code = code
        self._launch = launch
        self._buffers = buffers
        self._symbols = np.array([*launch.symbols.values(), 0], np.int64)
        self.scratch = scratch_bytes(code, launch)

    def estimate(self) -> float:
        """Seconds of a launch, judged by one thread running a small part of it once."""
        shares = 1 if self._code.serial else SHARES * self._team.threads
        function = ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p
        )(self._code.address)
        pointers = self._buffers.pointers(self._launch, 1)
        memory = aligned_bytes(self.scratch)
        start = time.perf_counter()
        # The last share: where there are fewer items than shares, it has one, and the first has none.
        function(pointers.ctypes.data, self._symbols.ctypes.data, shares - 1, shares, memory.ctypes.data)
        seconds = time.perf_counter() - start
        return seconds if self._code.serial else seconds * SHARES

    def seconds(self, limit: float | None = None, deadline: float = float("inf")) -> Timing:
        """The time of a launch; broken off once it is clearly more than twice `limit`, or after `deadline`.

        `deadline` is a value of `time.perf_counter`; two launches are always run.
        """
        best = min(self._batch(1), self._batch(1))
        runs, effort, waited, start = 2, _Effort(), _waited(), time.perf_counter()
        while not (too_slow := limit is not None and best > 2 * limit):
            now = time.perf_counter()
            if now > deadline or effort.enough(best, now - start):
                break
            count = min(max(int(BATCH_SECONDS / max(best, 1e-9)), 1), LARGEST_BATCH)
            found = self._batch(count)
            before, waited = waited, _waited()
            quiet = waited - before < QUIET * (time.perf_counter() - now)
            effort.add(found > best * (1 - NOISE), quiet)
            best = min(best, found)
            runs += count
        return Timing(best, runs, too_slow, effort.calm(best))

    def _batch(self, count: int) -> float:
        """The lower quartile of `count` launches in a row: even a disturbed batch has quiet stretches.

        An empty launch before them waits until all workers are awake, and one after them gives the last one
        its barrier.
        """
        pointers = self._buffers.pointers(self._launch, count)
        launches = np.zeros(count + 2, LAUNCH)
        launches["fn"] = _nothing()
        launches["bufs"] = pointers.ctypes.data
        launches["syms"] = self._symbols.ctypes.data
        kernels = launches[1:-1]
        kernels["fn"] = self._code.address
        kernels["bufs"] += np.arange(count, dtype=np.uint64) * np.uint64(pointers.strides[0])
        kernels["flags"] = SERIAL if self._code.serial else 0
        stamps = np.zeros(count + 2, np.int64)
        self._team.run(launches, scratch=self.scratch, times=stamps)
        return float(np.quantile(np.diff(stamps)[:count], 0.25)) * 1e-9


@cache
def _nothing() -> int:
    """The address of a kernel that does nothing."""
    name = "luminal_nothing"
    text = (
        f"define void @{name}(ptr %bufs, ptr %syms, i64 %tid, i64 %nthreads, ptr %scratch) {{\n  ret void\n}}"
    )
    return compile_ir(text, (name,))[name]


def scratch_bytes(code: KernelCode, launch: Launch) -> int:
    """Scratch memory per thread."""
    return int(code.scratch.evaluate(launch.symbols))
