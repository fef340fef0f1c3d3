"""The native worker team: coverage of launches, barriers, scratch, serial launches, threads, forks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from luminal.errors import RuntimeFailure
from luminal.runtime.native.jit import compile_ir
from luminal.runtime.native.team import LAUNCH, NO_BARRIER, SERIAL, Team, shared_team

# bump: counts[tid] += nthreads; chain: out[tid] = in[(tid + 1) mod n] + sym0, which needs the barrier;
# scribble: fills 512 bytes of scratch with tid, then checks them into out[tid].
KERNELS = """
define void @bump(ptr %bufs, ptr %syms, i64 %tid, i64 %n, ptr %scratch) {
  %counts = load ptr, ptr %bufs
  %at = getelementptr i64, ptr %counts, i64 %tid
  %old = load i64, ptr %at
  %new = add i64 %old, %n
  store i64 %new, ptr %at
  ret void
}
define void @chain(ptr %bufs, ptr %syms, i64 %tid, i64 %n, ptr %scratch) {
  %in = load ptr, ptr %bufs
  %second = getelementptr ptr, ptr %bufs, i64 1
  %out = load ptr, ptr %second
  %next = add i64 %tid, 1
  %from = urem i64 %next, %n
  %in.at = getelementptr i64, ptr %in, i64 %from
  %value = load i64, ptr %in.at
  %step = load i64, ptr %syms
  %sum = add i64 %value, %step
  %out.at = getelementptr i64, ptr %out, i64 %tid
  store i64 %sum, ptr %out.at
  ret void
}
define void @scribble(ptr %bufs, ptr %syms, i64 %tid, i64 %n, ptr %scratch) {
entry:
  br label %fill
fill:
  %i = phi i64 [ 0, %entry ], [ %next, %fill ]
  %at = getelementptr i64, ptr %scratch, i64 %i
  store volatile i64 %tid, ptr %at
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 64
  br i1 %more, label %fill, label %sum
sum:
  %j = phi i64 [ 0, %fill ], [ %after, %sum ]
  %total = phi i64 [ 0, %fill ], [ %grown, %sum ]
  %from = getelementptr i64, ptr %scratch, i64 %j
  %value = load volatile i64, ptr %from
  %grown = add i64 %total, %value
  %after = add i64 %j, 1
  %again = icmp ult i64 %after, 64
  br i1 %again, label %sum, label %done
done:
  %out = load ptr, ptr %bufs
  %out.at = getelementptr i64, ptr %out, i64 %tid
  store i64 %grown, ptr %out.at
  ret void
}
"""


@pytest.fixture(scope="module")
def kernels() -> dict[str, int]:
    return compile_ir(KERNELS, ("bump", "chain", "scribble"))


def launches(*rows: tuple[int, np.ndarray, np.ndarray, int]) -> np.ndarray:
    table = np.zeros(len(rows), LAUNCH)
    for i, (fn, bufs, syms, flags) in enumerate(rows):
        table[i] = (fn, bufs.ctypes.data, syms.ctypes.data, flags)
    return table


def pointers(*arrays: np.ndarray) -> np.ndarray:
    return np.array([array.ctypes.data for array in arrays], np.uint64)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("futex", [None, False])
def test_barriers_order_launches(kernels: dict[str, int], threads: int, futex: bool | None) -> None:
    first, second, syms = np.zeros(threads, np.int64), np.zeros(threads, np.int64), np.array([1], np.int64)
    forth, back = pointers(first, second), pointers(second, first)
    table = launches(*[(kernels["chain"], forth if i % 2 == 0 else back, syms, 0) for i in range(1000)])
    team = Team(threads, spin=50, futex=futex)
    for call in range(3):
        team.run(table)
        assert (first == 1000 * (call + 1)).all()
    team.close()


def test_serial_and_unordered_launches(kernels: dict[str, int]) -> None:
    counts, syms = np.zeros(2, np.int64), np.zeros(1, np.int64)
    bump = (kernels["bump"], pointers(counts), syms)
    team = Team(2)
    team.run(launches((*bump, NO_BARRIER), (*bump, SERIAL), (*bump, SERIAL | NO_BARRIER), (*bump, 0)))
    assert counts.tolist() == [2 + 1 + 1 + 2, 4]
    team.run(launches((*bump, 0), (*bump, 0)), count=1)
    assert counts.tolist() == [8, 6]
    team.run(launches(), count=0)


def test_scratch_is_private_and_grows(kernels: dict[str, int]) -> None:
    out, syms = np.zeros(2, np.int64), np.zeros(1, np.int64)
    table = launches((kernels["scribble"], pointers(out), syms, 0))
    team = Team(2)
    for size in (512, 100_000):
        team.run(table, scratch=size)
        assert out.tolist() == [0, 64]


def test_times_are_recorded_in_order(kernels: dict[str, int]) -> None:
    counts, syms, times = np.zeros(2, np.int64), np.zeros(1, np.int64), np.zeros(5, np.int64)
    Team(2).run(launches(*[(kernels["bump"], pointers(counts), syms, 0)] * 5), times=times)
    assert times[0] > 0 and (np.diff(times) >= 0).all()


def test_several_python_threads_share_a_team(kernels: dict[str, int]) -> None:
    counts, syms = np.zeros(2, np.int64), np.zeros(1, np.int64)
    bufs = pointers(counts)
    table = launches(*[(kernels["bump"], bufs, syms, 0)] * 10)
    team = shared_team(2)
    assert team is shared_team(2)
    callers = [threading.Thread(target=lambda: [team.run(table) for _ in range(50)]) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert counts.tolist() == [4000, 4000]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_works_in_a_forked_child(kernels: dict[str, int]) -> None:
    counts, syms = np.zeros(2, np.int64), np.zeros(1, np.int64)
    bufs = pointers(counts)
    table = launches((kernels["bump"], bufs, syms, 0))
    team = Team(2)
    team.run(table)
    child = os.fork()
    if child == 0:
        team.run(table)
        os._exit(0 if counts.tolist() == [4, 4] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    team.run(table)
    assert counts.tolist() == [4, 4]


def test_process_exits_with_a_live_team() -> None:
    code = (
        "import numpy as np\nfrom luminal.runtime.native.team import LAUNCH, Team\n"
        "team = Team(2, spin=10**9)\nteam.run(np.zeros(0, LAUNCH))\nprint('ran')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(RuntimeFailure, match="at least one thread"):
        Team(0)
    with pytest.raises(RuntimeFailure, match="LAUNCH"):
        Team(1).run(np.zeros(3, np.int64))
    with pytest.raises(RuntimeFailure, match="times"):
        Team(1).run(np.zeros(3, LAUNCH), times=np.zeros(2, np.int64))
