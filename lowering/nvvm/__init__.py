"""NVIDIA GPUs: kernels in the gpu dialect to the nvvm and llvm dialects, and to PTX."""

from .gpu_to_nvvm import GpuToNvvmOptions, gpu_to_nvvm
from .ptx import to_llvm_ir, to_ptx
from .targets import TARGETS, NvidiaTarget, target_named

__all__ = [
    "TARGETS",
    "GpuToNvvmOptions",
    "NvidiaTarget",
    "gpu_to_nvvm",
    "target_named",
    "to_llvm_ir",
    "to_ptx",
]
