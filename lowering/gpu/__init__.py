"""What the GPU targets share: kernels as SIMT code in the upstream `gpu` dialect."""

from .launches import Buffer, GpuProgram, Grid, Launch, gpu_module_of, read_program
from .lower_to_gpu import lower_to_gpu, lower_to_gpu_pass
from .options import SimtOptions

__all__ = [
    "Buffer",
    "GpuProgram",
    "Grid",
    "Launch",
    "SimtOptions",
    "gpu_module_of",
    "lower_to_gpu",
    "lower_to_gpu_pass",
    "read_program",
]
