"""CPU kernels: from the `kernel` dialect through upstream dialects to object code for this machine."""

from .abi import LoweredKernel
from .object_code import (
    CompiledKernel,
    CompiledKernels,
    CpuOptions,
    Statistics,
    compile_each,
    compile_module,
    lower_kernel,
)

__all__ = [
    "CompiledKernel",
    "CompiledKernels",
    "CpuOptions",
    "LoweredKernel",
    "Statistics",
    "compile_each",
    "compile_module",
    "lower_kernel",
]
