"""Reporting diagnostics, and checking them against `expected-error` comments (`--verify-diagnostics`).

The comments are MLIR's: `// expected-error@+1 {{text}}`, with error, warning, remark or note; a place `@+n`,
`@-n`, `@above`, `@below` or `@unknown`; `-re` after the kind makes `{{...}}` within the text regular
expressions.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .opt_driver import Diagnostic
from .opt_input import Chunk

_EXPECTED = re.compile(
    r"expected-(?P<kind>error|warning|remark|note)(?P<regex>-re)?\s*"
    r"(?:@(?P<place>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*)\}\}\s*$"
)
_ORDERED_KINDS = ("error", "warning", "remark", "note")


@dataclass(frozen=True)
class Expectation:
    """One comment: `line` is where the diagnostic must stand (0: no known place), `source` where the comment
    does.
    """

    kind: str
    line: int
    source: int
    text: str
    pattern: re.Pattern[str]

    def matches(self, found: Diagnostic) -> bool:
        return (
            found.severity == self.kind
            and found.line == self.line
            and bool(self.pattern.search(found.message))
        )


def report(chunk: Chunk, diagnostics: Sequence[Diagnostic]) -> None:
    """Print diagnostics to stderr as MLIR's tools do: place, severity, message, source line and caret."""
    for found in diagnostics:
        if not found.line:
            print(f"{chunk.name}: {found.severity}: {found.message}", file=sys.stderr)
            continue
        name = chunk.name if found.file == "-" else found.file
        print(f"{name}:{found.line}:{found.column}: {found.severity}: {found.message}", file=sys.stderr)
        if found.file == "-" and found.severity != "note":
            print(f"{chunk.line(found.line)}\n{' ' * (found.column - 1)}^", file=sys.stderr)


def expectations(chunk: Chunk) -> Iterator[Expectation]:
    """Every expectation of the chunk's comments."""
    lines = chunk.text.split("\n")
    plain = [number for number, line in enumerate(lines, 1) if line.strip() and "expected-" not in line]
    for number, line in enumerate(lines, 1):
        if not (match := _EXPECTED.search(line)):
            continue
        place, text = match["place"] or "+0", match["text"]
        if place == "above":
            target = max((n for n in plain if n < number), default=0)
        elif place == "below":
            target = min((n for n in plain if n > number), default=0)
        else:
            target = 0 if place == "unknown" else number + int(place)
        yield Expectation(match["kind"], target, number, text, _pattern(text, bool(match["regex"])))


def _pattern(text: str, regex: bool) -> re.Pattern[str]:
    if not regex:
        return re.compile(re.escape(text))
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return re.compile(
        "".join(f"(?:{part})" if index % 2 else re.escape(part) for index, part in enumerate(parts))
    )


def check_expectations(chunk: Chunk, diagnostics: Sequence[Diagnostic]) -> bool:
    """Whether expectations and diagnostics match one to one; what doesn't is printed. Unexpected notes are
    allowed.
    """
    open_expectations = list(expectations(chunk))
    problems = []
    for found in sorted(diagnostics, key=lambda found: _ORDERED_KINDS.index(found.severity)):
        match = next((expected for expected in open_expectations if expected.matches(found)), None)
        if match is not None:
            open_expectations.remove(match)
        elif found.severity != "note":
            place = f"{chunk.name}:{found.line}:{found.column}" if found.line else f"{chunk.name}"
            problems.append(f"{place}: error: unexpected {found.severity}: {found.message}")
    for expected in open_expectations:
        place = f"{chunk.name}:{expected.source}"
        problems.append(f'{place}: error: expected {expected.kind} "{expected.text}" was not produced')
    for problem in problems:
        print(problem, file=sys.stderr)
    return not problems
