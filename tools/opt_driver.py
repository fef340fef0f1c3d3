"""Processing one chunk of luminal-opt's input: parse, run the pipeline, print; diagnostics are collected on
the way.
"""

import io
import sys
from dataclasses import dataclass

from luminal.errors import LuminalError

from ..dialects.mlir import context, ir
from ..passes.pipeline import PipelineError, build_pipeline
from ..passes.registry import PASSES
from .opt_arguments import OptArguments, UsageError
from .opt_input import Chunk
from .opt_stages import run_stages
from .opt_statistics import statistics_printer


@dataclass(frozen=True)
class Diagnostic:
    """A message of MLIR or of a luminal pass. `line` is 0 where no place in the input is known."""

    severity: str
    file: str
    line: int
    column: int
    message: str


def process_chunk(chunk: Chunk, arguments: OptArguments) -> tuple[str | None, list[Diagnostic]]:
    """The chunk's output, or None if it failed, and all diagnostics. Raises LuminalError for errors without a
    place.
    """
    diagnostics: list[Diagnostic] = []
    with context() as ctx:
        ctx.allow_unregistered_dialects = arguments.allow_unregistered_dialect
        ctx.emit_error_diagnostics = True
        handler = ctx.attach_diagnostic_handler(lambda found: _collect(found, diagnostics))
        try:
            output = _transform(chunk, arguments)
        except ir.MLIRError as error:
            output = None
            if not any(found.severity == "error" for found in diagnostics):
                raise LuminalError(str(error)) from error
        except (PipelineError, UsageError):
            raise
        except LuminalError as error:
            output = None
            if arguments.verify_diagnostics:
                diagnostics.append(Diagnostic("error", "", 0, 0, str(error)))
            elif not any(found.severity == "error" for found in diagnostics):
                raise
            else:
                for note in [str(error), *getattr(error, "__notes__", ())]:
                    print(note, file=sys.stderr)
        finally:
            handler.detach()
    return output, diagnostics


def _transform(chunk: Chunk, arguments: OptArguments) -> str:
    module = ir.Module.parse(chunk.text)
    if arguments.target is not None:
        return run_stages(module.operation, arguments, lambda op: print_ir(op, arguments))
    pipeline = arguments.pass_pipeline or flags_pipeline(arguments.pass_flags)
    manager = build_pipeline(pipeline, statistics_printer(arguments))
    manager.enable_verifier(arguments.verify_each)
    if arguments.mlir_timing:
        manager.enable_timing()
    changed_only = arguments.mlir_print_ir_after_change
    if arguments.mlir_print_ir_before_all or arguments.mlir_print_ir_after_all or changed_only:
        manager.enable_ir_printing(
            print_before_all=arguments.mlir_print_ir_before_all,
            print_after_all=arguments.mlir_print_ir_after_all or changed_only,
            print_after_change=changed_only,
            print_module_scope=arguments.mlir_print_ir_module_scope,
            large_elements_limit=arguments.mlir_elide_elementsattrs_if_larger,
            print_generic_op_form=arguments.mlir_print_op_generic,
            enable_debug_info=arguments.mlir_print_debuginfo,
        )
    manager.run(module.operation)
    return print_ir(module.operation, arguments)


def print_ir(op: "ir.Operation", arguments: OptArguments) -> str:
    """The operation's text in the form that the command line asks for."""
    text = io.StringIO()
    op.print(
        file=text,
        large_elements_limit=arguments.mlir_elide_elementsattrs_if_larger,
        enable_debug_info=arguments.mlir_print_debuginfo,
        print_generic_op_form=arguments.mlir_print_op_generic,
        use_local_scope=arguments.mlir_print_local_scope,
    )
    return text.getvalue()


def flags_pipeline(flags: tuple[str, ...]) -> str:
    """Single-pass flags as pipeline text, upstream passes nested where their anchor is. Raises UsageError."""
    return ",".join(_flag_element(flag) for flag in flags)


def _flag_element(flag: str) -> str:
    name, _, options = flag.partition("=")
    element = f"{name}{{{options}}}" if options else name
    if name in PASSES:
        return element
    anchored = (
        element,
        *(f"{anchor}({element})" for anchor in ("func.func", "gpu.module", "gpu.module(func.func)")),
    )
    failure: PipelineError | None = None
    for text in anchored:
        try:
            build_pipeline(text)
            return text
        except PipelineError as error:
            failure = failure or error
            if "does not refer to a registered pass" in str(error):
                raise UsageError(f"unknown option or pass '--{name}' (see luminal-opt --help)") from None
            if "restricted to" not in str(error):
                break
    raise UsageError(str(failure))


def _collect(found: "ir.Diagnostic", into: list[Diagnostic]) -> bool:
    severity = found.severity.name.lower()
    into.append(_diagnostic(severity, found.location, found.message))
    for note in found.notes:
        into.append(_diagnostic("note", note.location, note.message))
    return True


def _diagnostic(severity: str, location: "ir.Location", message: str) -> Diagnostic:
    """Fused, call-site and named locations count as the first file place within them."""
    place = file_place(location)
    return Diagnostic(severity, *(place or ("", 0, 0)), message)


def file_place(location: "ir.Location") -> tuple[str, int, int] | None:
    """File, line and column of a location, where it has them."""
    match type(location).__name__:
        case "FileLineColLoc":
            return location.filename, location.start_line, location.start_col
        case "NameLoc":
            return file_place(location.child_loc)
        case "CallSiteLoc":
            return file_place(location.callee)
        case "FusedLoc":
            return next(filter(None, map(file_place, location.locations)), None)
    return None
