"""CPU kernels as text, for people and tests: what each distinct kernel of a module becomes at each level."""

from __future__ import annotations

from collections.abc import Iterator

from ...dialects.mlir import ir, translate_to_llvm_ir
from .abi import LoweredKernel
from .codegen import lower_to_llvm
from .object_code import LOWERINGS, lower_kernel


def list_upstream(module: ir.Operation) -> str:
    """The distinct kernels of a module of kernel ops in upstream dialects (scf, vector, arith, llvm)."""
    return "\n".join(f"// {name}\n{kernel.text}" for name, kernel in _kernels(module))


def list_llvm_ir(module: ir.Operation) -> str:
    """The distinct kernels of a module of kernel ops as LLVM IR."""
    parts = []
    with module.context, ir.Location.unknown(module.context):
        for name, kernel in _kernels(module):
            lowered = lower_to_llvm(kernel.text, name, kernel.loops_as_written)
            parts.append(f"; {name}\n{translate_to_llvm_ir(lowered.operation)}")
    return "\n".join(parts)


def _kernels(module: ir.Operation) -> Iterator[tuple[str, LoweredKernel]]:
    """A readable name and the code of each distinct kernel, in order of first use."""
    seen: set[str] = set()
    for op in _walk(module):
        if op.name in LOWERINGS:
            kernel = lower_kernel(op)
            if kernel.text not in seen:
                seen.add(kernel.text)
                yield f"{op.name.replace('.', '_')}_{len(seen) - 1}", kernel


def _walk(op: ir.Operation) -> Iterator[ir.Operation]:
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield view.operation
                if view.operation.name in ("func.func", "builtin.module"):
                    yield from _walk(view.operation)
