"""luminal-bisect: find the step that makes a compiled model differ from torch eager.

The levels are compared one after the other, each with the one above, and the first that differs is reduced:
the import (primitives against eager), a rule (chosen kernels against primitives, both interpreted), the
native code of one kernel (against the interpreter).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

import numpy as np
import torch

from luminal.errors import LuminalError

from ...runtime.options import CompileOptions
from .command import load_model
from .compare import difference
from .native import run_native
from .program import Program, from_torch, kernel_programs
from .search import blame, failure, fewest, shrink

BEST = -1
"""The `seed` of the cheapest program instead of a random one."""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the `luminal-bisect` command."""
    parser = argparse.ArgumentParser(
        prog="luminal-bisect",
        description=__doc__,
        epilog="exit status: 0 everything agrees, 1 an error, 2 a step was found that differs",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model", metavar="MODEL", help="a Python file with `model` and `inputs`, or a block of luminal-fuzz"
    )
    parser.add_argument("--disable-rules", default="", metavar="A,B", help="rules or families to leave out")
    arguments = parser.parse_args(argv)
    try:
        disabled = tuple(filter(None, arguments.disable_rules.split(",")))
        model, inputs = load_model(arguments.model)
        found = bisect(model, inputs, disabled, lambda text: print(f"{text} ...", file=sys.stderr))
        print(found or f"{arguments.model}: eager, primitives, kernels and native code agree")
        return 2 if found else 0
    except LuminalError as error:
        print(f"luminal-bisect: error: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("\nluminal-bisect: interrupted", file=sys.stderr)
    return 1


def bisect(
    model: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    disabled: tuple[str, ...] = (),
    progress: Callable[[str], None] = lambda text: None,
) -> str | None:
    """What differs and where, as text; None if every level agrees."""
    progress("importing")
    program = from_torch(model, inputs)
    with torch.no_grad():
        eager = [t for t in torch.utils._pytree.tree_leaves(model(*inputs)) if isinstance(t, torch.Tensor)]
    progress("comparing primitives with eager")
    expected = [_array(tensor) for tensor in eager]
    what = _first_difference(program.reference[: len(expected)], expected)
    if what is not None:
        return f"the import differs from eager: {what}"
    progress("comparing chosen kernels with primitives")
    found = failure(program, [BEST], disabled)
    if found is not None:
        small = shrink(found, 0, lambda size: progress(f"differs with {size} ops"))
        rules = blame(small, 0) or fewest(small)
        return (
            f"the search differs from the primitives: {small.what}\n"
            f"rules without which it agrees: {', '.join(rules) or 'none'}\nprogram:\n{small.program.text}"
        )
    progress("comparing native code with kernels")
    sample = program.sample(BEST, disabled)
    native = run_native(sample.text, program.arrays, CompileOptions())
    if _first_difference(native, sample.results) is None:
        return None
    for kernel in kernel_programs(Program(sample.text, program.arrays)):
        what = _first_difference(run_native(kernel.text, kernel.arrays, CompileOptions()), kernel.interpreted)
        if what is not None:
            return f"the native code of a kernel differs from its meaning: {what}\nkernel:\n{kernel.text}"
    return (
        "native code differs, but each kernel agrees on its own: memory planning or the schedule is at fault"
    )


def _array(tensor: torch.Tensor) -> np.ndarray:
    array = tensor.detach().contiguous()
    return (array.view(torch.uint16) if array.dtype == torch.bfloat16 else array).numpy()


def _first_difference(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> str | None:
    found = (difference(g, w) for g, w in zip(got, want, strict=True))
    return next((f"result {k}: {what}" for k, what in enumerate(found) if what is not None), None)


if __name__ == "__main__":
    sys.exit(main())
