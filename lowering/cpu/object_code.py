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
from typing import Any, TypeVar

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
    cache = ObjectCache(cache_directory() if options.cache else None)
    result = CompiledKernels()
    start = time.perf_counter()
    lowered = _lower_distinct(operations)
    result.statistics.lowering_seconds = time.perf_counter() - start
    start = time.perf_counter()
    kernels = _compile_distinct(list({id(each): each for each in lowered}.values()), cache, result)
    result.statistics.compile_seconds = time.perf_counter() - start
    result.statistics.operations = len(lowered)
    result.statistics.distinct = len(result.objects)
    return [kernels[id(each)] for each in lowered], result


def _lower_distinct(operations: Iterable[ir.Operation | ir.OpView]) -> list[LoweredKernel | Exception]:
    """Every op lowered, or its error; equal ops have the same object."""
    seen: dict[str, LoweredKernel | Exception] = {}
    lowered: list[LoweredKernel | Exception] = []
    for item in operations:
        key = signature(item.operation, enclosing_symbols(item))
        if key not in seen:
            seen[key] = _attempt(lower_kernel, item.operation)
        lowered.append(seen[key])
    return lowered


def _compile_distinct(
    lowered: list[LoweredKernel | Exception], cache: ObjectCache, result: CompiledKernels
) -> dict[int, CompiledKernel | Exception]:
    """The code of each of `lowered`, by its id; object files go into `result`."""
    target, statistics = host_target(), result.statistics
    found: dict[int, CompiledKernel | Exception] = {}
    for each in lowered:
        if isinstance(each, Exception):
            found[id(each)] = each
            continue
        key = kernel_key(each, target)
        kernel = CompiledKernel(f"luminal_kernel_{key}", each.scratch, each.serial)
        found[id(each)] = kernel
        if kernel.symbol in result.objects:
            continue
        image, place = cache.get(key)
        if image is None:
            compiled = _attempt(compile_kernel, each.text, kernel.symbol, each.loops_as_written)
            if isinstance(compiled, Exception):
                found[id(each)] = compiled
                continue
            image = compiled
            cache.put(key, image)
            statistics.compiled += 1
        elif place == "memory":
            statistics.memory += 1
        else:
            statistics.disk += 1
        result.objects[kernel.symbol] = image
    return found


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
