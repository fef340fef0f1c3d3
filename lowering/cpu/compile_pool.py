"""Processes that compile kernels side by side.

MLIR and LLVM hold Python's interpreter lock while they compile, so threads do not help: two threads take as
long as one. A worker process takes 0.6 s to start; it ends when it has been idle for a minute. A kernel that
makes LLVM end its process is that kernel's error, not the caller's end.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor

from ...errors import LoweringError, RuntimeFailure
from .abi import LoweredKernel
from .compile_worker import receive, send

LARGEST = 8
"""Workers at most: each takes about 150 MB."""

WORTH_STARTING = 24
"""So many kernels take longer to compile than the processes take to start."""

_COMMAND = "from luminal.lowering.cpu.compile_worker import main; main()"


class CompilePool:
    """`workers` processes, started when they are first used. Any thread may use it."""

    def __init__(self, workers: int) -> None:
        self._workers = [_Worker() for _ in range(workers)]
        self._idle = list(self._workers)
        self._threads = ThreadPoolExecutor(workers, "luminal-compile")

    @property
    def running(self) -> bool:
        """Whether a process has been started and has not ended."""
        return any(worker.running for worker in self._workers)

    def start(self) -> None:
        """Starts the processes; they load what they need while the caller goes on."""
        for worker in self._workers:
            worker.start()

    def submit(self, kernel: LoweredKernel, symbol: str) -> Future[bytes]:
        """Compiles a kernel as a function named `symbol`; the result is its object file, or LoweringError."""
        return self._threads.submit(self._compile, kernel, symbol)

    def _compile(self, kernel: LoweredKernel, symbol: str) -> bytes:
        worker = self._idle.pop()
        try:
            return worker.compile(kernel, symbol)
        finally:
            self._idle.append(worker)

    def close(self) -> None:
        """Ends the processes; the next use starts new ones."""
        for worker in self._workers:
            worker.close()


class _Worker:
    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        if self.running:
            return
        paths = [path or os.getcwd() for path in sys.path]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # an interrupt at the terminal is the caller's to handle
        )

    def compile(self, kernel: LoweredKernel, symbol: str) -> bytes:
        """The object file, or LoweringError."""
        for _ in range(2):
            try:
                return self._ask(kernel, symbol)
            except (EOFError, OSError):
                # It may have ended because it was idle; a second end is the kernel's doing.
                status = self.close()
        raise LoweringError(f"the compiler ended with status {status} on CPU kernel {symbol}")

    def _ask(self, kernel: LoweredKernel, symbol: str) -> bytes:
        self.start()
        assert self._process is not None and self._process.stdin and self._process.stdout
        send(self._process.stdin.fileno(), (kernel.text, symbol, kernel.loops_as_written))
        reply = receive(self._process.stdout.fileno())
        if isinstance(reply, str):
            raise LoweringError(reply)
        return reply

    def close(self) -> int | None:
        """Ends the process; returns its status."""
        process, self._process = self._process, None
        if process is None:
            return None
        with process:  # closes the pipes, which ends it, and waits
            pass
        return process.returncode


_shared: CompilePool | None = None


def shared_pool(start: bool = False) -> CompilePool | None:
    """The pool of this process if its workers run, or if they are to be started; else None.

    It has `$LUMINAL_COMPILE_WORKERS` processes, else one per processor; None where that is one.
    """
    global _shared
    count = _worker_count()
    if _shared is None and start and count > 1:
        _shared = CompilePool(count)
        atexit.register(_shared.close)
    if _shared is not None and start:
        _shared.start()
    return _shared if _shared is not None and _shared.running else None


def _worker_count() -> int:
    text = os.environ.get("LUMINAL_COMPILE_WORKERS")
    if not sys.executable:  # Python is embedded in another program
        return 0
    if not text:
        usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
        return min(len(usable), LARGEST)
    if not text.isdecimal():
        raise RuntimeFailure(f"LUMINAL_COMPILE_WORKERS must be a number of processes, not {text!r}")
    return int(text)


def _after_fork() -> None:
    global _shared
    _shared = None  # its pipes are the parent's


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
