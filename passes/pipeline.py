"""Textual pass pipelines that mix upstream MLIR passes with luminal's, run by one PassManager.

MLIR's own parser knows only C++ passes, so the text is split here: each luminal pass becomes a Python pass,
every run of other elements goes to MLIR as text. A failing luminal pass saves its input and says how to run
it again.
"""

import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from luminal.errors import LuminalError, PassError

from ..dialects.mlir import ir, passmanager
from .registry import PASSES, PassEntry, parse_options, print_options

Observer = Callable[[str, Mapping[str, object]], None]


class PipelineError(LuminalError, ValueError):
    """A pass pipeline's text is malformed or names an unknown pass or option."""


@dataclass(frozen=True)
class Element:
    """One element of a pipeline: `name{options}` or `anchor(...)`; `text` is its source."""

    name: str
    options: str
    nested: str | None
    text: str


def split_elements(text: str) -> Iterator[Element]:
    """The comma-separated elements of `text` at its top level. Raises PipelineError where brackets don't
    match.
    """
    pairs = {"(": ")", "{": "}", "[": "]"}
    stack: list[str] = []
    start = 0
    quote = ""
    for position, char in enumerate(text + ","):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in pairs:
            stack.append(pairs[char])
        elif char in ")}]":
            if not stack or stack.pop() != char:
                raise PipelineError(
                    f"pass pipeline: unbalanced '{char}' at column {position + 1} of '{text}'"
                )
        elif char == "," and not stack:
            part = text[start:position].strip()
            start = position + 1
            if part:
                yield _element(part)
    if stack or quote:
        raise PipelineError(f"pass pipeline: missing '{quote or stack[-1]}' at the end of '{text}'")


def _element(text: str) -> Element:
    for position, char in enumerate(text):
        if char == "{":
            return Element(text[:position].strip(), text[position + 1 : text.rindex("}")], None, text)
        if char == "(":
            return Element(text[:position].strip(), "", text[position + 1 : text.rindex(")")], text)
    return Element(text, "", None, text)


def option_values(text: str) -> dict[str, str]:
    """`key=value key2 key3="a b"` as a mapping; a key alone is true."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise PipelineError(f"pass options '{text}': {error}") from None
    return {key: value if found else "true" for key, found, value in (word.partition("=") for word in words)}


def build_pipeline(text: str, observe: Observer | None = None) -> "passmanager.PassManager":
    """A PassManager over `builtin.module` for `text`, within the current MLIR context.

    `text` is `builtin.module(...)` or a bare list of elements. `observe(name, statistics)` is called after
    each luminal pass that returns statistics. Raises PipelineError for an unknown pass or option.
    """
    elements = list(split_elements(text))
    if (
        len(elements) == 1
        and elements[0].nested is not None
        and elements[0].name in ("builtin.module", "any")
    ):
        elements = list(split_elements(elements[0].nested))
    manager = passmanager.PassManager("builtin.module")
    for element in elements:
        entry = PASSES.get(element.name)
        if entry is not None and element.nested is None:
            _add_luminal(manager, entry, element.options, observe)
        else:
            _refuse_nested(element)
            _add_upstream(manager, element.text)
    return manager


def run_pipeline(op: "ir.Operation", text: str, observe: Observer | None = None) -> None:
    """Run the pipeline `text` over the `builtin.module` operation `op`, in place.

    Raises PipelineError before anything runs, the LuminalError that a pass raised, or PassError.
    """
    with op.context:
        manager = build_pipeline(text, observe)
        try:
            manager.run(op)
        except ir.MLIRError as error:
            raise PassError(f"pass pipeline '{text}' failed: {error}") from error


def run_with(
    op: "ir.Operation", name: str, options: object, observe: Observer | None = None, **hooks: object
) -> None:
    """Run one luminal pass over `op`, in place, with `hooks` that no pipeline text can hold (callbacks).

    Raises what `run_pipeline` would; the IR is verified afterwards.
    """
    entry = PASSES[name]
    run = entry.load()
    with op.context:
        before = op.clone()
        try:
            statistics = run(op, options, **hooks)
            op.verify()
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:
            raise explain_failure(error, f"{name}{print_options(options)}", str(before)) from error
        if statistics and observe is not None:
            observe(name, statistics)


def _refuse_nested(element: Element) -> None:
    """luminal passes see whole modules (layers are functions of one): inside an anchor they are an error."""
    for inner in split_elements(element.nested or ""):
        if inner.name in PASSES:
            raise PipelineError(
                f"pass '{inner.name}' runs on builtin.module, not nested within '{element.name}'"
            )
        _refuse_nested(inner)


def _add_upstream(manager: "passmanager.PassManager", text: str) -> None:
    try:
        manager.add(text)
    except ValueError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        head = lines[0].split("error: ", 1)[-1] if lines else f"cannot parse '{text}'"
        raise PipelineError(
            f"pass pipeline: {head} (in '{text}'; luminal-opt --show-passes lists all)"
        ) from None


def _add_luminal(
    manager: "passmanager.PassManager", entry: PassEntry, options_text: str, observe: Observer | None
) -> None:
    try:
        options = parse_options(entry, option_values(options_text))
        run = entry.load()
    except (ValueError, ImportError, AttributeError) as error:
        raise PipelineError(f"pass pipeline: {error}") from None

    def guarded(op: "ir.Operation", _pass: object) -> None:
        before = op.clone()
        try:
            statistics = run(op, options)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # a native library's panic is no Exception
            raise explain_failure(error, f"{entry.name}{print_options(options)}", str(before)) from error
        if statistics and observe is not None:
            observe(entry.name, statistics)

    manager.add(guarded, name=entry.name, argument=entry.name)


def explain_failure(error: BaseException, pass_text: str, ir_text: str) -> LuminalError:
    """`error` as a LuminalError that names the pass and a command that runs it again on its saved input.

    A LuminalError keeps its class and message and gains a note; anything else becomes a PassError.
    """
    name = pass_text.partition("{")[0]
    with tempfile.NamedTemporaryFile("w", prefix=f"luminal-{name}-", suffix=".mlir", delete=False) as file:
        file.write(ir_text)
    command = shlex.join(["luminal-opt", file.name, f"--pass-pipeline=builtin.module({pass_text})"])
    note = f"pass: {name}\nIR before it: {file.name}\nto reproduce: {command}"
    if isinstance(error, LuminalError):
        error.add_note(note)
        return error
    failure = PassError(f"pass '{name}' failed: {type(error).__name__}: {error}")
    failure.add_note(note)
    return failure
