"""One arena for a launch's buffers, with guards: an access past one's end cannot land in another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

GUARD_BYTES = 4096
ALIGNMENT = 64


class Arena:
    """Copies of the arrays of a launch, with gaps between; `ranges` are the addresses that may be touched."""

    def __init__(self, arrays: Sequence[np.ndarray]) -> None:
        offsets, total = [], GUARD_BYTES
        for array in arrays:
            offsets.append(total)
            total += -(-array.nbytes // ALIGNMENT) * ALIGNMENT + GUARD_BYTES
        self._storage = np.full(total + ALIGNMENT, 0xFF, np.uint8)
        self.start = -(-self._storage.ctypes.data // ALIGNMENT) * ALIGNMENT
        self.size = total
        base = self.start - self._storage.ctypes.data
        self.addresses = [self.start + offset for offset in offsets]
        self.ranges = [
            (address, address + array.nbytes) for address, array in zip(self.addresses, arrays, strict=True)
        ]
        self._views = [
            self._storage[base + offset : base + offset + array.nbytes]
            for offset, array in zip(offsets, arrays, strict=True)
        ]
        self._arrays = arrays
        for view, array in zip(self._views, arrays, strict=True):
            view[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)

    def copy_back(self) -> None:
        """Write what the kernel left in the arena to the caller's arrays."""
        for view, array in zip(self._views, self._arrays, strict=True):
            array.reshape(-1).view(np.uint8)[:] = view
