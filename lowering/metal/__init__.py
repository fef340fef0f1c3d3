"""Apple GPUs: kernels in the gpu dialect as Metal Shading Language source."""

from .msl import MAX_BUFFERS, to_msl

__all__ = ["MAX_BUFFERS", "to_msl"]
