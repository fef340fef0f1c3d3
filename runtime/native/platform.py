"""The parts of the worker team that differ between processors and operating systems, as LLVM IR text."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98}
_RELAX = {
    "x86_64": "declare void @llvm.x86.sse2.pause()",
    "aarch64": "declare void @llvm.aarch64.isb(i32)",
}
_RELAX_CALL = {"x86_64": "call void @llvm.x86.sse2.pause()", "aarch64": "call void @llvm.aarch64.isb(i32 15)"}
_MONOTONIC = {"linux": 1, "darwin": 6}

_PIN_LINUX = """
declare i32 @sched_setaffinity(i32, i64, ptr)
define internal void @pin(i64 %cpu) {
entry:
  %mask = alloca [128 x i8], align 8
  %wanted = icmp sge i64 %cpu, 0
  br i1 %wanted, label %set, label %done
set:
  store [128 x i8] zeroinitializer, ptr %mask
  %byte = lshr i64 %cpu, 3
  %at = getelementptr i8, ptr %mask, i64 %byte
  %bit = and i64 %cpu, 7
  %one = shl i64 1, %bit
  %value = trunc i64 %one to i8
  store i8 %value, ptr %at
  %status = call i32 @sched_setaffinity(i32 0, i64 128, ptr %mask)
  br label %done
done:
  ret void
}
"""
_PIN_NONE = """
define internal void @pin(i64 %cpu) {
  ret void
}
"""
_CLOCK = """
declare i32 @clock_gettime(i32, ptr)
define internal i64 @clock() {
  %time = alloca [2 x i64], align 8
  %status = call i32 @clock_gettime(i32 $CLOCK, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %scaled = mul i64 %seconds, 1000000000
  %sum = add i64 %scaled, %rest
  ret i64 %sum
}
"""


def machine() -> str:
    """The processor architecture, by LLVM's name: arm64 (macOS) and AMD64 (Windows) have two names."""
    name = platform.machine()
    return {"arm64": "aarch64", "AMD64": "x86_64"}.get(name, name)


def uses_futex() -> bool:
    """Whether workers can sleep on a futex here (Linux); elsewhere they use a condition variable."""
    return sys.platform == "linux" and machine() in _FUTEX


def team_ir(futex: bool) -> str:
    """The whole LLVM IR of the team for this machine; `futex` chooses how threads sleep."""
    folder = Path(__file__).parent
    park = (folder / ("park_futex.ll" if futex else "park_condition.ll")).read_text()
    relax = (
        f"{_RELAX.get(machine(), '')}\ndefine internal void @relax() alwaysinline {{\n"
        f"  {_RELAX_CALL.get(machine(), '')}\n  ret void\n}}\n"
    )
    pin = _PIN_LINUX if sys.platform == "linux" else _PIN_NONE
    clock = _CLOCK.replace("$CLOCK", str(_MONOTONIC.get(sys.platform, 1)))
    futex_number = str(_FUTEX.get(machine(), 0))
    return "\n".join(
        [(folder / "team.ll").read_text(), park.replace("$FUTEX", futex_number), relax, pin, clock]
    )
