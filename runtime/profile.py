"""Where a call's time goes: every launch of a compiled program timed, by its own clock."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from luminal.errors import InputError

from ..dialects.symbolic import compiled
from .kernel_info import KernelInfo
from .native.team import LAUNCH, NO_BARRIER, Team

if TYPE_CHECKING:
    from .program import Program


@dataclass(frozen=True)
class ProfileRow:
    """One kernel: how often a call launches it, seconds of all these launches (the median over the calls),
    and bytes and operations per launch: operands and result once, whatever part of them is read.
    """

    kernel: int
    info: KernelInfo
    launches: int
    seconds: float
    bytes: int
    flops: int

    @property
    def per_launch(self) -> float:
        """Seconds of a launch."""
        return self.seconds / max(self.launches, 1)


@dataclass
class Profile:
    """The launches of some calls of one program.

    rows: the kernels, slowest first. seconds: a call, launches only (the median). arena_bytes: temporary
    memory, static_bytes: packed weights, scratch_bytes: of all threads together. edges: kernels that read
    what another one writes.
    """

    rows: list[ProfileRow]
    seconds: float
    arena_bytes: int
    static_bytes: int
    scratch_bytes: int
    edges: list[tuple[int, int]]
    symbols: dict[str, int]
    _launches: list[tuple[int, int, int]] = field(default_factory=list)

    def chrome_trace(self, path: str | Path) -> None:
        """Write the last call as a trace for Perfetto or chrome://tracing."""
        infos = {row.kernel: row for row in self.rows}
        first = self._launches[0][1] if self._launches else 0
        events = [
            {
                "name": str(infos[kernel].info),
                "cat": infos[kernel].info.kind,
                "ph": "X",
                "ts": (start - first) / 1e3,
                "dur": max(end - start, 0) / 1e3,
                "pid": 1,
                "tid": 1,
                "args": {"bytes": infos[kernel].bytes, "operations": infos[kernel].flops},
            }
            for kernel, start, end in self._launches
        ]
        Path(path).write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))


class Recorder:
    """Takes the place of plain runs in the thread that it is active in."""

    def __init__(self) -> None:
        self.calls: list[tuple[Program, np.ndarray, tuple[int, ...], int, int]] = []

    def run(
        self,
        program: Program,
        launches: np.ndarray,
        symbols: tuple[int, ...],
        scratch: int,
        arena: int,
        team: Team,
    ) -> None:
        """Run a table of launches, each one after the one before has ended, and keep the clock's readings."""
        table = np.array(launches, LAUNCH)
        table["flags"] &= ~NO_BARRIER
        stamps = np.zeros(len(table) + 1, np.int64)
        stamps[0] = time.monotonic_ns()
        if len(table):
            team.run(table, scratch=scratch, times=stamps[1:])
        self.calls.append((program, stamps, symbols, scratch, arena))

    def profile(self) -> Profile:
        """The figures of the calls so far; those of the first, which wakes threads, are left out."""
        if not self.calls:
            raise InputError("nothing was launched: the model runs no kernel, or not in native code")
        program, stamps, symbols, scratch, arena = self.calls[-1]
        calls = [s for p, s, values, *_ in self.calls if p is program and values == symbols]
        times = np.array([np.diff(s) for s in calls[1:] or calls])
        schedule, steps = program.schedule, program.layout.steps
        numbers = np.array([schedule.steps[s].kernel for s in steps], np.intp)
        sizes = compiled(tuple(value.size for value in schedule.values), len(schedule.symbols))(symbols)
        rows = []
        for kernel in dict.fromkeys(numbers.tolist()):
            launched = numbers == kernel
            step = schedule.steps[steps[int(np.argmax(launched))]]
            info = program.infos[kernel]
            rows.append(
                ProfileRow(
                    kernel,
                    info,
                    int(launched.sum()),
                    float(np.median(times[:, launched].sum(axis=1))) * 1e-9,
                    sum(sizes[v] for v in dict.fromkeys((*step.operands, step.result))),
                    int(compiled((info.flops,), len(schedule.symbols))(symbols)[0]),
                )
            )
        rows.sort(key=lambda row: -row.seconds)
        launches = [
            (int(kernel), int(stamps[i]), int(stamps[i + 1])) for i, kernel in enumerate(numbers.tolist())
        ]
        named = {s.name: v for s, v in zip(schedule.symbols, symbols, strict=True)}
        return Profile(
            rows,
            float(np.median(times.sum(axis=1))) * 1e-9,
            arena,
            sum(program.layout.static_blocks),
            scratch * program.threads,
            _edges(program),
            named,
            launches,
        )


active: ContextVar[Recorder | None] = ContextVar("active", default=None)
"""The recorder that programs of this thread hand their launches to."""


@contextmanager
def recording() -> Iterator[Recorder]:
    """Programs called inside are recorded."""
    recorder = Recorder()
    token = active.set(recorder)
    try:
        yield recorder
    finally:
        active.reset(token)


def _edges(program: Program) -> list[tuple[int, int]]:
    writer: dict[int, int] = {}
    edges: dict[tuple[int, int], None] = {}
    for step in program.schedule.steps:
        for value in step.operands:
            if value in writer:
                edges[writer[value], step.kernel] = None
        writer[step.result] = step.kernel
    return [edge for edge in edges if edge[0] != edge[1]]
