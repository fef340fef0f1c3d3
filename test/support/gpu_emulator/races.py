"""Race checks over logs of memory accesses: inside a block between barriers, and between blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .collectives import WARP
from .errors import Race


def _bytes_touched(log: np.ndarray, unit: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """For each group of `unit` bytes of each access: its address, and the index of the access."""
    size = log["size"].astype(np.int64) // unit
    index = np.repeat(np.arange(len(log)), size)
    within = np.arange(len(index)) - np.repeat(np.cumsum(size) - size, size)
    return np.repeat(log["address"], size) + within * unit, index


def _common_unit(log: np.ndarray) -> int:
    """The greatest power of two that divides all addresses and sizes."""
    together = int(np.bitwise_or.reduce(log["address"] | log["size"]))
    return together & -together


def _groups(address: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort by address; returns the access indices in that order and where each address begins."""
    order = np.argsort(address, kind="stable")
    address = address[order]
    return index[order], np.flatnonzero(np.r_[True, address[1:] != address[:-1]])


def check_interval(log: np.ndarray, sites: Sequence[str], block: tuple[int, int, int]) -> None:
    """Raise Race if, between two barriers, two threads of a block conflict.

    Two accesses of one warp are ordered when a warp barrier lies between them.
    """
    if not len(log):
        return
    index, starts = _groups(*_bytes_touched(log, _common_unit(log)))
    thread, writes = log["thread"][index], log["writes"][index] > 0
    several = np.minimum.reduceat(thread, starts) != np.maximum.reduceat(thread, starts)
    suspects = np.flatnonzero(several & np.logical_or.reduceat(writes, starts))
    ends = np.r_[starts[1:], len(index)]
    for suspect in suspects:
        group = index[starts[suspect] : ends[suspect]]
        for first in group[log["writes"][group] > 0]:
            others = log["thread"][group] != log["thread"][first]
            same_warp = log["thread"][group] // WARP == log["thread"][first] // WARP
            ordered = same_warp & (log["epoch"][group] != log["epoch"][first])
            conflicts = group[others & ~ordered]
            if len(conflicts):
                one, other = log[first], log[conflicts[0]]
                raise Race(
                    f"block {block}: thread {one['thread']} [{sites[one['site']]}] and "
                    f"thread {other['thread']} [{sites[other['site']]}] are not ordered"
                )


class BlockAccesses:
    """Which blocks touched each byte of the global arena `[start, start + size)` during one launch."""

    def __init__(self, start: int, size: int) -> None:
        self.start = start
        self.low = np.full(size, np.iinfo(np.int64).max)
        self.high = np.full(size, -1, np.int64)
        self.written = np.zeros(size, bool)

    def add(self, log: np.ndarray, block: int) -> None:
        """Record the accesses of one block (by its linear number)."""
        inside = (log["address"] >= self.start) & (log["address"] < self.start + len(self.low))
        log = log[inside]
        if not len(log):
            return
        address, index = _bytes_touched(log)
        offset = address - self.start
        self.low[offset] = np.minimum(self.low[offset], block)
        self.high[offset] = block
        self.written[offset[log["writes"][index] > 0]] = True

    def check(self) -> None:
        """Raise Race if a byte was written by one block and touched by another."""
        bad = np.flatnonzero(self.written & (self.low < self.high))
        if len(bad):
            at = int(bad[0])
            raise Race(
                f"blocks {self.low[at]} and {self.high[at]} both touch byte {at} of the buffers, one writes"
            )
