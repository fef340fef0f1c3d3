"""Reading luminal-opt's input, and splitting it at `// -----` lines."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .opt_arguments import UsageError

SPLIT_MARKER = "// -----"


@dataclass(frozen=True)
class Chunk:
    """One piece of the input. `text` is padded with empty lines so that its line numbers are the whole
    file's.
    """

    name: str
    text: str

    def line(self, number: int) -> str:
        """Line `number`, counted from 1, or an empty text."""
        lines = self.text.split("\n")
        return lines[number - 1] if 0 < number <= len(lines) else ""


def read_input(path: str) -> tuple[str, str]:
    """The input's name for messages, and its text. Raises UsageError when it cannot be read."""
    try:
        if path == "-":
            return "<stdin>", sys.stdin.read()
        return path, Path(path).read_text()
    except OSError as error:
        raise UsageError(f"cannot open input file '{path}': {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"cannot read input file '{path}': it is not UTF-8 text") from None


def split_chunks(name: str, text: str, split: bool) -> Iterator[Chunk]:
    """The whole input as one chunk, or one for each part between marker lines."""
    if not split:
        yield Chunk(name, text)
        return
    start, lines = 0, text.split("\n")
    for number, line in enumerate([*lines, SPLIT_MARKER]):
        if line.rstrip() == SPLIT_MARKER:
            yield Chunk(name, "\n" * start + "\n".join(lines[start:number]))
            start = number + 1
