"""From a lowered kernel's text to an object file for this machine: upstream passes, then LLVM.

LLVM is the one inside MLIR's execution engine, used as a compiler only: it selects the host's instructions,
and the
object file that it writes is loaded later without MLIR.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import tempfile
from pathlib import Path

from ...dialects.mlir import execution_engine, ir, passmanager
from ...errors import LoweringError
from .abi import ENTRY
from .blas import ROUTINES

PIPELINE = (
    "builtin.module(canonicalize,cse,lower-affine,convert-scf-to-cf,convert-vector-to-llvm,convert-math-to-llvm,"
    "convert-ub-to-llvm,convert-index-to-llvm,convert-arith-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,"
    "reconcile-unrealized-casts,canonicalize,cse)"
)
"""From scf, vector, math and arith over `!llvm.ptr` to the llvm dialect."""

# Wide vectors are emitted where they pay; LLVM must neither split them nor inline kernels into each other.
_ATTRIBUTES = '["noinline", "nounwind", ["prefer-vector-width", "512"]]'


_KEEP_LOOP = "#llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>"


_UNLINKED = ctypes.CFUNCTYPE(None)(lambda: None)


def toolchain() -> str:
    """What decides the object code besides the kernel's text: versions, pipeline and function attributes."""
    versions = [f"{name}={importlib.metadata.version(name)}" for name in ("torch-mlir", "llvmlite")]
    return "\n".join([*versions, PIPELINE, _ATTRIBUTES, _KEEP_LOOP])


def lower_to_llvm(text: str, symbol: str, loops_as_written: bool = False) -> ir.Module:
    """The kernel's module in the llvm dialect, its entry renamed to `symbol`; needs a current context.

    Raises LoweringError when the text is not valid or a pass fails.
    """
    try:
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(PIPELINE).run(module.operation)
    except ir.MLIRError as error:
        raise LoweringError(f"CPU kernel {symbol} does not lower to LLVM: {error}\n{text}") from error
    attributes = ir.Attribute.parse(_ATTRIBUTES)
    for function in module.body.operations:
        if function.operation.name != "llvm.func":
            continue
        function.attributes["passthrough"] = attributes
        if loops_as_written:
            _keep_loops(function.operation)
        if ir.StringAttr(function.attributes["sym_name"]).value == ENTRY:
            function.attributes["sym_name"] = ir.StringAttr.get(symbol)
    return module


def _keep_loops(function: ir.Operation) -> None:
    """Marks every branch back to an earlier block: LLVM leaves that loop as it is."""
    annotation = ir.Attribute.parse(_KEEP_LOOP)
    seen: list[ir.Block] = []
    for block in function.regions[0].blocks:
        seen.append(block)
        branch = block.operations[len(block.operations) - 1].operation
        if any(target in seen for target in branch.successors):
            branch.attributes["loop_annotation"] = annotation


def compile_kernel(text: str, symbol: str, loops_as_written: bool = False) -> bytes:
    """The object file of one kernel, which defines `symbol`."""
    with ir.Context() as context, ir.Location.unknown(context):
        context.enable_multithreading(False)
        engine = execution_engine.ExecutionEngine(lower_to_llvm(text, symbol, loops_as_written), opt_level=3)
        for name in ROUTINES.values():
            if name in text:  # linked when the kernel is loaded; here it must only be known
                engine.raw_register_runtime(name, ctypes.cast(_UNLINKED, ctypes.c_void_p))
        # The engine names its output by path only.
        handle, name = tempfile.mkstemp(suffix=".o")
        os.close(handle)
        try:
            engine.dump_to_object_file(name)
            image = Path(name).read_bytes()
        finally:
            Path(name).unlink()
    if not image:
        raise LoweringError(f"LLVM wrote no object code for CPU kernel {symbol}\n{text}")
    return image
