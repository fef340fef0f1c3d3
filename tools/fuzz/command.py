"""luminal-fuzz: draw programs at random from a model's e-graph and check that all compute the same."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from luminal.errors import InputError, LuminalError

EPILOG = """\
MODEL is a built-in block or a Python file that defines `model`, a torch.nn.Module in evaluation mode, and
`inputs`, a tuple of tensors. Each sample is another program that equality saturation holds equal to the
model: other fusions, other recognised operations, other tensors in memory. It runs in the reference
interpreter, and its results must agree with the primitives', NaN and infinities included. A sample that
differs is reduced to the fewest operations that still fail, and to the rules without which nothing fails.

exit status: 0 all samples agree, 1 an error, 2 a sample differs
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the `luminal-fuzz` command."""
    arguments = _parser().parse_args(argv)
    try:
        failed = [name for name in arguments.model if not _fuzz(name, arguments)]
        return 2 if failed else 0
    except LuminalError as error:
        print(f"luminal-fuzz: error: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("\nluminal-fuzz: interrupted", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    from .blocks import BLOCKS

    parser = argparse.ArgumentParser(
        prog="luminal-fuzz",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    built_in = ", ".join(BLOCKS)
    parser.add_argument(
        "model",
        nargs="*",
        default=list(BLOCKS),
        metavar="MODEL",
        help=f"{built_in}, or a file (default: all blocks)",
    )
    parser.add_argument(
        "--samples", type=int, default=32, help="programs to draw per model (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="first seed; sample k has seed + k (default: 0)")
    parser.add_argument("--disable-rules", default="", metavar="A,B", help="rules or families to leave out")
    parser.add_argument("--no-shrink", action="store_true", help="report a failing sample as it is")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the smallest failing program here")
    return parser


def load_model(name: str) -> tuple[Any, tuple[Any, ...]]:
    """A built-in block, or `model` and `inputs` of a Python file. Raises InputError."""
    from .blocks import BLOCKS, build_block

    if name in BLOCKS:
        return build_block(name)
    if not Path(name).is_file():
        raise InputError(f"'{name}' is neither a file nor a built-in block ({', '.join(BLOCKS)})")
    try:
        names = runpy.run_path(name)
    except Exception as error:
        raise InputError(f"'{name}' fails: {type(error).__name__}: {error}") from error
    import torch

    model, inputs = names.get("model"), names.get("inputs")
    if not isinstance(model, torch.nn.Module) or not isinstance(inputs, tuple):
        raise InputError(f"'{name}' must define `model`, a torch.nn.Module, and `inputs`, a tuple of tensors")
    return model, inputs


def _fuzz(name: str, arguments: argparse.Namespace) -> bool:
    from .program import from_torch
    from .search import blame, failure, shrink

    program = from_torch(*load_model(name))
    seeds = range(arguments.seed, arguments.seed + arguments.samples)
    disabled = tuple(filter(None, arguments.disable_rules.split(",")))
    found = None
    for seed in seeds:
        _status(f"{name}: sample {seed - seeds.start + 1} of {len(seeds)}")
        found = failure(program, [seed], disabled)
        if found is not None:
            break
    _status("")
    if found is None:
        print(f"{name}: {program.size} primitive ops, {len(seeds)} samples agree")
        return True
    print(f"{name}: sample with seed {found.seed} differs: {found.what}")
    if arguments.no_shrink:
        _report(found, arguments.output)
        return False
    found = shrink(found, 8, lambda size: _status(f"{name}: fails with {size} ops"))
    _status(f"{name}: looking for the rules at fault")
    rules = blame(found, 8)
    _status("")
    print(f"fails with {found.program.size} ops: {found.what}")
    print(f"rules without which it agrees: {', '.join(rules) or 'no single one'}")
    _report(found, arguments.output)
    return False


def _report(found: Any, output: Path | None) -> None:
    print("program:", found.program.text, "drawn from it:", found.kernels or "(no program)", sep="\n")
    if output is not None:
        output.write_text(found.program.text)
        print(f"written to {output}; luminal-opt {output} --luminal-eqsat=sample={found.seed}")


def _status(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
