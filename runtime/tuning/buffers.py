"""Memory that measured kernels run on: operands of plausible values, and a result.

Operands of one dtype lie side by side in one block, filled once and only ever read. Floats are small normal
numbers of a fixed seed, integers lie between 0 and 1023, so indices are spread and no sum overflows. A cold
operand is found in another place by every launch, in a block of more than twice the last-level cache: the
processor has to fetch it from memory, as it fetches the weights of a model.
"""

from __future__ import annotations

from math import gcd, prod

import numpy as np

from ...dialects.types import BYTES, NUMPY_DTYPES
from ..arena import aligned
from .device import cache_bytes
from .signature import Launch, Operand

_PATTERN = 1 << 16
"""Elements of the random pattern that a block repeats."""

_ALIGNMENT = 64


def bytes_of(operand: Operand) -> int:
    """Bytes of a tensor, rounded up to a cache line."""
    return -(-prod(operand.shape) * BYTES[operand.dtype] // _ALIGNMENT) * _ALIGNMENT


def pattern(dtype: str) -> np.ndarray:
    """The values that blocks of a dtype repeat, in memory form."""
    random = np.random.default_rng(0)
    if dtype == "i1":
        return random.random(_PATTERN) < 0.5
    if dtype.startswith("i"):
        return random.integers(0, 1024, _PATTERN).astype(NUMPY_DTYPES[dtype])
    values = random.standard_normal(_PATTERN) * 0.1
    if dtype == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(NUMPY_DTYPES[dtype])


class Buffers:
    """Blocks of memory that all measurements share. They grow as needed and never shrink."""

    def __init__(self, cold_bytes: int | None = None) -> None:
        self._cold_bytes = 2 * cache_bytes() if cold_bytes is None else cold_bytes
        self._blocks: dict[tuple[str, str], np.ndarray] = {}
        self._turn = 0

    @property
    def held(self) -> int:
        """Bytes held now."""
        return sum(block.nbytes for block in self._blocks.values())

    def needed(self, launch: Launch) -> int:
        """Bytes that a launch runs on."""
        return sum(self._sizes(launch).values())

    def prepare(self, launch: Launch) -> None:
        """Allocates and fills what the launch needs. MemoryError if the system refuses."""
        for (kind, dtype), size in self._sizes(launch).items():
            block = self._blocks.get((kind, dtype))
            if block is None or len(block) < size:
                self._blocks.pop((kind, dtype), None)
                self._blocks[kind, dtype] = _filled(size, dtype)

    def pointers(self, launch: Launch, count: int) -> np.ndarray:
        """Addresses of operands and result for `count` launches in a row: uint64, (count, operands + 1).

        Later calls go on with the cold operands where earlier ones stopped.
        """
        table = np.empty((count, len(launch.operands) + 1), np.uint64)
        turns = np.arange(self._turn, self._turn + count, dtype=np.uint64)
        self._turn += count
        bundles = self._bundles(launch)
        for k, (kind, dtype, offset) in enumerate(self._places(launch)):
            table[:, k] = self._blocks[kind, dtype].ctypes.data + offset
            if kind == "cold":
                bundle = bundles[kind, dtype]
                slots = self._slots(bundle)
                places = turns * np.uint64(_coprime(slots)) % np.uint64(slots)
                table[:, k] += places * np.uint64(bundle)
        return table

    def _places(self, launch: Launch) -> list[tuple[str, str, int]]:
        """Block and offset of each operand and of the result."""
        filled: dict[tuple[str, str], int] = {}
        places: list[tuple[str, str, int]] = []
        for k, operand in enumerate(launch.operands):
            if launch.same[k] != k:
                places.append(places[launch.same[k]])
                continue
            kind = "written" if launch.in_place and k == 0 else "cold" if k in launch.cold else "hot"
            offset = filled.get((kind, operand.dtype), 0)
            filled[kind, operand.dtype] = offset + bytes_of(operand)
            places.append((kind, operand.dtype, offset))
        places.append(places[0] if launch.in_place else ("written", launch.result.dtype, 0))
        return places

    def _bundles(self, launch: Launch) -> dict[tuple[str, str], int]:
        """Bytes of each block that one launch touches."""
        sizes: dict[tuple[str, str], int] = {}
        tensors = (*launch.operands, launch.result)
        for tensor, (kind, dtype, offset) in zip(tensors, self._places(launch), strict=True):
            sizes[kind, dtype] = max(sizes.get((kind, dtype), _ALIGNMENT), offset + bytes_of(tensor))
        return sizes

    def _sizes(self, launch: Launch) -> dict[tuple[str, str], int]:
        """Bytes of each block that the launches of a kernel touch."""
        return {
            (kind, dtype): bundle * (self._slots(bundle) if kind == "cold" else 1)
            for (kind, dtype), bundle in self._bundles(launch).items()
        }

    def _slots(self, bundle: int) -> int:
        """How many places the cold operands of a launch, `bundle` bytes in all, take turns in."""
        return -(-self._cold_bytes // bundle) + 1


def _filled(size: int, dtype: str) -> np.ndarray:
    """A block of at least `size` bytes that repeats the pattern of a dtype."""
    values = pattern(dtype)
    repeats = -(-size // values.nbytes)
    block = aligned(repeats * values.nbytes)
    block.view(values.dtype).reshape(repeats, len(values))[...] = values
    return block


def _coprime(slots: int) -> int:
    """A step that visits all of `slots` places, far from the last one each time: none is fetched ahead."""
    step = max(int(slots * 0.618), 1)
    while gcd(step, slots) != 1:
        step += 1
    return step
