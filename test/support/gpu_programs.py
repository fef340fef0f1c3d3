"""Builds modules of kernels, and runs them on the GPU emulator as PTX's LLVM IR or as Metal source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from gpu_emulator import Emulator, compile_msl
from gpu_emulator.emulator import Order

from luminal.dialects.mlir import context, func, ir
from luminal.dialects.symbol_list import SymbolInfo, set_symbols, solve_symbols
from luminal.dialects.symbolic import Atom, Expr, symbols_in_scope
from luminal.dialects.types import NUMPY_DTYPES, tensor_type
from luminal.lowering.gpu import Buffer, GpuProgram, SimtOptions, lower_to_gpu
from luminal.lowering.metal import to_msl
from luminal.lowering.nvvm import to_llvm_ir

TARGETS = ("cuda", "metal")
# One context for all tests: registering every dialect takes a tenth of a second.
shared_context = cache(context)
ArgumentType = tuple[Sequence[Expr | int], str]


def kernel_module(
    types: Sequence[ArgumentType],
    build: Callable[..., Sequence[ir.Value]],
    symbols: Sequence[SymbolInfo] = (),
) -> str:
    """The text of a module whose `@main` takes tensors of `types` = (dims, dtype); `build` gets them as
    values.
    """
    with shared_context(), ir.Location.unknown(), symbols_in_scope([symbol.sym for symbol in symbols]):
        module = ir.Module.create()
        inputs = [tensor_type(dims, dtype) for dims, dtype in types]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", (inputs, []))
            with ir.InsertionPoint(function.add_entry_block()):
                results = list(build(*function.arguments))
                func.ReturnOp(results)
            type_ = ir.FunctionType.get(inputs, [value.type for value in results])
            function.attributes["function_type"] = ir.TypeAttr.get(type_)
            set_symbols(function, symbols)
        module.operation.verify()
        return str(module)


class EmulatedProgram:
    """A module of kernels, lowered for a target and compiled for the emulator."""

    def __init__(self, text: str, target: str, options: SimtOptions | None = None) -> None:
        with shared_context(), ir.Location.unknown():
            module = ir.Module.parse(text)
            self.program: GpuProgram = lower_to_gpu(module, options)
            self.prefix = "launch_" if target == "metal" else ""
            self.metal = target == "metal"
            self.source = to_msl(module) if self.metal else to_llvm_ir(module)
        self.emulator = Emulator(compile_msl(self.source) if self.metal else self.source)

    def run(self, *arguments: np.ndarray, order: Order | None = None) -> list[np.ndarray]:
        """Launch every kernel in order; bf16 arrays are uint16 bits. Arguments must stay as they are."""
        program = self.program
        shapes = [
            (buffer.dims, array.shape, f"argument {number}")
            for number, (buffer, array) in enumerate(zip(program.buffers, arguments, strict=False))
        ]
        values = solve_symbols(program.symbols, shapes)
        buffers = [np.array(array, order="C") for array in arguments]
        buffers += [_poisoned(buffer, values) for buffer in program.buffers[program.arguments :]]
        for launch in program.launches:
            blocks = int(launch.grid.blocks.evaluate(values))
            operands = [*(buffers[number] for number in launch.buffers), *self._sizes(values)]
            grid, block = (blocks, 1, 1), (launch.grid.threads, 1, 1)
            self.emulator.launch(self.prefix + launch.kernel, grid, block, operands, order)
        for before, after in zip(arguments, buffers, strict=False):
            assert before.tobytes() == after.tobytes(), "a kernel changed an argument"
        return [buffers[number] for number in program.results]

    def _sizes(self, values: dict[Atom, int]) -> list[int | np.ndarray]:
        sizes = [values[symbol.sym] for symbol in self.program.symbols]
        # Metal gets sizes by address.
        return [np.array([size], np.int64) for size in sizes] if self.metal else list(sizes)


def _poisoned(buffer: Buffer, values: dict[Atom, int]) -> np.ndarray:
    """An array full of what a kernel must not leave behind."""
    shape = tuple(int(dim.evaluate(values)) for dim in buffer.dims)
    dtype = NUMPY_DTYPES[buffer.dtype]
    return np.frombuffer(b"\xff" * (int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape).copy()
