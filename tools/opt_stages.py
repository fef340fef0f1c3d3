"""`luminal-opt --target=NAME`: run a target's stages one after another and show what each one made."""

from collections.abc import Callable

from ..dialects.mlir import ir
from ..passes.pipeline import build_pipeline
from ..passes.targets import TARGETS, Stage
from .opt_arguments import OptArguments, UsageError


def run_stages(op: "ir.Operation", arguments: OptArguments, show: Callable[["ir.Operation"], str]) -> str:
    """The text of every stage under a heading, or of the stage `--stage` names alone. Raises UsageError."""
    shown = []
    for stage in _stages(arguments):
        text = _run_stage(op, stage, arguments, show)
        if arguments.stage == stage.name:
            return text
        shown.append(f"// -----// {stage.name} //----- //\n{text}")
    return "\n".join(shown)


def _stages(arguments: OptArguments) -> tuple[Stage, ...]:
    target = arguments.target or ""
    if target not in TARGETS:
        raise UsageError(f"unknown target '{target}' (targets: {', '.join(TARGETS)})")
    stages = TARGETS[target]
    names = [stage.name for stage in stages]
    if arguments.stage is not None and arguments.stage not in names:
        raise UsageError(
            f"target '{target}' has no stage '{arguments.stage}' (its stages: {', '.join(names)})"
        )
    return stages


def _run_stage(
    op: "ir.Operation", stage: Stage, arguments: OptArguments, show: Callable[["ir.Operation"], str]
) -> str:
    if stage.emit:
        return stage.emitter()(op)
    manager = build_pipeline(stage.passes)
    manager.enable_verifier(arguments.verify_each)
    manager.run(op)
    return show(op)
