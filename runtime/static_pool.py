"""Memory that weights determine (packed panels), shared by the programs of one model.

Buckets of a model often pack the same weights in the same way. A value is known by its recipe: the kernels
that compute it, down to the arguments, and the present state of these arguments.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np


class StaticPool:
    """Blocks of memory by what they hold; one that no program uses any more is freed.

    Look up and add blocks while holding `lock`, so that each is computed once.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._blocks: weakref.WeakValueDictionary[Any, np.ndarray] = weakref.WeakValueDictionary()

    def find(self, key: Any) -> np.ndarray | None:
        """The block with this content, if some program holds one."""
        return self._blocks.get(key)

    def add(self, key: Any, block: np.ndarray) -> None:
        """Offers a computed block to the other programs."""
        self._blocks[key] = block
