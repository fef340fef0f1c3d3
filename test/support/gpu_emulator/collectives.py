"""Operations that several threads carry out together, for all lanes at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

WARP = 32
BLOCK_BARRIERS = ("llvm.nvvm.barrier.cta.", "llvm.nvvm.barrier0")


def is_block_barrier(name: str) -> bool:
    """Whether the intrinsic waits for the whole block."""
    return name.startswith(BLOCK_BARRIERS)


def shuffle(name: str, fibers: np.ndarray, lanes: np.ndarray) -> None:
    """`shfl.sync.<mode>`: 32-bit exchange in a warp; `lanes` are the linear thread numbers that take part."""
    words = np.ascontiguousarray(fibers["arguments"][lanes][:, :16]).view("u4")
    value, offset, control = words[:, 1], words[:, 2].astype("i8"), words[:, 3].astype("i8")
    lane, clamp, segment = lanes % WARP, control & 31, (control >> 8) & 31
    lowest = lane & segment
    highest = lowest | (clamp & ~segment)
    mode = name.split("shfl.sync.")[1].split(".")[0]
    source = {
        "bfly": lane ^ offset,
        "down": lane + offset,
        "up": lane - offset,
        "idx": lowest | (offset & ~segment),
    }[mode]
    valid = source >= highest if mode == "up" else source <= highest
    source = np.where(valid, source, lane)
    # A lane that takes no part holds a value that nobody should see.
    everyone = np.full((lanes.max() // WARP + 1) * WARP, 0x7FDEAD01, "u4")
    everyone[lanes] = value
    received = everyone[lanes // WARP * WARP + source]
    fibers["result"][lanes, :4] = received[:, None].view("u1").reshape(-1, 4)


def warp_barrier(name: str, fibers: np.ndarray, lanes: np.ndarray) -> None:
    """`bar.warp.sync`: orders the memory accesses of a warp."""
    fibers["epoch"][lanes] += 1


WARP_COLLECTIVES: dict[str, Callable[[str, np.ndarray, np.ndarray], None]] = {
    "llvm.nvvm.shfl.sync.": shuffle,
    "llvm.nvvm.bar.warp.sync": warp_barrier,
}


def warp_collective(name: str) -> Callable[[str, np.ndarray, np.ndarray], None] | None:
    """The handler of a warp-wide intrinsic, or None if it is not modelled."""
    return next((handler for prefix, handler in WARP_COLLECTIVES.items() if name.startswith(prefix)), None)
