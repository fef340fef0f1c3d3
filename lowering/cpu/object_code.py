"""Kernel ops in, object code out: each distinct kernel is lowered once and compiled once, ever.

Two ops are one kernel when their text is equal but for the names of operands; two lowered kernels when their
text is equal.
Compiling is single-threaded: LLVM takes tens of milliseconds a kernel, and Python threads hardly overlap.
"""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ...dialects.mlir import ir
from ...dialects.symbol_list import enclosing_symbols
from ...dialects.symbolic import Expr, Sym
from ...errors import LoweringError
from .abi import LoweredKernel
from .cache import ObjectCache, cache_directory, key_of
from .codegen import compile_kernel, toolchain
from .target import Target, host_target

LOWERINGS = {
    "kernel.region": ".region:lower_region",
    "kernel.contract": ".contract:lower_contract",
    "kernel.scatter": ".scatter:lower_scatter",
}
"""Op name -> module:function that lowers it."""

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
    options = options or CpuOptions()
    target = host_target()
    cache = ObjectCache(cache_directory() if options.cache else None)
    result = CompiledKernels()
    seen: dict[str, CompiledKernel] = {}
    for item in operations:
        operation = item.operation
        start = time.perf_counter()
        key = signature(operation, enclosing_symbols(operation))
        if key not in seen:
            lowered = lower_kernel(operation)
            result.statistics.lowering_seconds += time.perf_counter() - start
            seen[key] = _compile(lowered, target, cache, result)
        else:
            result.statistics.lowering_seconds += time.perf_counter() - start
        result.kernels.append(seen[key])
    result.statistics.operations = len(result.kernels)
    result.statistics.distinct = len(result.objects)
    return result


def _compile(
    lowered: LoweredKernel, target: Target, cache: ObjectCache, result: CompiledKernels
) -> CompiledKernel:
    key = kernel_key(lowered, target)
    kernel = CompiledKernel(f"luminal_kernel_{key}", lowered.scratch, lowered.serial)
    if kernel.symbol in result.objects:
        return kernel
    image, place = cache.get(key)
    start = time.perf_counter()
    if image is None:
        image = compile_kernel(lowered.text, kernel.symbol, lowered.loops_as_written)
        cache.put(key, image)
        result.statistics.compiled += 1
    elif place == "memory":
        result.statistics.memory += 1
    else:
        result.statistics.disk += 1
    result.statistics.compile_seconds += time.perf_counter() - start
    result.objects[kernel.symbol] = image
    return kernel


def _host(target: Target) -> str:
    from llvmlite import binding

    try:
        features = binding.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM cannot tell on this operating system
        features = ""
    return f"{binding.get_process_triple()} {target} {features}"
