"""Times the kernels that the search asks about: through the tuning database, each distinct one once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from ..dialects.mlir import ir
from ..dialects.symbolic import symbols_in_scope
from ..dialects.types import symbols_of
from ..passes.eqsat.cost import Machine
from ..passes.eqsat.samples import KernelSample
from ..passes.eqsat.search import representative_sizes
from ..passes.schedule import read_schedule
from ..passes.split_reductions import split_reductions
from .options import CompileOptions
from .progress import Progress
from .tuning import Budget, Measurer, TuningDatabase
from .tuning.calibration import measured_machine


class SearchTimer:
    """Seconds of kernel samples at the program's representative sizes."""

    def __init__(self, measurer: Measurer, sizes: Sequence[int]) -> None:
        self._measurer = measurer
        self._sizes = tuple(sizes)

    @classmethod
    def of(
        cls,
        options: CompileOptions,
        seconds: float,
        module: ir.Operation,
        sizes: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> SearchTimer:
        """The timer of one compilation of `module`, with a budget of `seconds`; `sizes` (`s0=512`) are those
        of some symbols; `progress` shows what is measured.
        """
        from .environment import default_threads
        from .native.team import shared_team

        team = shared_team(options.threads or default_threads())
        budget = Budget(seconds, options.search_candidates)
        count = itertools.count(1)

        def tell(kernel: str, taken: float | None) -> None:
            if progress is not None and taken is None:
                progress.status(f"luminal: {next(count)}: {kernel}")

        measurer = Measurer(TuningDatabase.open(None), team, budget, options.cache, tell)
        return cls(measurer, _sizes(module, sizes))

    @cached_property
    def machine(self) -> Machine:
        """The constants of the estimate, as measured on this machine."""
        return measured_machine(self._measurer)

    @property
    def seconds_spent(self) -> float:
        """Seconds that compiling and timing took."""
        return self._measurer.seconds_spent

    def statistics(self) -> dict[str, Any]:
        """What was measured and what was skipped, and why."""
        return {"measuring seconds": self.seconds_spent, "log": list(self._measurer.log)}

    def time(
        self,
        samples: Sequence[KernelSample],
        limits: Sequence[float | None] | None = None,
        again: bool = False,
    ) -> list[float | None]:
        """Seconds per launch of each sample; a kernel that a later pass cuts in two counts with both."""
        kernels: list[ir.Operation] = []
        cold: list[frozenset[int]] = []
        parts: list[range] = []
        modules = [sample.module.clone() for sample in samples]  # own the kernels while they are measured
        for sample, module in zip(samples, modules, strict=True):
            split_reductions(module)
            schedule = read_schedule(module)
            first = len(kernels)
            for step in schedule.steps:
                kernels.append(schedule.kernels[step.kernel].op)
                cold.append(frozenset(i for i, v in enumerate(step.operands) if v in sample.cold))
            parts.append(range(first, len(kernels)))
        bounds = None if limits is None else [limits[i] for i, part in enumerate(parts) for _ in part]
        times = self._measurer.measure(kernels, self._sizes, bounds, cold, again)
        return [_sum([times[i] for i in part]) for part in parts]


def _sum(times: list[float | None]) -> float | None:
    known = [t for t in times if t is not None]
    return sum(known) if len(known) == len(times) else None


def _sizes(module: ir.Operation, sizes: Sequence[str]) -> list[int]:
    """A size for each of the module's symbols."""
    for func in (o.operation for o in module.regions[0].blocks[0].operations):
        if func.name == "func.func":
            symbols = symbols_of(func)
            with symbols_in_scope([s.sym for s in symbols]):
                return list(representative_sizes(symbols, sizes).values())
    return []
