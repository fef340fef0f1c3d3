"""A compiled program: a table of kernel launches over pointers, ready to run for any inputs and symbol
values.

Everything that does not change between calls is built once. A call fills the pointer table by a few NumPy
operations, runs the whole table in the native team, and does the rare copies at the end; Python does
nothing per kernel. This module knows addresses only: tensors, their checks and their allocation are the
caller's (see call.py).
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..dialects.symbolic import Expr, compiled
from ..passes.plan_memory import Layout, Storage
from ..passes.schedule import Schedule, Signature, Value
from .arena import ArenaPlan, ArenaPlanner, aligned
from .kernel_info import KernelInfo
from .native.team import LAUNCH, NO_BARRIER, SERIAL, Team
from .profile import active
from .static_pool import StaticPool


class Runnable(Protocol):
    """What a caller needs of a program, native or interpreted.

    `returned[r]` says where result r is: the tensor of an argument, or entry `index` of `result_values`,
    whose memory the caller provides.
    """

    signature: Signature
    returned: list[Storage]
    result_values: list[Value]
    static_arguments: list[int]

    def run(
        self,
        arguments: Sequence[int],
        results: Sequence[int],
        symbols: tuple[int, ...],
        versions: Sequence[int] = (),
    ) -> None:
        """Runs on the addresses of contiguous arguments and of uninitialised results."""

    def planned_memory(self) -> tuple[int, int]:
        """Bytes for temporary values in the largest call so far, and bytes of packed weights."""


@dataclass(frozen=True)
class KernelCode:
    """A kernel in memory: its address, the scratch bytes per thread as an expression, whether it wants one
    thread.
    """

    address: int
    scratch: Expr
    serial: bool


class _LaunchTable:
    """The launches of some steps: which pointer goes where, by storage space."""

    def __init__(
        self, schedule: Schedule, layout: Layout, code: Sequence[KernelCode], steps: Sequence[int]
    ) -> None:
        self.homes: list[Storage] = []
        self.starts: list[int] = []
        self.functions: list[int] = []
        self.flags: list[int] = []
        self.accesses: list[tuple[list[Storage], Storage]] = []
        for p in steps:
            step = schedule.steps[p]
            reads, write = [layout.storage[v] for v in step.operands], layout.storage[step.result]
            self.starts.append(len(self.homes))
            self.homes += [*reads, write]
            self.functions.append(code[step.kernel].address)
            self.flags.append(SERIAL if code[step.kernel].serial else 0)
            self.accesses.append((reads, write))
        self.slots = {space: self._slots(space) for space in ("argument", "result", "static", "arena")}

    def _slots(self, space: str) -> tuple[np.ndarray, np.ndarray]:
        """(positions in the table, indices within the space) of the pointers to one space."""
        found = [(k, home.index) for k, home in enumerate(self.homes) if home.space == space]
        return np.array([k for k, _ in found], np.intp), np.array([i for _, i in found], np.intp)

    def barrier_flags(self, plan: ArenaPlan | None, block_sizes: Sequence[int]) -> list[int]:
        """NO_BARRIER for each launch whose successor touches nothing that launches since the last barrier
        touch.
        """

        def span(home: Storage) -> tuple[str, int, int]:
            if home.space == "arena" and plan is not None:
                start = int(plan.offsets[home.index])
                return "arena", start, start + max(block_sizes[home.index], 1)
            return home.space, home.index, home.index + 1

        flags = [0] * len(self.accesses)
        reads: list[tuple[str, int, int]] = []
        writes: list[tuple[str, int, int]] = []
        for k, (operands, result) in enumerate(self.accesses):
            sources, target = [span(home) for home in operands], span(result)
            if k and not _overlap([target], reads + writes) and not _overlap(sources, writes):
                flags[k - 1] = NO_BARRIER
            else:
                reads, writes = [], []
            reads += sources
            writes.append(target)
        return flags


def _rounded(size: int) -> int:
    """Bytes of a block of static memory: whole cache lines."""
    return -(-size // 64) * 64


def _overlap(left: list[tuple[str, int, int]], right: list[tuple[str, int, int]]) -> bool:
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in left for b in right)


class _Frame:
    """The mutable state of one call at a time: pointers, symbol values, arena."""

    def __init__(self, table: _LaunchTable, symbol_count: int) -> None:
        self.table = table
        self.pointers = np.zeros(max(len(table.homes), 1), np.uint64)
        self.symbols = np.zeros(max(symbol_count, 1), np.int64)
        self.launches = np.zeros(len(table.functions), LAUNCH)
        self.launches["fn"] = table.functions
        self.launches["bufs"] = [self.pointers.ctypes.data + 8 * start for start in table.starts]
        self.launches["syms"] = self.symbols.ctypes.data
        self.launches["flags"] = table.flags
        self.plan: ArenaPlan | None = None
        self.arena = aligned(0)
        self.static: _Static | None = None

    def point(self, space: str, addresses: np.ndarray) -> None:
        positions, indices = self.table.slots[space]
        if len(positions):
            self.pointers[positions] = addresses[indices]

    def set_plan(self, plan: ArenaPlan, block_sizes: Sequence[int]) -> None:
        if plan.total > len(self.arena):
            self.arena = aligned(plan.total)
        self.point("arena", plan.offsets + np.uint64(self.arena.ctypes.data))
        flags = self.table.barrier_flags(plan, block_sizes)
        self.launches["flags"] = [a | b for a, b in zip(self.table.flags, flags, strict=True)]
        self.plan = plan


@dataclass(frozen=True)
class _Static:
    """What the weights with `key` (addresses and versions) determine, computed once."""

    key: tuple[int, ...]
    blocks: list[np.ndarray]
    addresses: np.ndarray


class Program:
    """A schedule with its kernels loaded. `run` may be called from several threads at once."""

    def __init__(
        self,
        schedule: Schedule,
        layout: Layout,
        code: Sequence[KernelCode],
        team: Team,
        max_memory: int | None = None,
        pool: StaticPool | None = None,
        infos: Sequence[KernelInfo] = (),
    ) -> None:
        self.signature = schedule.signature
        self.infos = list(infos)
        self.threads = team.threads
        self.schedule = schedule
        self.layout = layout
        self.returned = layout.returned
        self.result_values = [schedule.values[v] for v in layout.result_values]
        self._team = team
        self._planner = ArenaPlanner(schedule, layout, max_memory)
        self._table = _LaunchTable(schedule, layout, code, layout.steps)
        self._static_table = _LaunchTable(schedule, layout, code, layout.static_steps)
        count = len(schedule.symbols)
        scratch = tuple(dict.fromkeys(kernel.scratch for kernel in code))
        self._scratch = compiled(scratch, count)
        self._copy_sizes = compiled(tuple(schedule.values[copy.value].size for copy in layout.copies), count)
        self.static_arguments = sorted(
            {home.index for home in self._static_table.homes if home.space == "argument"}
        )
        self._static: _Static | None = None
        self._pool = pool or StaticPool()
        self._code = list(code)
        self._recipes = self._static_recipes()
        self._frames: list[_Frame] = []

    def run(
        self,
        arguments: Sequence[int],
        results: Sequence[int],
        symbols: tuple[int, ...],
        versions: Sequence[int] = (),
    ) -> None:
        """Runs the program on addresses of contiguous arguments and of uninitialised results.

        `versions`: a number per entry of `static_arguments` that differs whenever that weight's values may
        differ.
        """
        argument_pointers = np.array(arguments, np.uint64)
        result_pointers = np.array(results, np.uint64)
        scratch = max(self._scratch(symbols), default=0)
        static = self._static_for(argument_pointers, versions, scratch)
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = _Frame(self._table, len(symbols))
        try:
            self._prepare(frame, argument_pointers, result_pointers, symbols, static)
            recorder = active.get()
            if recorder is not None and frame.plan is not None:
                recorder.run(self, frame.launches, symbols, scratch, frame.plan.total, self._team)
            elif len(frame.launches):
                self._team.run(frame.launches, scratch=scratch)
            self._copy(frame, argument_pointers, result_pointers, symbols)
        finally:
            self._frames.append(frame)

    def planned_memory(self) -> tuple[int, int]:
        """Bytes of the arena for the largest call so far, and of what is computed once from the weights."""
        return self._planner.largest, sum(map(_rounded, self.layout.static_blocks))

    def _prepare(
        self,
        frame: _Frame,
        arguments: np.ndarray,
        results: np.ndarray,
        symbols: tuple[int, ...],
        static: _Static,
    ) -> None:
        plan = self._planner.plan(symbols)
        if frame.plan is not plan:
            sizes = [self._planner.block_size(plan, b) for b in range(len(self.layout.arena_blocks))]
            frame.set_plan(plan, sizes)
        if frame.static is not static:
            frame.point("static", static.addresses)
            frame.static = static
        if symbols:
            frame.symbols[:] = symbols
        frame.point("argument", arguments)
        frame.point("result", results)

    def _static_for(self, arguments: np.ndarray, versions: Sequence[int], scratch: int) -> _Static:
        """The static memory for the present weights; a change gets new memory, since other calls may read
        the old.
        """
        key = (*(int(arguments[k]) for k in self.static_arguments), *versions)
        static = self._static
        if static is not None and static.key == key:
            return static
        with self._pool.lock:
            if self._static is None or self._static.key != key:
                self._static = self._compute_static(key, arguments, versions, scratch)
            return self._static

    def _static_recipes(self) -> list[tuple[Any, frozenset[int]]]:
        """For each static block what computes it (kernels are told apart by their code), and from which
        arguments.
        """
        found: list[tuple[Any, frozenset[int]]] = []
        for reads, function in zip(
            (reads for reads, _ in self._static_table.accesses), self._static_table.functions, strict=True
        ):
            recipe: list[Any] = [function]
            used: frozenset[int] = frozenset()
            for home in reads:
                if home.space == "argument":
                    recipe.append(home.index)
                    used |= {home.index}
                else:
                    recipe.append(found[home.index][0])
                    used |= found[home.index][1]
            found.append((tuple(recipe), used))
        return found

    def static_recipes(self) -> dict[Any, int]:
        """Bytes of what is computed once from the weights, by what it is."""
        sizes = self.layout.static_blocks
        return {recipe: _rounded(size) for (recipe, _), size in zip(self._recipes, sizes, strict=True)}

    def _compute_static(
        self, key: tuple[int, ...], arguments: np.ndarray, versions: Sequence[int], scratch: int
    ) -> _Static:
        """Computes what no other program of the pool has."""
        state = dict(zip(self.static_arguments, versions[1:], strict=False))
        keys = [
            (recipe, *versions[:1], *((k, int(arguments[k]), state.get(k, 0)) for k in sorted(used)))
            for recipe, used in self._recipes
        ]
        found = [self._pool.find(block) for block in keys]
        missing = [k for k, block in enumerate(found) if block is None]
        sizes = [_rounded(self.layout.static_blocks[k]) for k in missing]
        memory = aligned(sum(sizes))
        for k, end, size in zip(missing, itertools.accumulate(sizes), sizes, strict=True):
            found[k] = memory[end - size : end]
        blocks = [block for block in found if block is not None]
        addresses = np.array([block.ctypes.data for block in blocks], np.uint64)
        steps = [self.layout.static_steps[k] for k in missing]
        table = _LaunchTable(self.schedule, self.layout, self._code, steps)
        frame = _Frame(table, len(self.schedule.symbols))
        frame.point("argument", arguments)
        frame.point("static", addresses)
        if len(frame.launches):
            self._team.run(frame.launches, scratch=scratch)
        for k in missing:
            self._pool.add(keys[k], blocks[k])
        return _Static(key, blocks, addresses)

    def _copy(
        self, frame: _Frame, arguments: np.ndarray, results: np.ndarray, symbols: tuple[int, ...]
    ) -> None:
        if not self.layout.copies:
            return
        assert frame.plan is not None and frame.static is not None
        bases = {
            "argument": arguments,
            "result": results,
            "static": frame.static.addresses,
            "arena": frame.plan.offsets + np.uint64(frame.arena.ctypes.data),
        }
        for copy, size in zip(self.layout.copies, self._copy_sizes(symbols), strict=True):
            if size:
                target, source = bases[copy.target.space], bases[copy.source.space]
                ctypes.memmove(int(target[copy.target.index]), int(source[copy.source.index]), size)
