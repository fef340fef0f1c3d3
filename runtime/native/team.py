"""A team of worker threads that runs a table of kernel launches without Python between them.

Kernels have the ABI `void kernel(ptr bufs, ptr syms, i64 tid, i64 nthreads, ptr scratch)`; each thread
computes its own
share. Workers spin for a moment after a call and then sleep, so back-to-back calls start in microseconds.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import weakref
from typing import Any

import numpy as np

from ...errors import RuntimeFailure
from . import platform
from .jit import compile_ir

LAUNCH = np.dtype([("fn", np.uint64), ("bufs", np.uint64), ("syms", np.uint64), ("flags", np.int64)])
"""One launch: the kernel's address, the address of its pointer array, of the symbols' int64 values, and
flags.
"""

NO_BARRIER = 1
"""Flag: the next launch does not depend on this one, so threads go on without waiting for each other."""

SERIAL = 2
"""Flag: only thread 0 runs the kernel, as if the team had one thread."""

_TEAM_BYTES = 512
_SLOT = np.dtype([("team", np.uint64), ("tid", np.int64), ("handle", np.uint64), ("cpu", np.int64)])

_code_lock = threading.Lock()
_code: dict[bool, tuple[Any, Any]] = {}


def _entry_points(futex: bool) -> tuple[Any, Any]:
    """The native functions (start, run), compiled once a process for each way of sleeping."""
    with _code_lock:
        if futex not in _code:
            names = ("luminal_team_start", "luminal_team_run")
            addresses = compile_ir(platform.team_ir(futex), names)
            start = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(addresses[names[0]])
            arguments = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64]
            run = ctypes.CFUNCTYPE(None, *arguments, ctypes.c_void_p)(addresses[names[1]])
            _code[futex] = (start, run)
        return _code[futex]


def aligned_bytes(size: int, alignment: int = 64) -> np.ndarray:
    """A zeroed uint8 array of `size` bytes whose address is a multiple of `alignment`."""
    block = np.zeros(size + alignment, np.uint8)
    offset = -block.ctypes.data % alignment
    return block[offset : offset + size]


class Team:
    """`threads` threads, the calling one included; `run` may be called from any Python thread, one call at a
    time runs.

    `spin` is how many times a waiting thread polls (about 15 ns each) before it sleeps; `pin` binds worker k
    to the
    k-th processor that the process may use (Linux only; the caller is never bound); `futex` chooses how
    threads
    sleep, by default what the platform has.
    """

    def __init__(self, threads: int, spin: int = 2000, pin: bool = False, futex: bool | None = None) -> None:
        if threads < 1:
            raise RuntimeFailure(f"a team needs at least one thread, not {threads}")
        self.threads = threads
        self._spin = spin
        self._pin = pin
        self._futex = platform.uses_futex() if futex is None else futex
        self._reset()
        _teams.add(self)

    def _reset(self) -> None:
        """The state of a team whose workers have not been started (also after a fork, which copies no
        threads).
        """
        self._lock = threading.Lock()
        self._memory: np.ndarray | None = None
        self._slots: np.ndarray | None = None
        self._address = 0
        self._scratch = aligned_bytes(0)
        self._scratch_address = 0
        self._stride = 0

    def _start(self) -> None:
        """Allocates the team's memory and starts the workers; RuntimeFailure when the system refuses a
        thread.
        """
        start, self._run = _entry_points(self._futex)
        memory = aligned_bytes(_TEAM_BYTES)
        address = memory.ctypes.data
        words = memory.view(np.int64)
        words[208 // 8], words[216 // 8] = self.threads, self._spin
        if not self._futex:
            libc = ctypes.CDLL(None)
            libc.pthread_mutex_init(ctypes.c_void_p(address + 256), None)
            libc.pthread_cond_init(ctypes.c_void_p(address + 384), None)
        cpus = sorted(os.sched_getaffinity(0)) if self._pin and hasattr(os, "sched_getaffinity") else []
        slots = np.zeros(self.threads, _SLOT)
        for tid in range(1, self.threads):
            slots[tid] = (address, tid, 0, cpus[tid % len(cpus)] if cpus else -1)
            if start(slots.ctypes.data + tid * _SLOT.itemsize) != 0:
                # The workers started so far wait for a barrier that can't fill: let it count them alone.
                words[208 // 8] = tid
                self._memory, self._slots, self._address = memory, slots, address
                self._stop()
                raise RuntimeFailure(f"the system refused thread {tid + 1} of a team of {self.threads}")
        self._memory, self._slots, self._address = memory, slots, address

    def run(
        self,
        launches: np.ndarray,
        count: int | None = None,
        scratch: int = 0,
        times: np.ndarray | None = None,
    ) -> None:
        """Runs the first `count` (default all) of `launches` (a LAUNCH array) and returns when all are done.

        `scratch`: bytes of scratch memory per thread, the maximum over the launches. `times`: an int64 array
        that
        receives the monotonic clock, in nanoseconds, after each launch.
        """
        total = len(launches) if count is None else count
        if (launches.dtype is not LAUNCH and launches.dtype != LAUNCH) or total > len(launches):
            raise RuntimeFailure(f"launches must be an array of LAUNCH with at least {total} rows")
        if times is not None and (times.dtype != np.int64 or len(times) < total):
            raise RuntimeFailure(f"times must be an int64 array of at least {total} values")
        stamps = None if times is None else times.ctypes.data
        self.run_at(launches.__array_interface__["data"][0], total, scratch, stamps)

    def run_at(self, address: int, count: int, scratch: int = 0, times: int | None = None) -> None:
        """`run` for a table at `address`, unchecked: the cheapest call (about 2 microseconds with workers
        awake).
        """
        with self._lock:
            if not self._address:
                self._start()
            if scratch > self._stride:
                self._grow(scratch)
            self._run(self._address, address, count, self._scratch_address, self._stride, times)

    def _grow(self, scratch: int) -> None:
        # Whole pages and three lines: threads' scratch falls into different cache sets.
        self._stride = -(-scratch // 4096) * 4096 + 192
        self._scratch = aligned_bytes(self._stride * self.threads, 4096)
        self._scratch_address = self._scratch.ctypes.data

    def close(self) -> None:
        """Ends the workers and waits for them; the next `run` starts new ones."""
        with self._lock:
            if self._address:
                self._stop()

    def __del__(self) -> None:
        # Workers spin on this object's memory: it must not go before they do.
        if getattr(self, "_address", 0):
            self._stop()

    def _stop(self) -> None:
        assert self._slots is not None
        workers = int(self._memory.view(np.int64)[208 // 8])  # type: ignore[union-attr]
        self._run(self._address, None, 0, None, 0, None)
        join = ctypes.CDLL(None).pthread_join
        for handle in self._slots["handle"][1:workers]:
            join(ctypes.c_void_p(int(handle)), None)
        self._memory, self._slots, self._address = None, None, 0


_teams: weakref.WeakSet[Team] = weakref.WeakSet()
_shared: dict[int, Team] = {}
_shared_lock = threading.Lock()


def shared_team(threads: int) -> Team:
    """The process's team of that many threads: programs share it, so their workers don't compete."""
    with _shared_lock:
        if threads not in _shared:
            _shared[threads] = Team(threads)
        return _shared[threads]


def _after_fork() -> None:
    global _shared_lock, _code_lock
    _shared_lock, _code_lock = threading.Lock(), threading.Lock()
    for team in list(_teams):
        team._reset()


@atexit.register
def _close_all() -> None:
    for team in list(_teams):
        # A thread that is inside a call at exit holds the lock; its workers end with the process.
        if team._lock.acquire(timeout=0.1):
            try:
                if team._address:
                    team._stop()
            finally:
                team._lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
