"""Sizes that the SIMT lowering is free to choose, and what it may assume of a target."""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32
"""Threads that exchange values by shuffles: a warp on NVIDIA, a SIMD group on Apple."""


@dataclass(frozen=True)
class SimtOptions:
    """Options of `lower-to-gpu`.

    threads: threads per block, a multiple of 32
    shared_bytes: shared memory that the local tensors of one kernel may take; beyond it they are recomputed
    serial_reduction: a reduction of at most this many elements per result is left to single threads
    tile: rows and columns of the result tile of a contraction's block
    tile_depth: elements of the contracted dimension that are staged in shared memory at a time
    """

    threads: int = 256
    shared_bytes: int = 16384
    serial_reduction: int = 64
    tile: int = 32
    tile_depth: int = 16
