"""Compiles rewritten LLVM IR for the host and schedules the fibers of a launch, block after block."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from .collectives import WARP, is_block_barrier, warp_collective
from .errors import Divergence, OutOfBounds, Unsupported
from .fibers import (
    ACCESS,
    EVENT_END,
    EVENT_LOG_FULL,
    EVENT_OUT_OF_BOUNDS,
    FIBER,
    FIBER_BYTES,
    LOG_ENTRIES,
    MAX_RANGES,
    STACK_BYTES,
)
from .memory import Arena
from .races import BlockAccesses, check_interval
from .rewrite import rewrite_for_host
from .types import size_of

Order = Callable[[np.ndarray], np.ndarray]
_LIBRARY_CALLS = ("exp2f", "log2f", "sqrtf", "floorf", "fmaf", "fma", "floor", "sqrt")
"""What the host's code generator may call for an LLVM intrinsic."""
_WORDS = STACK_BYTES // 8


def host_problem() -> str | None:
    """Why kernels cannot be emulated on this machine, or None."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"the GPU emulator needs x86-64 Linux, this is {sys.platform} {platform.machine()}"
    if not llvm.get_host_cpu_features().get("f16c"):
        return "the GPU emulator needs a processor that converts half floats (F16C)"
    return None


class Emulator:
    """The kernels of one module of NVVM-flavoured LLVM IR text, ready to launch.

    Raises Unsupported if the module uses what is not modelled (atomics, tensor cores, asynchronous copies).
    """

    def __init__(self, text: str) -> None:
        problem = host_problem()
        if problem:
            raise Unsupported(problem)
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        llvm.initialize_native_asmparser()
        self._host = rewrite_for_host(text)
        module = llvm.parse_assembly(self._host.text)
        module.triple = llvm.get_process_triple()
        module.verify()
        _resolve_library_functions(module)
        machine = llvm.Target.from_triple(module.triple).create_target_machine(
            opt=0, cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), jit=True
        )
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(self._address("emu_run"))
        self._start = ctypes.CFUNCTYPE(ctypes.c_size_t)(self._address("emu_start_address"))()

    def launch(
        self,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[Any],
        order: Order | None = None,
    ) -> None:
        """Run `kernel` on `grid` blocks of `block` threads.

        Args:
            arguments: NumPy arrays (pointers; C-contiguous, changed in place) and integers (passed by value).
            order: permutes the threads that are ready to run, to shake out order dependence.

        Raises OutOfBounds, Race or Divergence.
        """
        arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
        arena = Arena(arrays)
        self._pass_arguments(kernel, arguments, arena)
        _Launch(self, kernel, grid, block, arena, order).run()
        arena.copy_back()

    def _pass_arguments(self, kernel: str, arguments: Sequence[Any], arena: Arena) -> None:
        types = self._host.kernels[kernel]
        if len(types) != len(arguments):
            raise ValueError(f"kernel '{kernel}' takes {len(types)} arguments, got {len(arguments)}")
        addresses = iter(arena.addresses)
        base, offset = self._global("emu_parameters"), 0
        for type_, argument in zip(types, arguments, strict=True):
            size = size_of(type_)
            offset = -(-offset // size) * size
            value = next(addresses) if isinstance(argument, np.ndarray) else int(argument)
            ctypes.memmove(base + offset, value.to_bytes(8, "little", signed=value < 0), size)
            offset += size

    def _address(self, function: str) -> int:
        return self._engine.get_function_address(function)

    def _global(self, name: str) -> int:
        return self._engine.get_global_value_address(name)

    def _array(self, name: str, kind: Any, count: int) -> Any:
        return (kind * count).from_address(self._global(name))


def _resolve_library_functions(module: llvm.ModuleRef) -> None:
    """Tell the code generator where libm's functions are: an unknown one it takes for address 0."""
    library = ctypes.CDLL("libm.so.6")
    names = [function.name for function in module.functions if function.is_declaration]
    for name in [*names, *_LIBRARY_CALLS]:
        if name.startswith(("llvm.", "emu_")):
            continue
        try:
            address = ctypes.cast(library[name], ctypes.c_void_p).value
        except AttributeError:
            raise Unsupported(f"function '{name}' is not modelled") from None
        llvm.add_symbol(name, address)


class _Launch:
    """The state of one launch."""

    def __init__(
        self,
        emulator: Emulator,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arena: Arena,
        order: Order | None,
    ) -> None:
        self.emulator, self.grid, self.arena, self.order = emulator, grid, arena, order
        self.host = emulator._host
        self.count = int(np.prod(block))
        self.threads = np.arange(self.count)
        self.entry = emulator._address(f"emu_entry_{kernel}")
        self.fibers = np.zeros(self.count, FIBER)
        self.fibers["linear"] = self.threads
        self.fibers["x"] = self.threads % block[0]
        self.fibers["y"] = self.threads // block[0] % block[1]
        self.fibers["z"] = self.threads // (block[0] * block[1])
        self.records = (self.fibers.ctypes.data + self.threads * FIBER_BYTES).astype(np.uint64)
        self._stack_bytes = np.zeros(self.count * STACK_BYTES + 16, np.uint8)
        self.stack_start = -(-self._stack_bytes.ctypes.data // 16) * 16
        skip = self.stack_start - self._stack_bytes.ctypes.data
        self.stacks = (
            self._stack_bytes[skip:][: self.count * STACK_BYTES].view(np.uint64).reshape(self.count, _WORDS)
        )
        self.log = np.zeros(LOG_ENTRIES, ACCESS)
        self.drained: list[np.ndarray] = []
        self.blocks = BlockAccesses(arena.start, arena.size)
        self.block = (0, 0, 0)
        self._write_globals(kernel, block)

    def _write_globals(self, kernel: str, block: tuple[int, int, int]) -> None:
        emulator = self.emulator
        emulator._array("emu_block_size", ctypes.c_int32, 3)[:] = block
        emulator._array("emu_grid_size", ctypes.c_int32, 3)[:] = self.grid
        self.shared = [(emulator._global(name), size) for name, size in self.host.shared_of(kernel)]
        stacks = (self.stack_start, self.stack_start + self.count * STACK_BYTES)
        # The stacks come first: the checker does not log accesses to range 0.
        self.ranges = [stacks, *self.arena.ranges, *((start, start + size) for start, size in self.shared)]
        if len(self.ranges) > MAX_RANGES:
            raise Unsupported(f"more than {MAX_RANGES} buffers and shared arrays")
        table = emulator._array("emu_ranges", ctypes.c_int64, 2 * MAX_RANGES)
        for position, (low, high) in enumerate(self.ranges):
            table[2 * position], table[2 * position + 1] = low, high
        emulator._array("emu_range_count", ctypes.c_int64, 1)[0] = len(self.ranges)
        emulator._array("emu_log", ctypes.c_void_p, 1)[0] = self.log.ctypes.data
        self.log_count = emulator._array("emu_log_count", ctypes.c_int64, 1)

    def run(self) -> None:
        position = self.emulator._array("emu_block", ctypes.c_int32, 3)
        width, height, depth = self.grid
        for number in range(width * height * depth):
            self.block = (number % width, number // width % height, number // (width * height))
            position[:] = self.block
            self._start_block()
            self._run_block(number)
        self.blocks.check()

    def _start_block(self) -> None:
        for start, size in self.shared:
            # Uninitialised shared memory reads as NaN.
            ctypes.memset(start, 0xFF, size)
        # A new stack: r15 r14 r13 r12 rbx rbp, then the address that the switch returns to.
        self.stacks[:, _WORDS - 16 :] = 0
        self.stacks[:, _WORDS - 11] = self.records
        self.stacks[:, _WORDS - 10] = self.entry
        self.stacks[:, _WORDS - 7] = self.emulator._start
        self.fibers["stack"] = self.stack_start + self.threads * STACK_BYTES + (_WORDS - 13) * 8
        self.fibers["epoch"] = 0
        self.log_count[0] = 0
        self.drained = []

    def _run_block(self, number: int) -> None:
        alive = np.ones(self.count, bool)
        ready = self.threads
        while len(ready):
            if self.order is not None:
                ready = self.order(ready)
            self._resume(ready)
            alive[ready[self.fibers["event"][ready] == EVENT_END]] = False
            live = self.threads[alive]
            ready = self._warp_collectives(live)
            if len(ready) or not len(live):
                continue
            if len(live) != self.count:
                raise Divergence(
                    f"block {self.block}: {self.count - len(live)} threads ended before a barrier"
                )
            self._end_interval(number)
            ready = live
        self._end_interval(number)

    def _resume(self, ready: np.ndarray) -> None:
        """Run fibers until each has yielded something other than a full log."""
        while len(ready):
            records = np.ascontiguousarray(self.records[ready])
            self.emulator._run(records.ctypes.data, len(records))
            events = self.fibers["event"][ready]
            if (events == EVENT_OUT_OF_BOUNDS).any():
                self._report_out_of_bounds(int(ready[events == EVENT_OUT_OF_BOUNDS][0]))
            ready = ready[events == EVENT_LOG_FULL]
            if len(ready):
                self.drained.append(self.log[: self.log_count[0]].copy())
                self.log_count[0] = 0

    def _report_out_of_bounds(self, thread: int) -> None:
        address, site = (int(word) for word in self.fibers["arguments"][thread][:16].view(np.int64))
        low, high = min(self.ranges[1:], key=lambda pair: min(abs(address - pair[0]), abs(address - pair[1])))
        what = self.ranges.index((low, high)) - 1
        name = f"buffer {what}" if what < len(self.arena.ranges) else "a shared array"
        raise OutOfBounds(
            f"block {self.block} thread {thread}: byte {address - low} of {name} ({high - low} bytes): "
            f"{self.host.sites[site]}"
        )

    def _warp_collectives(self, live: np.ndarray) -> np.ndarray:
        """Carry out what the warps of `live` wait for; returns the threads that can go on."""
        waiting = self.fibers["event"]
        released = [np.zeros(0, self.threads.dtype)]
        for event in np.unique(waiting[live]):
            name = self.host.collectives[int(event)]
            if is_block_barrier(name):
                continue
            handler = warp_collective(name)
            if handler is None:
                raise Unsupported(f"intrinsic '{name}' is not modelled")
            arrived = np.zeros(self.count // WARP + 1, bool)
            arrived[live[waiting[live] == event] // WARP] = True
            lanes = live[arrived[live // WARP]]
            if (waiting[lanes] != event).any():
                raise Divergence(f"block {self.block}: the lanes of a warp do not all reach '{name}'")
            handler(name, self.fibers, lanes)
            released.append(lanes)
        return np.concatenate(released)

    def _end_interval(self, number: int) -> None:
        log = np.concatenate([*self.drained, self.log[: self.log_count[0]]])
        check_interval(log, self.host.sites, self.block)
        self.blocks.add(log, number)
        self.fibers["epoch"] = 0
        self.drained = []
        self.log_count[0] = 0
