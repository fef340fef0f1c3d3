"""From the llvm dialect to optimised LLVM IR and to PTX, by llvmlite's NVPTX back end."""

from __future__ import annotations

import llvmlite.binding as llvm

from luminal.errors import LoweringError

from ...dialects.mlir import ir, translate_to_llvm_ir
from ..gpu.launches import gpu_module_of
from .gpu_to_nvvm import GpuToNvvmOptions, gpu_to_nvvm
from .literals import rewrite_float_literals
from .targets import NvidiaTarget, target_named

_TRIPLE = "nvptx64-nvidia-cuda"


def to_llvm_ir(module: ir.Module | ir.Operation, arch: str = "sm_80") -> str:
    """The optimised LLVM IR of a module's kernels: exactly what PTX is made from.

    The module may be in the gpu dialect (it is copied, not changed) or already lowered by `gpu-to-nvvm`.
    """
    return str(_optimised(module, target_named(arch)))


def to_ptx(module: ir.Module | ir.Operation, arch: str = "sm_80") -> str:
    """The PTX text of a module's kernels. LoweringError for an unknown `arch` or an op without lowering."""
    target = target_named(arch)
    return _machine(target).emit_assembly(_optimised(module, target))


def _optimised(module: ir.Module | ir.Operation, target: NvidiaTarget) -> llvm.ModuleRef:
    parsed = llvm.parse_assembly(rewrite_float_literals(_llvm_text(module)))
    machine = _machine(target)
    parsed.triple = _TRIPLE
    parsed.data_layout = str(machine.target_data)
    passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(parsed, passes)
    parsed.verify()
    return parsed


def _machine(target: NvidiaTarget) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(_TRIPLE).create_target_machine(
        cpu=target.arch, features=target.ptx_feature, opt=3
    )


def _llvm_text(module: ir.Module | ir.Operation) -> str:
    root = module.operation if isinstance(module, ir.Module) else module
    with root.context:
        lowered = ir.Module.parse(str(root)) if _has_gpu_functions(root) else root
        operation = lowered.operation if isinstance(lowered, ir.Module) else lowered
        if operation is not root:
            gpu_to_nvvm(operation, GpuToNvvmOptions())
        gpu_module = gpu_module_of(operation)
        try:
            return translate_to_llvm_ir(gpu_module)
        except (RuntimeError, ValueError) as error:
            raise LoweringError(f"the gpu module does not translate to LLVM IR: {error}") from error


def _has_gpu_functions(root: ir.Operation) -> bool:
    body = gpu_module_of(root).regions[0].blocks[0]
    return any(view.operation.name == "gpu.func" for view in body.operations)
