"""The runtime linked into every emulated module, in LLVM IR: fibers, access checks, bfloat conversion.

A fiber record (one per GPU thread) has a fixed layout, given to NumPy by `FIBER`. A fiber runs until it
yields an event: a collective (its number is positive), its end, a full access log, or an access out of
bounds.
"""

from __future__ import annotations

import numpy as np

STACK_BYTES = 64 * 1024
ARGUMENT_BYTES = 64
LOG_ENTRIES = 1 << 18
MAX_RANGES = 64

EVENT_END = -1
EVENT_OUT_OF_BOUNDS = -2
EVENT_LOG_FULL = -3

_ARGUMENTS = 32
_RESULT = _ARGUMENTS + ARGUMENT_BYTES
FIBER_BYTES = _RESULT + 16

FIBER = np.dtype(
    {
        "names": ["stack", "x", "y", "z", "linear", "event", "epoch", "arguments", "result"],
        "formats": ["u8", "i4", "i4", "i4", "i4", "i4", "i4", ("u1", ARGUMENT_BYTES), ("u1", 16)],
        "offsets": [0, 8, 12, 16, 20, 24, 28, _ARGUMENTS, _RESULT],
        "itemsize": FIBER_BYTES,
    }
)
"""stack: saved stack pointer; x y z linear: thread index; event: why it yielded; epoch: warp barriers met."""

ACCESS = np.dtype(
    [("address", "i8"), ("size", "i4"), ("writes", "i4"), ("thread", "i4"), ("epoch", "i4"), ("site", "i8")]
)
"""One checked access: site is the index of the instruction in the module."""

ARGUMENTS_OFFSET = _ARGUMENTS
RESULT_OFFSET = _RESULT

# rdi: where to save the stack pointer; rsi: the stack to go on with. A new fiber starts in emu_start, with
# its entry function in r12 and its record in r13.
_SWITCH = """
module asm ".text"
module asm ".globl emu_switch"
module asm "emu_switch:"
module asm "pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15"
module asm "movq %rsp, (%rdi)"
module asm "movq %rsi, %rsp"
module asm "popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp"
module asm "retq"
module asm ".globl emu_start"
module asm "emu_start:"
module asm "movq %r13, %rdi"
module asm "callq *%r12"
module asm "ud2"
"""

# Arithmetic on bfloat calls this C runtime function, which may not exist: round a float to nearest even.
_BFLOAT_RUNTIME = """
module asm ".globl __truncsfbf2"
module asm "__truncsfbf2:"
module asm "movd %xmm0, %eax"
module asm "ucomiss %xmm0, %xmm0"
module asm "jp 1f"
module asm "movl %eax, %ecx; shrl $16, %ecx; andl $1, %ecx; leal 32767(%eax,%ecx), %eax"
module asm "shrl $16, %eax; movd %eax, %xmm0; retq"
module asm "1: orl $4194304, %eax; shrl $16, %eax; movd %eax, %xmm0; retq"
"""

_GLOBALS = f"""
declare void @emu_switch(ptr, ptr)
declare void @emu_start()
@emu_current = global ptr null
@emu_scheduler = global ptr null
@emu_block = global [3 x i32] zeroinitializer
@emu_block_size = global [3 x i32] zeroinitializer
@emu_grid_size = global [3 x i32] zeroinitializer
@emu_parameters = global [512 x i8] zeroinitializer, align 16
@emu_ranges = global [{2 * MAX_RANGES} x i64] zeroinitializer
@emu_range_count = global i64 0
@emu_log = global ptr null
@emu_log_count = global i64 0
define ptr @emu_start_address() {{ ret ptr @emu_start }}
"""

_SCHEDULING = """
define void @emu_run(ptr %fibers, i64 %count) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %slot = getelementptr ptr, ptr %fibers, i64 %i
  %fiber = load ptr, ptr %slot
  store ptr %fiber, ptr @emu_current
  %stack = load ptr, ptr %fiber
  call void @emu_switch(ptr @emu_scheduler, ptr %stack)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @emu_yield(i32 %event) noinline {
  %fiber = load ptr, ptr @emu_current
  %where = getelementptr i8, ptr %fiber, i64 24
  store i32 %event, ptr %where
  %stack = load ptr, ptr @emu_scheduler
  call void @emu_switch(ptr %fiber, ptr %stack)
  ret void
}
"""

_CHECK = f"""
define void @emu_access(ptr %pointer, i64 %size, i32 %writes, i64 %site) noinline {{
entry:
  %address = ptrtoint ptr %pointer to i64
  %end = add i64 %address, %size
  %count = load i64, ptr @emu_range_count
  br label %search
search:
  %i = phi i64 [0, %entry], [%next, %miss]
  %low.at = getelementptr [2 x i64], ptr @emu_ranges, i64 %i, i64 0
  %high.at = getelementptr [2 x i64], ptr @emu_ranges, i64 %i, i64 1
  %low = load i64, ptr %low.at
  %high = load i64, ptr %high.at
  %above = icmp uge i64 %address, %low
  %below = icmp ule i64 %end, %high
  %inside = and i1 %above, %below
  br i1 %inside, label %found, label %miss
miss:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %search, label %outside
outside:
  %bad = load ptr, ptr @emu_current
  %bad.0 = getelementptr i8, ptr %bad, i64 {_ARGUMENTS}
  store i64 %address, ptr %bad.0
  %bad.1 = getelementptr i8, ptr %bad, i64 {_ARGUMENTS + 8}
  store i64 %site, ptr %bad.1
  call void @emu_yield(i32 {EVENT_OUT_OF_BOUNDS})
  ret void
found:
  %stacked = icmp eq i64 %i, 0
  br i1 %stacked, label %private, label %shared
private:
  ret void
shared:
  %used = load i64, ptr @emu_log_count
  %full = icmp uge i64 %used, {LOG_ENTRIES}
  br i1 %full, label %drain, label %append
drain:
  call void @emu_yield(i32 {EVENT_LOG_FULL})
  br label %shared
append:
  %position = load i64, ptr @emu_log_count
  %log = load ptr, ptr @emu_log
  %entry.at = getelementptr {{i64, i32, i32, i32, i32, i64}}, ptr %log, i64 %position
  %fiber = load ptr, ptr @emu_current
  %thread.at = getelementptr i8, ptr %fiber, i64 20
  %thread = load i32, ptr %thread.at
  %epoch.at = getelementptr i8, ptr %fiber, i64 28
  %epoch = load i32, ptr %epoch.at
  %narrow = trunc i64 %size to i32
  store i64 %address, ptr %entry.at
  %field.1 = getelementptr i8, ptr %entry.at, i64 8
  store i32 %narrow, ptr %field.1
  %field.2 = getelementptr i8, ptr %entry.at, i64 12
  store i32 %writes, ptr %field.2
  %field.3 = getelementptr i8, ptr %entry.at, i64 16
  store i32 %thread, ptr %field.3
  %field.4 = getelementptr i8, ptr %entry.at, i64 20
  store i32 %epoch, ptr %field.4
  %field.5 = getelementptr i8, ptr %entry.at, i64 24
  store i64 %site, ptr %field.5
  %grown = add i64 %position, 1
  store i64 %grown, ptr @emu_log_count
  ret void
}}
"""

# Conversions of bfloat, for hosts without instructions for them.
_BFLOAT = """
define i16 @emu_to_bfloat(float %x) {
  %bits = bitcast float %x to i32
  %shifted = lshr i32 %bits, 16
  %odd = and i32 %shifted, 1
  %bias = add i32 %odd, 32767
  %rounded = add i32 %bits, %bias
  %quiet = or i32 %bits, 4194304
  %nan = fcmp uno float %x, 0.0
  %chosen = select i1 %nan, i32 %quiet, i32 %rounded
  %top = lshr i32 %chosen, 16
  %half = trunc i32 %top to i16
  ret i16 %half
}
define float @emu_from_bfloat(i16 %x) {
  %wide = zext i16 %x to i32
  %bits = shl i32 %wide, 16
  %result = bitcast i32 %bits to float
  ret float %result
}
"""

RUNTIME_IR = _SWITCH + _BFLOAT_RUNTIME + _GLOBALS + _SCHEDULING + _CHECK + _BFLOAT
