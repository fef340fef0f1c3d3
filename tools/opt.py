"""luminal-opt: read MLIR, run passes over it, print MLIR; the conventions of mlir-opt.

Upstream passes and luminal's stand in one pipeline. Nothing here imports torch. Exit status: 0, or 1 after
one clear message on stderr (nothing is written then).
"""

import os
import sys
from collections.abc import Sequence

from luminal.errors import LuminalError

from .opt_arguments import OptArguments, UsageError, parse_arguments
from .opt_input import Chunk, read_input, split_chunks
from .opt_output import write_atomically

CHUNK_SEPARATOR = "\n// -----\n\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the `luminal-opt` command."""
    try:
        return run(sys.argv[1:] if argv is None else list(argv))
    except (UsageError, LuminalError) as error:
        print(f"luminal-opt: error: {error}", file=sys.stderr)
        for note in getattr(error, "__notes__", ()):
            print(note, file=sys.stderr)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("luminal-opt: interrupted", file=sys.stderr)
    return 1


def run(argv: Sequence[str]) -> int:
    """Parse the command line, process every chunk of the input and write the joined output at the end."""
    arguments = parse_arguments(argv)
    if arguments.help or arguments.show_passes:
        from .opt_help import help_text, passes_text

        sys.stdout.write(passes_text() if arguments.show_passes else help_text())
        return 0
    name, text = read_input(arguments.input)
    outputs = []
    for chunk in split_chunks(name, text, arguments.split_input_file):
        outputs.append(_process(chunk, arguments))
    if any(output is None for output in outputs):
        return 1
    if not arguments.verify_diagnostics:
        write_atomically(arguments.output, CHUNK_SEPARATOR.join(output or "" for output in outputs))
    return 0


def _process(chunk: Chunk, arguments: OptArguments) -> str | None:
    """The chunk's output text, or None after its diagnostics were reported."""
    from .opt_diagnostics import check_expectations, report
    from .opt_driver import process_chunk

    output, diagnostics = process_chunk(chunk, arguments)
    if arguments.verify_diagnostics:
        return "" if check_expectations(chunk, diagnostics) else None
    report(chunk, diagnostics)
    return output


if __name__ == "__main__":
    sys.exit(main())
