"""A program that the reference interpreter runs: the oracle behind the same interface as native code."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from ..dialects.mlir import ir
from ..dialects.symbolic import compiled
from ..dialects.types import NUMPY_DTYPES
from ..passes.plan_memory import Storage
from ..passes.schedule import Value, read_signature
from .interpreter import run_l1


class InterpretedProgram:
    """The L1 function `@main` of `module`, one primitive at a time."""

    def __init__(self, module: ir.Operation) -> None:
        self._module = module
        self.signature = read_signature(module)
        self.returned: list[Storage] = []
        self.result_values: list[Value] = []
        self.static_arguments: list[int] = []
        for result in self.signature.results:
            argument = result.writes if result.alias is None else result.alias
            if argument is not None:
                self.returned.append(Storage("argument", argument))
            else:
                self.returned.append(Storage("result", len(self.result_values)))
                self.result_values.append(result.type)

    def run(
        self,
        arguments: Sequence[int],
        results: Sequence[int],
        symbols: tuple[int, ...],
        versions: Sequence[int] = (),
    ) -> None:
        """Runs on addresses of contiguous arguments and of uninitialised results."""
        given = zip(arguments, (argument.type for argument in self.signature.arguments), strict=True)
        arrays = [_array(address, type_, symbols) for address, type_ in given]
        with self._module.context:
            values = run_l1(self._module, [array.copy() for array in arrays])
        for value, home, result in zip(values, self.returned, self.signature.results, strict=True):
            if home.space == "result":
                np.copyto(_array(results[home.index], result.type, symbols), value)
            elif result.writes is not None:
                np.copyto(arrays[home.index], value)

    def planned_memory(self) -> tuple[int, int]:
        """The interpreter plans nothing: NumPy allocates as it goes."""
        return 0, 0


def _array(address: int, type_: Value, symbols: tuple[int, ...]) -> np.ndarray:
    """The memory at `address` as an array, without a copy."""
    shape = compiled(type_.shape, len(symbols))(symbols)
    dtype = NUMPY_DTYPES[type_.dtype]
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if not size:
        return np.zeros(shape, dtype)
    return np.frombuffer(memoryview((ctypes.c_char * size).from_address(address)), dtype).reshape(shape)
