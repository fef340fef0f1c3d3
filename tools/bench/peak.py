"""The arithmetic limit of this machine: nothing but fused multiply-adds on registers, on every core."""

import ctypes
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from luminal.lowering.cpu.target import host_target
from luminal.runtime.native.jit import compile_ir

CHAINS = 10
"""Independent accumulators: enough to hide the latency of two units, few enough for 16 registers."""

STEPS = 1 << 20


def peak_flops(threads: int, budget: float = 0.3, timer: Callable[[], float] = time.perf_counter) -> float:
    """float32 operations per second of `threads` threads together; a multiply and add counts as two."""
    lanes = host_target().lanes(32)
    address = compile_ir(_loop(lanes), ("luminal_bench_peak",))["luminal_bench_peak"]
    loop = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64)(address)
    best = float("inf")
    end = timer() + budget
    with ThreadPoolExecutor(threads) as pool:
        while timer() < end:
            start = timer()
            list(pool.map(loop, [STEPS] * threads))
            best = min(best, timer() - start)
    return 2.0 * lanes * CHAINS * STEPS * threads / best


def _loop(lanes: int) -> str:
    """LLVM IR of `float luminal_bench_peak(int64 steps)`: CHAINS times x = x * x + x in each step.

    From x in (-1, 0) that goes to 0 as -1 / steps: never to a denormal or an infinite number.
    """
    vector = f"<{lanes} x float>"
    chains = range(CHAINS)
    phis = [
        f"  %x{k} = phi {vector} [ splat (float {-(0.5 ** (k + 1))!r}), %entry ], [ %y{k}, %loop ]"
        for k in chains
    ]
    steps = [
        f"  %y{k} = call {vector} @llvm.fmuladd.v{lanes}f32({vector} %x{k}, {vector} %x{k}, {vector} %x{k})"
        for k in chains
    ]
    sums = [f"  %s{k} = fadd {vector} %{f's{k - 1}' if k > 1 else 'y0'}, %y{k}" for k in range(1, CHAINS)]
    return "\n".join(
        [
            f"declare {vector} @llvm.fmuladd.v{lanes}f32({vector}, {vector}, {vector})",
            "define float @luminal_bench_peak(i64 %steps) {",
            "entry:",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]",
            *phis,
            *steps,
            "  %next = add i64 %i, 1",
            "  %more = icmp slt i64 %next, %steps",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *sums,
            f"  %result = extractelement {vector} %s{CHAINS - 1}, i64 0",
            "  ret float %result",
            "}",
        ]
    )
