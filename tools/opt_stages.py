"""`luminal-opt --target=NAME`: run a target's stages one after another and show what each one made."""

from collections.abc import Callable

from ..dialects.mlir import ir
from ..passes.pipeline import build_pipeline
from ..passes.targets import SEARCH, TARGETS, Stage
from .opt_arguments import OptArguments, UsageError
from .opt_statistics import statistics_printer


def run_stages(op: "ir.Operation", arguments: OptArguments, show: Callable[["ir.Operation"], str]) -> str:
    """The text of every stage under a heading, or of the stage `--stage` names alone. Raises UsageError."""
    target, _, arch = (arguments.target or "").partition(":")
    shown = []
    for stage in _stages(target, arch, arguments.stage):
        text = _run_stage(op, stage, arch, arguments, show)
        if arguments.stage == stage.name:
            return text
        shown.append(f"// -----// {stage.name} //----- //\n{text}")
    return "\n".join(shown)


def _stages(target: str, arch: str, wanted: str | None) -> tuple[Stage, ...]:
    if target not in TARGETS:
        raise UsageError(f"unknown target '{target}' (targets: {', '.join(TARGETS)})")
    stages = TARGETS[target]
    names = [stage.name for stage in stages]
    if wanted is not None and wanted not in names:
        raise UsageError(f"target '{target}' has no stage '{wanted}' (its stages: {', '.join(names)})")
    if arch and not any(stage.arch for stage in stages):
        raise UsageError(f"target '{target}' has no architectures to choose from")
    return stages


def _run_stage(
    op: "ir.Operation",
    stage: Stage,
    arch: str,
    arguments: OptArguments,
    show: Callable[["ir.Operation"], str],
) -> str:
    if stage.emit:
        return stage.emitter()(op, arch) if stage.arch and arch else stage.emitter()(op)
    if stage in SEARCH and _is_searched(op):
        return show(op)
    manager = build_pipeline(stage.passes, statistics_printer(arguments))
    manager.enable_verifier(arguments.verify_each)
    manager.run(op)
    return show(op)


def _is_searched(op: "ir.Operation") -> bool:
    """Whether a module holds kernels already, so that the stages up to the search have nothing to do."""
    functions = [view.operation for view in op.regions[0].blocks[0].operations]
    bodies = [f.regions[0].blocks[0] for f in functions if f.regions and len(f.regions[0].blocks)]
    return any(view.operation.name.startswith("kernel.") for body in bodies for view in body.operations)
