"""luminal-explain: what a compiled model consists of, where its time and memory go, and why."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from luminal.errors import LuminalError

EPILOG = """\
MODEL is a built-in block or a Python file that defines `model`, a torch.nn.Module in evaluation mode, and
`inputs`, a tuple of tensors. The model is compiled and called with these inputs, every launch timed.

For each kernel: launches and time per call, bytes per second and operations per second (operands and result
count once), the source line, the primitive operations that it computes, the rewrite rules that led from them
to it, and, where the search measured them, what else it could have been. Where several rules make the same
kind of node, all that matched are named.

exit status: 0, or 1 for an error
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the `luminal-explain` command."""
    arguments = _parser().parse_args(argv)
    try:
        _explain(arguments)
        return 0
    except LuminalError as error:
        print(f"luminal-explain: error: {error}", file=sys.stderr)
    except OSError as error:
        print(f"luminal-explain: error: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
    except KeyboardInterrupt:
        print("\nluminal-explain: interrupted", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    from ..fuzz.blocks import BLOCKS

    parser = argparse.ArgumentParser(
        prog="luminal-explain",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help=f"{', '.join(BLOCKS)}, or a file")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write the report as one self-contained page"
    )
    parser.add_argument("--trace", type=Path, metavar="FILE", help="write a call as a Perfetto/Chrome trace")
    parser.add_argument(
        "--search-seconds",
        type=float,
        metavar="S",
        help="seconds for measuring kernels (default: as luminal.compile; 0: the estimate decides)",
    )
    parser.add_argument("--threads", type=int, default=0, help="worker threads (default: all processors)")
    parser.add_argument("--repeats", type=int, default=20, help="calls that are timed (default: %(default)s)")
    parser.add_argument("--top", type=int, default=20, help="kernels in the table (default: %(default)s)")
    return parser


def _explain(arguments: argparse.Namespace) -> None:
    import torch

    import luminal

    from ..fuzz.command import load_model
    from .html import page
    from .report import text

    model, inputs = load_model(arguments.model)
    options = luminal.CompileOptions(
        search_seconds=arguments.search_seconds, threads=arguments.threads, progress=sys.stderr.isatty()
    )
    compiled = luminal.compile(model, inputs, options=options)
    with torch.no_grad():
        profile = compiled.profile(*inputs, repeats=arguments.repeats)
    search = compiled.statistics.get("search", {})
    print(text(arguments.model, profile, compiled.stages, search, arguments.top))
    if arguments.html is not None:
        arguments.html.write_text(page(arguments.model, profile, compiled.stages, search), encoding="utf-8")
    if arguments.trace is not None:
        profile.chrome_trace(arguments.trace)
