"""Runs single kernel ops on the CPU target, operands at the very end of a page, the next one forbidden."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from luminal.dialects.mlir import context, func, ir
from luminal.dialects.symbol_list import SymbolInfo, set_symbols
from luminal.dialects.symbolic import Expr, as_expr, symbols_in_scope
from luminal.dialects.types import NUMPY_DTYPES, dims_of, dtype_of, tensor_type
from luminal.lowering.cpu import CpuOptions, compile_module
from luminal.runtime.interpreter import run_l2
from luminal.runtime.native.jit import load_objects

Shape = Sequence[Expr | int]
_C = ctypes.CDLL(None)
_KEPT: list[mmap.mmap] = []


def guarded(values: np.ndarray) -> np.ndarray:
    """A copy whose last byte is the last of a page; the next page faults. The memory is never given back."""
    page = mmap.PAGESIZE
    size = (values.nbytes + page - 1) // page * page
    memory = mmap.mmap(-1, size + page)
    _KEPT.append(memory)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if _C.mprotect(ctypes.c_void_p(start + size), ctypes.c_size_t(page), 0):
        raise OSError("mprotect failed")
    block = np.frombuffer(memory, np.uint8, values.nbytes, size - values.nbytes)
    copy = block.view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


@dataclass
class Case:
    """One op: operand (shape, dtype) pairs, and the function that builds it from the operand values."""

    operands: Sequence[tuple[Shape, str]]
    build: Callable[[list[ir.Value]], ir.Value]
    symbols: Sequence[SymbolInfo] = ()

    def __post_init__(self) -> None:
        self.context = context()
        syms = [symbol.sym for symbol in self.symbols]
        with self.context, ir.Location.unknown(), symbols_in_scope(syms):
            self.module = ir.Module.create()
            types = [tensor_type([as_expr(dim) for dim in shape], dtype) for shape, dtype in self.operands]
            with ir.InsertionPoint(self.module.body):
                function = func.FuncOp("main", (types, []))
                set_symbols(function, self.symbols)
                block = function.add_entry_block()
            with ir.InsertionPoint(block):
                result = self.build(list(block.arguments))
                func.ReturnOp([result])
            function.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get(types, [result.type], self.context)
            )
            self.module.operation.verify()
            compiled = compile_module([result.owner], CpuOptions(cache=False))
            self.kernel = compiled.kernels[0]
            self.dims = dims_of(result.type)
            self.dtype = dtype_of(result.type)
        address = load_objects(compiled.objects)[self.kernel.symbol]
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self.function = ctypes.CFUNCTYPE(None, pointer, pointer, number, number, pointer)(address)

    def run(self, arrays: Sequence[np.ndarray], sizes: Sequence[int] = (), threads: int = 2) -> np.ndarray:
        """The result, computed share by share."""
        values = {symbol.sym: size for symbol, size in zip(self.symbols, sizes, strict=True)}
        shape = [dim.evaluate(values) for dim in self.dims]
        buffers = [guarded(array) for array in arrays]
        out = np.zeros(shape, NUMPY_DTYPES[self.dtype])
        out.reshape(-1).view(np.uint8)[...] = 0xA5
        buffers.append(guarded(out))
        pointers = np.array([buffer.ctypes.data for buffer in buffers], np.uint64)
        syms = np.array([*sizes, 0], np.int64)
        scratch = np.zeros(self.kernel.scratch.evaluate(values) + 64, np.uint8)
        start = scratch.ctypes.data + -scratch.ctypes.data % 64
        for thread in range(threads):
            self.function(pointers.ctypes.data, syms.ctypes.data, thread, threads, start)
        return buffers[-1]

    def expected(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """What the reference interpreter says."""
        with self.context, ir.Location.unknown():
            return run_l2(self.module, list(arrays))[0]


def to_float(values: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers to compare by: bf16 bits become floats."""
    if dtype == "bf16":
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return values.astype(np.float64) if values.dtype.kind == "f" else values


def check(
    case: Case, arrays: Sequence[np.ndarray], sizes: Sequence[int] = (), tolerance: float = 2e-6
) -> None:
    """Compare with the interpreter, for several numbers of threads."""
    expected = to_float(case.expected(arrays), case.dtype)
    for threads in (1, 2, 3):
        found = to_float(case.run(arrays, sizes, threads), case.dtype)
        assert found.shape == expected.shape
        if found.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(found, expected)


def random(shape: Sequence[int], dtype: str, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    """Random numbers in memory form."""
    generator = np.random.default_rng(seed)
    if dtype == "i1":
        return generator.integers(0, 2, shape).astype(np.bool_)
    if dtype in ("i64", "i32"):
        return generator.integers(-20, 20, shape).astype(NUMPY_DTYPES[dtype])
    values = generator.standard_normal(shape) * scale
    if dtype != "bf16":
        return values.astype(NUMPY_DTYPES[dtype])
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
