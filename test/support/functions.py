"""Small functions of one dialect's ops, built in Python, and arrays in and out of torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch

from luminal.dialects.mlir import context, func, ir
from luminal.dialects.symbolic import Expr, symbols_in_scope
from luminal.dialects.types import SymbolInfo, scope_of, set_symbols, tensor_type

TORCH_DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i1": torch.bool,
}

# One context for all tests: registering every dialect takes a tenth of a second.
_context = cache(context)

Argument = tuple[Sequence[Expr | int], str]


def build(
    arguments: Sequence[Argument],
    body: Callable[..., ir.Value | Sequence[ir.Value]],
    symbols: Sequence[SymbolInfo] = (),
) -> ir.Module:
    """A verified module whose @main takes tensors of these types and returns what `body` returns."""
    with _context(), ir.Location.unknown(), symbols_in_scope([symbol.sym for symbol in symbols]):
        module = ir.Module.create()
        types = [tensor_type(dims, dtype) for dims, dtype in arguments]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ir.FunctionType.get(types, []))
        set_symbols(function, symbols)
        block = function.add_entry_block()
        with scope_of(function), ir.InsertionPoint(block):
            built = body(*block.arguments)
            results = [built] if isinstance(built, ir.Value) else list(built)
            func.ReturnOp(results)
        signature = ir.FunctionType.get(types, [result.type for result in results])
        function.attributes["function_type"] = ir.TypeAttr.get(signature)
        module.operation.verify()
        return module


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """A tensor as the runtime's array: bf16 as its bits."""
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16)
    return tensor.numpy()


def to_tensor(array: np.ndarray, dtype: str) -> torch.Tensor:
    """The other way."""
    if dtype == "bf16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
