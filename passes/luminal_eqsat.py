"""The pass `luminal-eqsat`: L1 primitives to L2 kernels through equality saturation.

"luminal.mul"(%x, %w), "luminal.sum_reduce"(..)   =>   "kernel.contract"(%x, %w) with the cheapest fused
epilogue
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..dialects.mlir import ir

if TYPE_CHECKING:
    from .eqsat.refine import KernelTimer


@dataclass(frozen=True)
class LuminalEqsatOptions:
    """Options of luminal-eqsat.

    disable: rule families (scatters, regions, views, indices, algebra, recognition, contractions, attention,
        fast_math) or single rules to switch off
    library: offer products by a BLAS library as well, where kernels are measured
    panel_width: columns of a packed weight panel; 0 turns packing off
    sweeps: passes of the extraction's local search
    restarts: times that the local search starts again from random changes, drawn with `seed`
    candidates: most moves that a round of measuring tries, where kernels are measured
    max_memory: bytes that a call may need besides inputs and results; 0: any
    sizes: sizes of symbols at which kernels are compared, `s0=1;s1=512`; others: 64, moved into the range
    sample: seed of a random program of the e-graph to extract, for testing; negative: the best
    fast_math: use laws that hold for well-behaved numbers only (rules/fast_math.egg)
    record_rules: name the rules that matched on each function, as the attribute `luminal.rules`
    """

    disable: tuple[str, ...] = ()
    library: bool = False
    panel_width: int = 32
    sweeps: int = 4
    restarts: int = 0
    seed: int = 0
    candidates: int = 256
    max_memory: int = 0
    sizes: tuple[str, ...] = ()
    sample: int = -1
    fast_math: bool = False
    record_rules: bool = False


def luminal_eqsat(
    op: ir.Operation, options: LuminalEqsatOptions | None = None, timer: KernelTimer | None = None
) -> Mapping[str, object]:
    """Replace every function's luminal ops by the kernels that saturation and extraction choose.

    Returns statistics: seconds and matches per ruleset, e-nodes, estimated time, what was measured. Without
    a `timer` the estimate alone decides. Raises PassError where no program fits `max_memory`.
    """
    from .eqsat.search import search_module

    # Bodies and programs are walked recursively; a long chain of ops is a deep one.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 100_000))
    return search_module(op, options or LuminalEqsatOptions(), timer)
