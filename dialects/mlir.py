"""The one place where MLIR comes from.

luminal uses the MLIR that torch-mlir carries. Nothing else in the package names `torch_mlir`'s core bindings,
so
a move to another build of MLIR changes this file only.

Python-defined verifiers run under the interpreter lock, and MLIR's own thread pool would wait for that lock
forever: contexts made here have multithreading off.
"""

from __future__ import annotations

import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

from torch_mlir import execution_engine, ir, passmanager, rewrite
from torch_mlir._mlir_libs import _mlir

if TYPE_CHECKING:
    from torch_mlir.dialects import (
        affine,
        arith,
        cf,
        ext,
        func,
        gpu,
        linalg,
        llvm,
        math,
        memref,
        nvvm,
        scf,
        vector,
    )
    from torch_mlir.dialects import torch as torch_dialect

__all__ = [
    "affine",
    "arith",
    "cf",
    "context",
    "execution_engine",
    "ext",
    "func",
    "gpu",
    "ir",
    "linalg",
    "llvm",
    "load_dialects",
    "math",
    "memref",
    "nvvm",
    "passmanager",
    "rewrite",
    "scf",
    "torch_dialect",
    "translate_to_llvm_ir",
    "vector",
]

# MLIR looks op classes up in packages named here; without this it searches in vain for every single op.
_mlir.globals.append_dialect_search_prefix(__package__)

# Attaching Python traits to a dynamic dialect writes process-wide tables without a lock of its own.
_LOAD_LOCK = threading.Lock()


def __getattr__(name: str) -> Any:
    # All dialects together take half a second to import: a process that compiles one kernel needs few.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"torch_mlir.dialects.{name.removesuffix('_dialect')}")


def load_dialects(ctx: ir.Context) -> ir.Context:
    """Load the `luminal` and `kernel` dialects into `ctx` (once; later calls do nothing) and return it."""
    from . import kernel, luminal

    with _LOAD_LOCK, ctx, ir.Location.unknown(ctx):
        for dialect in (luminal.Luminal, kernel.Kernel):
            if not ctx.is_dialect_loaded(dialect.DIALECT_NAMESPACE):
                dialect.load()
    return ctx


def context() -> ir.Context:
    """A new context with luminal's and torch-mlir's dialects loaded and multithreading off."""
    ctx = ir.Context()
    ctx.enable_multithreading(False)
    with _LOAD_LOCK:
        import_module("torch_mlir.dialects.torch").register_dialect(ctx)
    return load_dialects(ctx)


def translate_to_llvm_ir(operation: Any) -> str:
    """LLVM IR text of a module in the `llvm` dialect."""
    return import_module("torch_mlir.dialects.llvm").translate_module_to_llvmir(operation)
