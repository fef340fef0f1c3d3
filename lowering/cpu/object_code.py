"""Kernel ops in, object code out: each distinct kernel is lowered once and compiled once, ever.

Two ops are one kernel when their text is equal but for the names of operands; two lowered kernels when their
text is equal.
LLVM takes tens of milliseconds a kernel; many at a time are compiled side by side in processes of a pool.
"""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...dialects.mlir import ir
from ...dialects.symbol_list import enclosing_symbols
from ...dialects.symbolic import Expr, Sym
from ...errors import LoweringError
from .abi import LoweredKernel
from .cache import ObjectCache, cache_directory, key_of
from .codegen import compile_kernel, toolchain
from .compile_pool import WORTH_STARTING, shared_pool
from .target import Target, host_target

LOWERINGS = {
    "kernel.region": ".region:lower_region",
    "kernel.attention": ".attention:lower_attention",
    "kernel.contract": ".contract:lower_contract",
    "kernel.scatter": ".scatter:lower_scatter",
}
"""Op name -> module:function that lowers it."""

Result = TypeVar("Result")

_NAME = re.compile(r"%[\w#$.-]+")


@dataclass(frozen=True)
class CpuOptions:
    """Options of the CPU back end. `cache`: keep object files on disk for other processes."""

    cache: bool = True


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel op's code: the function's symbol, scratch bytes per thread (in symbols), whether one thread
    runs it.
    """

    symbol: str
    scratch: Expr
    serial: bool


@dataclass
class Statistics:
    """How many kernels were distinct, where their object code came from, and seconds per stage."""

    operations: int = 0
    distinct: int = 0
    memory: int = 0
    disk: int = 0
    compiled: int = 0
    lowering_seconds: float = 0.0
    compile_seconds: float = 0.0


@dataclass
class CompiledKernels:
    """`kernels[i]` belongs to op i; `objects` holds each distinct kernel's object file by symbol."""

    kernels: list[CompiledKernel] = field(default_factory=list)
    objects: dict[str, bytes] = field(default_factory=dict)
    statistics: Statistics = field(default_factory=Statistics)


def signature(operation: ir.Operation, symbols: Sequence[Sym]) -> str:
    """The op's text without the names of its operands and result, and the symbols with their ranges."""
    text = operation.get_asm(print_generic_op_form=True, use_local_scope=True, assume_verified=True)
    head, _, tail = text.partition(f'"{operation.name}"(')
    body = tail[tail.index(")") :]
    names: dict[str, str] = {}
    body = _NAME.sub(lambda match: names.setdefault(match.group(), f"%{len(names)}"), body)
    ranges = ", ".join(f"{symbol}:{symbol.lo}:{symbol.hi}" for symbol in symbols)
    return f"{operation.name}{body}\n{ranges}"


def lower_kernel(operation: ir.Operation) -> LoweredKernel:
    """The op in upstream dialects; LoweringError naming the op and its location if it has no CPU lowering."""
    found = LOWERINGS.get(operation.name)
    if found is None:
        raise LoweringError(f"'{operation.name}' has no lowering to the CPU, at {operation.location}")
    module, _, name = found.partition(":")
    lower: Callable[..., LoweredKernel] = getattr(importlib.import_module(module, __package__), name)
    return lower(operation, enclosing_symbols(operation))


def kernel_key(kernel: LoweredKernel, target: Target) -> str:
    """The cache key of a lowered kernel on this machine."""
    return key_of(kernel.text, str(kernel.loops_as_written), toolchain(), _host(target))


def compile_module(
    operations: Iterable[ir.Operation | ir.OpView], options: CpuOptions | None = None
) -> CompiledKernels:
    """Compiles kernel ops for this machine. Raises LoweringError for an op without CPU lowering."""
    kernels, result = compile_each(operations, options)
    for kernel in kernels:
        if isinstance(kernel, Exception):
            raise kernel
        result.kernels.append(kernel)
    return result


def compile_each(
    operations: Iterable[ir.Operation | ir.OpView], options: CpuOptions | None = None
) -> tuple[list[CompiledKernel | Exception], CompiledKernels]:
    """As `compile_module`, for ops of which some may be refused.

    The list has a kernel or its error for each op; `kernels` of the other result is left empty.
    """
    options = options or CpuOptions()
    result = CompiledKernels()
    build = _Build(ObjectCache(cache_directory() if options.cache else None), result)
    seen: dict[str, CompiledKernel | Exception] = {}
    keys: list[str] = []
    start = time.perf_counter()
    try:
        for item in operations:
            keys.append(signature(item.operation, enclosing_symbols(item)))
            if keys[-1] not in seen:
                lowered = _attempt(lower_kernel, item.operation)
                seen[keys[-1]] = lowered if isinstance(lowered, Exception) else build.begin(lowered)
        middle = time.perf_counter()
        failures = build.finish()
    except BaseException:  # an interrupt: nobody waits for the rest
        build.cancel()
        raise
    result.statistics.lowering_seconds = middle - start
    result.statistics.compile_seconds = time.perf_counter() - middle
    result.statistics.operations = len(keys)
    result.statistics.distinct = len(result.objects)
    found = [seen[key] for key in keys]
    return [
        failures.get(kernel.symbol, kernel) if isinstance(kernel, CompiledKernel) else kernel
        for kernel in found
    ], result


class _Build:
    """Object files of lowered kernels: from the cache, by the compile pool, or made here.

    With a running pool compiling begins at once, and goes on while further kernels are lowered.
    """

    def __init__(self, cache: ObjectCache, result: CompiledKernels) -> None:
        self._cache = cache
        self._result = result
        self._target = host_target()
        self._pool = shared_pool()
        self._waiting: dict[str, tuple[str, LoweredKernel]] = {}
        self._futures: dict[str, Future[bytes]] = {}

    def begin(self, lowered: LoweredKernel) -> CompiledKernel:
        """Takes the object file from the cache, or has it made by the time `finish` returns."""
        key = kernel_key(lowered, self._target)
        kernel = CompiledKernel(f"luminal_kernel_{key}", lowered.scratch, lowered.serial)
        symbol, statistics = kernel.symbol, self._result.statistics
        if symbol in self._result.objects or symbol in self._waiting:
            return kernel
        image, place = self._cache.get(key)
        if image is None:
            self._waiting[symbol] = key, lowered
            if self._pool is not None:
                self._futures[symbol] = self._pool.submit(lowered, symbol)
            return kernel
        self._result.objects[symbol] = image
        if place == "memory":
            statistics.memory += 1
        else:
            statistics.disk += 1
        return kernel

    def finish(self) -> dict[str, Exception]:
        """Waits for everything begun; returns the errors by symbol."""
        failures: dict[str, Exception] = {}
        if self._pool is None and len(self._waiting) >= WORTH_STARTING:
            self._pool = shared_pool(start=True)
        if self._pool is not None:
            for symbol, (_, lowered) in self._waiting.items():
                if symbol not in self._futures:
                    self._futures[symbol] = self._pool.submit(lowered, symbol)
        for symbol, (key, lowered) in self._waiting.items():
            image = _attempt(self._image, symbol, lowered)
            if isinstance(image, Exception):
                failures[symbol] = image
                continue
            self._result.objects[symbol] = image
            self._result.statistics.compiled += 1
            self._cache.put(key, image)
        return failures

    def cancel(self) -> None:
        """Drops what the pool has not begun yet."""
        for future in self._futures.values():
            future.cancel()

    def _image(self, symbol: str, lowered: LoweredKernel) -> bytes:
        if symbol in self._futures:
            return self._futures[symbol].result()
        return compile_kernel(lowered.text, symbol, lowered.loops_as_written)


def _attempt(function: Callable[..., Result], *arguments: Any) -> Result | Exception:
    """What the function returns, or what it raises: one kernel's failure concerns that kernel only."""
    try:
        return function(*arguments)
    except Exception as error:
        return error


def _host(target: Target) -> str:
    from llvmlite import binding

    try:
        features = binding.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM cannot tell on this operating system
        features = ""
    return f"{binding.get_process_triple()} {target} {features}"
