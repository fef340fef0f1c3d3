"""Kernels compiled by worker processes: the same code, errors by kernel, workers that end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from cpu_kernels import Contraction

from luminal.dialects.mlir import context, ir
from luminal.dialects.symbolic import ONE
from luminal.errors import LoweringError, RuntimeFailure
from luminal.lowering.cpu import CpuOptions, LoweredKernel, cache, compile_each, compile_pool, lower_kernel
from luminal.lowering.cpu.codegen import compile_kernel
from luminal.lowering.cpu.compile_pool import CompilePool, shared_pool


@pytest.fixture(scope="module")
def pool() -> Iterator[CompilePool]:
    made = CompilePool(2)
    yield made
    made.close()


def operations(*sizes: int) -> list[ir.Operation]:
    """Matrix products; to be called in a context."""
    found = []
    for size in sizes:
        case = Contraction(
            (), (4,), (size,), (8,),
            lambda i, j, p: (i, p), lambda i, j, p: (p, j), lambda i, j, p: (i, j), [(4, 8), (8, size)],
        )  # fmt: skip
        module = case.build()
        MODULES.append(module)
        found.append(module.body.operations[0].regions[0].blocks[0].operations[0].operation)
    return found


MODULES: list[ir.Module] = []


@pytest.fixture(scope="module")
def lowered() -> LoweredKernel:
    with context(), ir.Location.unknown():
        return lower_kernel(operations(16)[0])


def test_workers_write_the_same_code(pool: CompilePool, lowered: LoweredKernel) -> None:
    futures = [pool.submit(lowered, f"luminal_kernel_{k}") for k in range(3)]
    expected = [
        compile_kernel(lowered.text, f"luminal_kernel_{k}", lowered.loops_as_written) for k in range(3)
    ]
    assert [future.result() for future in futures] == expected


def test_an_error_is_that_kernels(pool: CompilePool, lowered: LoweredKernel) -> None:
    bad = pool.submit(LoweredKernel("not MLIR", ONE), "bad")
    good = pool.submit(lowered, "good")
    with pytest.raises(LoweringError, match="CPU kernel bad does not lower to LLVM"):
        bad.result()
    assert good.result()


def test_a_worker_that_ended_is_replaced(pool: CompilePool, lowered: LoweredKernel) -> None:
    pool.start()
    for worker in pool._workers:
        assert worker._process is not None
        os.kill(worker._process.pid, signal.SIGKILL)
        worker._process.wait()
    assert not pool.running
    assert pool.submit(lowered, "again").result() and pool.running


def test_a_kernel_that_ends_the_compiler_is_refused(
    lowered: LoweredKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile_pool, "_COMMAND", "import os; os.read(0, 1); os.abort()")
    broken = CompilePool(1)
    with pytest.raises(LoweringError, match=f"ended with status -{int(signal.SIGABRT)} on CPU kernel fatal"):
        broken.submit(lowered, "fatal").result()
    broken.close()


def test_many_kernels_start_the_shared_pool(
    pool: CompilePool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LUMINAL_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compile_pool, "_shared", None)
    monkeypatch.setattr(compile_pool, "CompilePool", lambda workers: pool)
    monkeypatch.setenv("LUMINAL_COMPILE_WORKERS", "2")
    pool.close()
    with context(), ir.Location.unknown():
        cache.clear_memory()
        few = compile_each(operations(*range(16, 20)), CpuOptions(cache=False))
        assert not pool.running and few[1].statistics.compiled == 4
        cache.clear_memory()
        monkeypatch.setattr("luminal.lowering.cpu.object_code.WORTH_STARTING", 4)
        kernels, many = compile_each(operations(*range(16, 20), 16), CpuOptions(cache=False))
        assert pool.running and many.statistics.compiled == 4 and many.objects == few[1].objects
        assert kernels == [*few[0], few[0][0]]
        cache.clear_memory()
    assert shared_pool() is pool


def test_without_workers_there_is_no_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_pool, "_shared", None)
    monkeypatch.setenv("LUMINAL_COMPILE_WORKERS", "1")
    assert shared_pool(start=True) is None
    monkeypatch.setenv("LUMINAL_COMPILE_WORKERS", "two")
    with pytest.raises(
        RuntimeFailure, match="LUMINAL_COMPILE_WORKERS must be a number of processes, not 'two'"
    ):
        shared_pool(start=True)
