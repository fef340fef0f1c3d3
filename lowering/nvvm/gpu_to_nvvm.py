"""The pass `gpu-to-nvvm`: SIMT kernels in the gpu dialect become functions in the llvm and nvvm dialects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from luminal.errors import LoweringError

from ...dialects.mlir import ir, passmanager
from ...dialects.types import dtype_of
from ..gpu.builder import Builder
from ..gpu.launches import gpu_module_of
from .math_functions import FUNCTIONS

_PIPELINE = (
    "builtin.module(gpu.module(convert-scf-to-cf,"
    "convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1},reconcile-unrealized-casts))"
)


@dataclass(frozen=True)
class GpuToNvvmOptions:
    """Options of `gpu-to-nvvm`: there are none."""


def gpu_to_nvvm(module: ir.Operation, options: GpuToNvvmOptions) -> None:
    """Lower the gpu module to the llvm and nvvm dialects; kernels take bare pointers.

    Before: `gpu.func @k(%x: memref<?xf32, #gpu.address_space<global>>, %s0: index)`.
    After: `llvm.func @k(%x: !llvm.ptr<1>, %s0: i64)`. Raises LoweringError for a function without a lowering.
    """
    with module.context, ir.Location.unknown(module.context):
        gpu_module = gpu_module_of(module)
        for op in list(_walk(gpu_module)):
            if op.name.startswith("math."):
                _expand(op)
        for view in gpu_module.regions[0].blocks[0].operations:
            if view.operation.name == "gpu.func":
                _use_static_buffers(view.operation)
        passmanager.PassManager.parse(_PIPELINE).run(module)


def _walk(op: ir.Operation) -> Iterator[ir.Operation]:
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield from _walk(view.operation)
                yield view.operation


def _expand(op: ir.Operation) -> None:
    """Replace an op of the math dialect by arithmetic and instructions of the target."""
    dtype = dtype_of(op.results[0].type)
    function = FUNCTIONS.get(dtype, {}).get(op.name)
    if function is None:
        raise LoweringError(f"'{op.name}' on {dtype} has no lowering for NVIDIA GPUs, at {op.location}")
    with op.location, ir.InsertionPoint(op):
        value = function(Builder(), *op.operands)
    op.results[0].replace_all_uses_with(value)
    op.erase()


def _use_static_buffers(function: ir.Operation) -> None:
    """Bare pointers are only made of memrefs with static shape: declare one element, and cast back inside."""
    block = function.regions[0].blocks[0]
    inputs = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs
    static = [_one_element(type_) for type_ in inputs]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(static, []))
    with function.location, ir.InsertionPoint.at_block_begin(block):
        for argument, dynamic, type_ in zip(list(block.arguments), inputs, static, strict=False):
            if type_ == dynamic:
                continue
            cast = ir.Operation.create("memref.cast", [dynamic], [argument])
            argument.replace_all_uses_except(cast.results[0], cast)
            argument.set_type(type_)


def _one_element(type_: ir.Type) -> ir.Type:
    if not isinstance(type_, ir.MemRefType):
        return type_
    return ir.MemRefType.get([1], type_.element_type, memory_space=type_.memory_space)
