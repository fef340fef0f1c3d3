"""Times kernels for the search: each distinct one once, within a budget, with a log of what was left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...dialects.mlir import ir
from ...errors import InputError
from ...lowering.cpu import CpuOptions, compile_each
from ...lowering.cpu.compile_pool import WORTH_STARTING, shared_pool
from ..native.jit import load_objects
from ..native.team import Team
from ..program import KernelCode
from .accesses import check_accesses
from .buffers import Buffers
from .database import Record, TuningDatabase
from .device import available_memory
from .signature import Launch, Sizes, launch_of
from .timing import Clock, Timing, scratch_bytes

_COMPILED_AT_ONCE = 8
"""Kernels compiled before they are timed: the time budget is looked at in between."""

ProgressCallback = Callable[[str, float | None], None]


@dataclass(frozen=True)
class Budget:
    """Limits of one compilation's measuring: seconds for compiling and running, and kernels to be timed."""

    seconds: float
    candidates: int


@dataclass(frozen=True)
class LogEntry:
    """What became of a kernel.

    outcome: "measured", "rough" (broken off: much slower than its limit), "known" (from the database),
    "budget", "memory", "sizes" (they do not fit the kernel), or "refused" (by the lowering). seconds: of a
    launch, None if it was not timed. reason: why not, or how it was timed.
    """

    kernel: str
    key: str
    outcome: str
    seconds: float | None
    reason: str


class _Skipped(Exception):
    """A kernel is not timed: outcome and reason."""

    def __init__(self, outcome: str, reason: str) -> None:
        super().__init__(reason)
        self.outcome, self.reason = outcome, reason


class Measurer:
    """Seconds of kernels, from the database or by running them in `team`.

    Only kernels that the database does not know count against the budget, which holds over all calls.
    `cache`: keep the object code of candidates on disk. `progress` is called as that of `CompileOptions`:
    with what is about to be measured and None, then with its seconds. Each call saves the database.
    """

    def __init__(
        self,
        database: TuningDatabase,
        team: Team,
        budget: Budget,
        cache: bool = True,
        progress: ProgressCallback | None = None,
    ) -> None:
        self.database = database
        self.budget = budget
        self.log: list[LogEntry] = []
        self.seconds_spent = 0.0
        self.measured = 0
        self.threads = team.threads
        self._team = team
        self._options = CpuOptions(cache=cache)
        self._progress = progress
        self._buffers = Buffers()
        self._failures: dict[str, LogEntry] = {}

    def measure(
        self,
        kernels: Sequence[ir.Operation | ir.OpView],
        sizes: Sizes,
        limits: Sequence[float | None] | None = None,
        cold: Sequence[Collection[int]] | None = None,
        again: bool = False,
    ) -> list[float | None]:
        """Seconds of a launch of each kernel with all threads of the team; None where it was not timed.

        `sizes`: a value for every symbol of the module, in order or by symbol. `limits[i]`: the least time
        known of an alternative to kernel i; measuring stops early at more than twice of it, and the seconds
        are then an upper bound. `cold[i]`: the operands of kernel i that a program reads from memory rather
        than from a cache, such as weights. `again`: known kernels are timed once more, to be sure of a
        decision, and the lesser time stands. No kernel's failure is an error: the log says why it has no
        time.
        """
        results: list[float | None] = [None] * len(kernels)
        waiting: dict[str, _Wanted] = {}
        for i, kernel in enumerate(kernels):
            limit = None if limits is None else limits[i]
            try:
                launch = launch_of(
                    kernel.operation, sizes, self._team.threads, () if cold is None else cold[i]
                )
            except (InputError, ValueError) as error:
                self._note(kernel.operation.name, "", "sizes", None, str(error))
                continue
            known = self.database.entry(launch.key)
            if known is not None and not again and _answers(known, limit):
                results[i] = float(known["seconds"])
                self._note(str(launch), launch.key, "known", results[i], f"measured {known['when']}")
            elif launch.key in self._failures:
                self.log.append(self._failures[launch.key])
            else:
                wanted = waiting.setdefault(launch.key, _Wanted(launch))
                wanted.limits.append(limit)
                wanted.positions.append(i)
        for wanted, seconds in self._measure_all(list(waiting.values())):
            for i in wanted.positions:
                results[i] = seconds
        self.database.save()
        return results

    def _measure_all(self, wanted: list[_Wanted]) -> Iterator[tuple[_Wanted, float | None]]:
        """The distinct kernels that are not known, compiled a few at a time and then timed alone."""
        # The clock must not run beside compilers, so these take turns, in groups that keep a pool busy.
        many = self.measured + len(wanted) >= WORTH_STARTING
        size = 4 * _COMPILED_AT_ONCE if shared_pool(start=many) is not None else _COMPILED_AT_ONCE
        while wanted:
            count = min(size, self._affordable())
            group, wanted = (wanted[:count], wanted[count:]) if count else (wanted, [])
            with self._spending():
                codes = self._compile([each.launch for each in group]) if count else [None] * len(group)
            for each, code in zip(group, codes, strict=True):
                with self._spending():
                    self._first_time(each, code)
            # What was disturbed once more, a little later.
            for each in group:
                with self._spending():
                    self._second_time(each)
                yield each, self._conclude(each)

    @contextmanager
    def _spending(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds_spent += time.perf_counter() - start

    def _time_left(self) -> float:
        return self.budget.seconds - self.seconds_spent

    def _affordable(self) -> int:
        """How many kernels the budget allows, as far as can be told."""
        left, number = self._time_left(), self.budget.candidates - self.measured
        if left <= 0 or number <= 0:
            return 0
        if not self.measured:
            return min(number, _COMPILED_AT_ONCE)
        return min(number, int(left * self.measured / self.seconds_spent) + 1)

    def _first_time(self, wanted: _Wanted, code: KernelCode | Exception | None) -> None:
        self._tell(wanted.launch, None)
        try:
            wanted.clock = self._clock(wanted.launch, code)
            wanted.timing = wanted.clock.seconds(wanted.limit, time.perf_counter() + self._time_left())
            self.measured += 1
        except _Skipped as skipped:
            wanted.skipped = skipped

    def _second_time(self, wanted: _Wanted) -> None:
        clock, timing, left = wanted.clock, wanted.timing, self._time_left()
        if clock is None or timing is None or timing.rough or timing.calm:
            return
        if left > 4 * timing.seconds:
            wanted.timing = timing.and_then(clock.seconds(deadline=time.perf_counter() + left))

    def _conclude(self, wanted: _Wanted) -> float | None:
        """Writes down what became of a kernel."""
        launch, timing, skipped = wanted.launch, wanted.timing, wanted.skipped
        known = self.database.get(launch.key)
        if known is not None and (timing is None or known <= timing.seconds):
            reason = skipped.reason if skipped is not None else "no less than before"
            self._note(str(launch), launch.key, "known", known, reason)
            return known
        if timing is None:
            assert skipped is not None
            self._note(str(launch), launch.key, skipped.outcome, None, skipped.reason)
            if skipped.outcome != "budget":
                self._failures[launch.key] = self.log[-1]
            return None
        # A time that was broken off says little; one that was disturbed is worth measuring again some day.
        doubt = {"rough": True} if timing.rough else {} if timing.calm else {"disturbed": True}
        self.database.put(launch.key, timing.seconds, **launch.details, runs=timing.runs, **doubt)
        outcome = "rough" if timing.rough else "measured"
        reason = ", ".join([f"{timing.runs} runs", *(["disturbed"] if "disturbed" in doubt else [])])
        self._note(str(launch), launch.key, outcome, timing.seconds, reason)
        self._tell(launch, timing.seconds)
        return timing.seconds

    def _compile(self, launches: list[Launch]) -> list[KernelCode | Exception | None]:
        """The kernels' code, or the error that the lowering raised."""
        kernels, compiled = compile_each([launch.op for launch in launches], self._options)
        addresses = load_objects(compiled.objects)
        return [
            kernel
            if isinstance(kernel, Exception)
            else KernelCode(addresses[kernel.symbol], kernel.scratch, kernel.serial)
            for kernel in kernels
        ]

    def _clock(self, launch: Launch, code: KernelCode | Exception | None) -> Clock:
        """What times a kernel; _Skipped if it is not to be run."""
        if code is None or self.measured >= self.budget.candidates or self._time_left() <= 0:
            raise _Skipped("budget", self._budget_text())
        if isinstance(code, Exception):
            raise _Skipped("refused", f"{type(code).__name__}: {code}")
        try:
            check_accesses(launch.op, launch.symbols)
        except InputError as error:
            raise _Skipped("sizes", str(error)) from error
        self._check_memory(launch, code)
        deadline = time.perf_counter() + self._time_left()
        try:
            self._buffers.prepare(launch)
            clock = Clock(self._team, code, launch, self._buffers)
            estimate = clock.estimate()
        except MemoryError as error:
            raise _Skipped("memory", f"the system refused memory: {error}") from error
        if time.perf_counter() + estimate > deadline:
            raise _Skipped("budget", f"a launch takes about {estimate:.2g} s; {self._budget_text()}")
        return clock

    def _check_memory(self, launch: Launch, code: KernelCode) -> None:
        """Refuses what takes more than half of the memory that is free."""
        needed = self._buffers.needed(launch) + scratch_bytes(code, launch) * (self._team.threads + 1)
        free = available_memory() + self._buffers.held
        if needed > free // 2:
            raise _Skipped("memory", f"needs {needed} bytes, more than half of the {free} bytes free")

    def _budget_text(self) -> str:
        spent = f"{self.seconds_spent:.2f} of {self.budget.seconds:g} s"
        return f"spent: {spent}, {self.measured} of {self.budget.candidates} candidates"

    def _note(self, kernel: str, key: str, outcome: str, seconds: float | None, reason: str) -> None:
        self.log.append(LogEntry(kernel, key, outcome, seconds, reason))

    def _tell(self, launch: Launch, seconds: float | None) -> None:
        if self._progress is not None:
            self._progress(f"measure {launch}", seconds)


@dataclass
class _Wanted:
    """A kernel to time, where it stands in the list of a call, and what became of it."""

    launch: Launch
    positions: list[int] = field(default_factory=list)
    limits: list[float | None] = field(default_factory=list)
    clock: Clock | None = None
    timing: Timing | None = None
    skipped: _Skipped | None = None

    @property
    def limit(self) -> float | None:
        """The most lenient limit; None if one place has none."""
        given = [limit for limit in self.limits if limit is not None]
        return max(given) if len(given) == len(self.limits) else None


def _answers(known: Record, limit: float | None) -> bool:
    """Whether an entry says enough: a rough one only that a kernel is much slower than its limit."""
    return not known.get("rough") or (limit is not None and known["seconds"] > 2 * limit)
