"""GPU kernels executed on the CPU: the LLVM IR that becomes PTX, and Metal source compiled by clang.

Every GPU thread of a block is a fiber, all fibers share one OS thread, and collective operations (barriers,
shuffles) are carried out here for all lanes at once. Every memory access is checked for bounds and for races.
Only x86-64 Linux hosts: the switch between fibers is a few lines of assembly.
"""

from .emulator import Emulator, host_problem
from .errors import Divergence, EmulationError, OutOfBounds, Race, Unsupported
from .msl import compile_msl, missing_compiler

__all__ = [
    "Divergence",
    "EmulationError",
    "Emulator",
    "OutOfBounds",
    "Race",
    "Unsupported",
    "compile_msl",
    "host_problem",
    "missing_compiler",
]
