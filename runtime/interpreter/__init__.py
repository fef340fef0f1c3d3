"""Reference interpreters of the `luminal` (L1) and `kernel` (L2) dialects in NumPy: plain, slow and exact."""

from .kernel import run_l2
from .luminal import run_l1

__all__ = ["run_l1", "run_l2"]
