"""Runs the text of a module as native code, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ...dialects.mlir import context, ir
from ...runtime.call import ProgramCall
from ...runtime.options import CompileOptions
from ...runtime.pipeline import build_program
from ...runtime.progress import Progress


def run_native(text: str, arrays: Sequence[np.ndarray], options: CompileOptions) -> list[np.ndarray]:
    """Compile `text` (L1 or L2; @main without symbols) and run it. bf16 arrays are their bits, in and out."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        compilation = build_program(module.operation, options, Progress(False))
        assert compilation.program is not None
        call = ProgramCall(compilation.program)
        tensors = [_to_torch(array, a.type.dtype) for array, a in zip(arrays, call.arguments, strict=True)]
        results, _ = call(tensors)
        return [_to_numpy(tensor) for tensor in results]


def _to_torch(array: np.ndarray, dtype: str) -> torch.Tensor:
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if dtype == "bf16" else tensor


def _to_numpy(tensor: torch.Tensor) -> np.ndarray:
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
