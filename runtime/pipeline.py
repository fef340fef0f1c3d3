"""From an imported program to one that runs: the stages in order, each timed.

`STAGES` is the readable list. One compilation runs at a time in a process (each has an MLIR context of its
own, but the e-graph and the code generator are busy enough alone).
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..dialects.mlir import ir
from .options import CompileOptions
from .program import KernelCode, Program, Runnable
from .progress import Progress
from .static_pool import StaticPool

if TYPE_CHECKING:
    from .search_timer import SearchTimer

COMPILE_LOCK = threading.RLock()


@dataclass
class Compilation:
    """A program on its way: the module at its present level, what was chosen, and what each stage
    reported.
    """

    module: ir.Operation
    options: CompileOptions
    progress: Progress
    sizes: tuple[str, ...] = ()
    pool: StaticPool = field(default_factory=StaticPool)
    statistics: dict[str, Any] = field(default_factory=dict)
    program: Runnable | None = None

    def observe(self, name: str, found: Mapping[str, object]) -> None:
        """Keeps what pass `name` reported."""
        self.statistics[name] = dict(found)


@dataclass(frozen=True)
class Stage:
    """A named step of a compilation."""

    name: str
    run: Callable[[Compilation], None]


def _canonicalize(compilation: Compilation) -> None:
    _run_pass(compilation, "canonicalize-views")


def _outline(compilation: Compilation) -> None:
    if compilation.options.outline:
        _run_pass(compilation, "outline-layers")


def _search(compilation: Compilation) -> None:
    from ..lowering.cpu.blas import library_available
    from ..lowering.cpu.target import host_target
    from ..passes.luminal_eqsat import LuminalEqsatOptions
    from ..passes.pipeline import run_with

    options = compilation.options
    timer = _timer(compilation)
    chosen = LuminalEqsatOptions(
        disable=options.disable_rules,
        fast_math=options.fast_math,
        panel_width=host_target().panel_width,
        sweeps=options.search_sweeps,
        restarts=options.search_restarts,
        seed=options.seed,
        max_memory=options.max_memory or 0,
        sizes=compilation.sizes,
        library=timer is not None and library_available(),
    )
    run_with(compilation.module, "luminal-eqsat", chosen, compilation.observe, timer=timer)
    found = compilation.statistics["luminal-eqsat"]
    for ruleset, seconds in found.get("seconds per ruleset", {}).items():
        compilation.progress.add(f"search/saturate {ruleset}", seconds)
    measuring = 0.0 if timer is None else timer.seconds_spent
    compilation.progress.add("search/extract", found.get("extraction seconds", 0.0) - measuring)
    compilation.progress.add("search/measure", measuring)
    search = {"alternatives": found.get("alternatives", [])}
    compilation.statistics["search"] = search if timer is None else search | timer.statistics()


def _timer(compilation: Compilation) -> SearchTimer | None:
    """What times kernels for the search; None if its budget is nothing."""
    from .environment import default_search_seconds

    options = compilation.options
    seconds = options.search_seconds
    if seconds is None:
        seconds = default_search_seconds()
    if not seconds:
        return None
    from .search_timer import SearchTimer

    return SearchTimer.of(options, seconds, compilation.module, compilation.sizes, compilation.progress)


def _generate_code(compilation: Compilation) -> None:
    from ..lowering.cpu import CpuOptions, compile_module
    from ..passes.plan_memory import assign_storage
    from ..passes.schedule import read_schedule
    from .environment import default_threads
    from .kernel_info import kernel_infos
    from .native.jit import load_objects
    from .native.team import shared_team

    options = compilation.options
    threads = options.threads or default_threads()
    _run_pass(compilation, "split-reductions")
    schedule = read_schedule(compilation.module)
    compiled = compile_module([kernel.op for kernel in schedule.kernels], CpuOptions(cache=options.cache))
    addresses = load_objects(compiled.objects)
    code = [KernelCode(addresses[k.symbol], k.scratch, k.serial) for k in compiled.kernels]
    compilation.statistics["codegen"] = dataclasses.asdict(compiled.statistics)
    compilation.progress.add("codegen/lower", compiled.statistics.lowering_seconds)
    compilation.progress.add("codegen/compile", compiled.statistics.compile_seconds)
    rows = compilation.statistics.get("search", {}).get("alternatives", [])
    compilation.program = Program(
        schedule,
        assign_storage(schedule),
        code,
        shared_team(threads),
        options.max_memory,
        compilation.pool,
        kernel_infos(compilation.module, schedule, rows),
    )


def _interpret(compilation: Compilation) -> None:
    from .interpreted import InterpretedProgram

    compilation.program = InterpretedProgram(compilation.module)


STAGES: dict[str, tuple[Stage, ...]] = {
    "cpu": (
        Stage("canonicalize", _canonicalize),
        Stage("outline", _outline),
        Stage("search", _search),
        Stage("codegen", _generate_code),
    ),
    "interpreter": (Stage("canonicalize", _canonicalize), Stage("load", _interpret)),
}


def build_program(
    module: ir.Operation,
    options: CompileOptions,
    progress: Progress,
    sizes: tuple[str, ...] = (),
    pool: StaticPool | None = None,
) -> Compilation:
    """Compile the L1 `module` (changed in place); the result's `program` is ready to run.

    `sizes` (`s0=512`): the sizes of some symbols at which kernels are compared. `pool`: where programs of
    one model share packed weights.
    """
    compilation = Compilation(module, options, progress, sizes, pool or StaticPool())
    for stage in STAGES[options.target]:
        with progress.stage(stage.name):
            stage.run(compilation)
    assert compilation.program is not None
    return compilation


def _run_pass(compilation: Compilation, name: str, parameters: dict[str, str] | None = None) -> None:
    from ..passes.pipeline import run_pipeline

    if name in compilation.options.disable_passes:
        return
    text = " ".join(f"{key}={value}" for key, value in (parameters or {}).items())
    run_pipeline(
        compilation.module,
        f"{name}{{{text}}}" if text else name,
        compilation.observe,
    )
