"""luminal-bisect: find the step that makes a compiled model differ from torch eager.

The levels are compared one after the other, each with the one above, and the first that differs is reduced:
the import (primitives against eager), a rule (chosen kernels against primitives, both interpreted), the
native code of one kernel (against the interpreter), a pass of the whole pipeline (left out by name).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

import numpy as np
import torch

from luminal.errors import LuminalError

from ...runtime.options import OPTIONAL_PASSES, CompileOptions
from .command import load_model
from .compare import difference
from .native import run_native
from .program import Program, from_torch, kernel_programs
from .search import blame, failure, fewest, shrink

AS_IT_IS = CompileOptions(disable_passes=OPTIONAL_PASSES)
"""Native code of just these kernels: no pass changes them first."""

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
        plain = from_torch(model, inputs, canonicalize=False)
        if _first_difference(plain.reference[: len(expected)], expected) is None:
            return f"the pass canonicalize-views changes what the program computes: {what}"
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
    native = run_native(sample.text, program.arrays, AS_IT_IS)
    if _first_difference(native, sample.results) is None:
        progress("comparing the whole pipeline with primitives")
        return _pass_at_fault(program, disabled)
    for kernel in kernel_programs(Program(sample.text, program.arrays)):
        what = _first_difference(run_native(kernel.text, kernel.arrays, AS_IT_IS), kernel.interpreted)
        if what is not None:
            return f"the native code of a kernel differs from its meaning: {what}\nkernel:\n{kernel.text}"
    return (
        "native code differs, but each kernel agrees on its own: memory planning or the schedule is at fault"
    )


def _pass_at_fault(program: Program, disabled: tuple[str, ...]) -> str | None:
    """The levels agree one by one: what the passes between them do is left."""

    def differs(*without: str) -> str | None:
        options = CompileOptions(disable_rules=disabled, disable_passes=without, search_seconds=0)
        return _first_difference(run_native(program.text, program.arrays, options), program.reference)

    what = differs()
    if what is None:
        return None
    found = [name for name in OPTIONAL_PASSES if differs(name) is None]
    if not found and differs(*OPTIONAL_PASSES) is None:
        found = list(OPTIONAL_PASSES)
    return (
        f"the compiled program differs from the primitives, its kernels do not: {what}\n"
        f"passes without which it agrees: {', '.join(found) or 'none'}"
    )


def _array(tensor: torch.Tensor) -> np.ndarray:
    array = tensor.detach().contiguous()
    return (array.view(torch.uint16) if array.dtype == torch.bfloat16 else array).numpy()


def _first_difference(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> str | None:
    found = (difference(g, w) for g, w in zip(got, want, strict=True))
    return next((f"result {k}: {what}" for k, what in enumerate(found) if what is not None), None)


if __name__ == "__main__":
    sys.exit(main())
