"""The GPU emulator itself, on small kernels written in LLVM IR: what it computes and what it must catch."""

from __future__ import annotations

import numpy as np
import pytest
from gpu_compare import require_target
from gpu_emulator import Divergence, Emulator, OutOfBounds, Race, Unsupported

THREAD = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
SHUFFLE = "declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)\n"


@pytest.fixture(autouse=True)
def _host() -> None:
    require_target("cuda")


def test_a_barrier_that_some_threads_skip_is_caught() -> None:
    text = """
        declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
        declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
        define ptx_kernel void @skips() {
          %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
          %first = icmp eq i32 %thread, 0
          br i1 %first, label %done, label %wait
        wait:
          call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
          br label %done
        done:
          ret void
        }"""
    with pytest.raises(Divergence):
        Emulator(text).launch("skips", (1, 1, 1), (64, 1, 1), [])


def test_two_blocks_that_write_one_element_are_caught() -> None:
    text = """
        define ptx_kernel void @collides(ptr addrspace(1) %out) {
          store float 1.0, ptr addrspace(1) %out
          ret void
        }"""
    with pytest.raises(Race, match="blocks 0 and 1"):
        Emulator(text).launch("collides", (2, 1, 1), (1, 1, 1), [np.zeros(1, np.float32)])


def test_more_accesses_than_the_log_holds() -> None:
    """A million accesses between barriers, then a race in the last of them."""
    text = (
        THREAD
        + """
        define ptx_kernel void @counts(ptr addrspace(1) %out, i64 %last) {
        entry:
          %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
          %wide = zext i32 %thread to i64
          %mine = getelementptr i32, ptr addrspace(1) %out, i64 %wide
          br label %loop
        loop:
          %i = phi i32 [0, %entry], [%next, %loop]
          %old = load i32, ptr addrspace(1) %mine
          %new = add i32 %old, 1
          store i32 %new, ptr addrspace(1) %mine
          %next = add i32 %i, 1
          %more = icmp ult i32 %next, 8000
          br i1 %more, label %loop, label %done
        done:
          %bit = and i64 %wide, %last
          %shared = getelementptr i32, ptr addrspace(1) %out, i64 %bit
          %value = load i32, ptr addrspace(1) %shared
          ret void
        }"""
    )
    emulator, out = Emulator(text), np.zeros(64, np.int32)
    emulator.launch("counts", (1, 1, 1), (64, 1, 1), [out, 63])
    assert (out == 8000).all()
    with pytest.raises(Race):
        emulator.launch("counts", (1, 1, 1), (64, 1, 1), [out, 1])


def test_shuffles_exchange_values_and_lanes_must_take_part() -> None:
    text = (
        THREAD
        + SHUFFLE
        + """
        define ptx_kernel void @swaps(ptr addrspace(1) %out, i32 %limit) {
          %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
          %in = icmp ult i32 %thread, %limit
          br i1 %in, label %exchange, label %done
        exchange:
          %other = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %thread, i32 4, i32 31)
          %wide = zext i32 %thread to i64
          %mine = getelementptr i32, ptr addrspace(1) %out, i64 %wide
          store i32 %other, ptr addrspace(1) %mine
          br label %wait
        wait:
          %again = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %thread, i32 1, i32 31)
          br label %done
        done:
          ret void
        }"""
    )
    emulator, out = Emulator(text), np.zeros(64, np.int32)
    emulator.launch("swaps", (1, 1, 1), (64, 1, 1), [out, 64])
    np.testing.assert_array_equal(out, np.arange(64) ^ 4)


def test_lanes_at_different_collectives_are_caught() -> None:
    text = (
        THREAD
        + SHUFFLE
        + """
        declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
        define ptx_kernel void @splits() {
          %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
          %first = icmp eq i32 %thread, 0
          br i1 %first, label %one, label %other
        one:
          %x = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %thread, i32 1, i32 31)
          ret void
        other:
          call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
          ret void
        }"""
    )
    with pytest.raises(Divergence, match="do not all reach"):
        Emulator(text).launch("splits", (1, 1, 1), (32, 1, 1), [])


def test_an_access_next_to_a_buffer_never_lands_in_another() -> None:
    text = """
        define ptx_kernel void @reads(ptr addrspace(1) %x, ptr addrspace(1) %y, i64 %at) {
          %p = getelementptr float, ptr addrspace(1) %x, i64 %at
          %v = load float, ptr addrspace(1) %p
          store float %v, ptr addrspace(1) %y
          ret void
        }"""
    emulator, x, y = Emulator(text), np.arange(3, dtype=np.float32), np.zeros(1, np.float32)
    emulator.launch("reads", (1, 1, 1), (1, 1, 1), [x, y, 2])
    assert y[0] == 2
    for at in (-1, 3):
        with pytest.raises(OutOfBounds, match="buffer 0"):
            emulator.launch("reads", (1, 1, 1), (1, 1, 1), [x, y, at])


def test_atomics_are_not_modelled() -> None:
    text = """
        define ptx_kernel void @adds(ptr addrspace(1) %x) {
          %old = atomicrmw add ptr addrspace(1) %x, i32 1 monotonic
          ret void
        }"""
    with pytest.raises(Unsupported, match="atomicrmw"):
        Emulator(text)
