"""Draws samples, and reduces a failing one: to the fewest ops that still fail, and to the rules at fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from luminal.errors import LuminalError

from .compare import difference
from .program import Program


@dataclass(frozen=True)
class Failure:
    """A sample that is not what the program says. `kernels`: the program drawn, as text."""

    program: Program
    seed: int
    what: str
    kernels: str
    rules: tuple[str, ...]


def failure(program: Program, seeds: Iterable[int], disable: tuple[str, ...] = ()) -> Failure | None:
    """The first of `seeds` whose sample differs from the reference, or cannot be made."""
    for seed in seeds:
        try:
            sample = program.sample(seed, disable)
        except LuminalError as error:
            return Failure(program, seed, f"{type(error).__name__}: {error}", "", ())
        for number, (got, want) in enumerate(zip(sample.results, program.reference, strict=True)):
            what = difference(got, want)
            if what is not None:
                return Failure(program, seed, f"result {number}: {what}", sample.text, sample.rules)
    return None


def shrink(found: Failure, seeds: int, progress: Callable[[int], None] = lambda size: None) -> Failure:
    """The fewest ops of the program of which some sample still fails, by taking out ever smaller chunks.

    What was taken out becomes an input with the value it had.
    """
    tries = [found.seed, *range(seeds)]
    kept, smallest = list(range(found.program.size)), found
    chunk = max(1, len(kept) // 2)
    while True:
        before = len(kept)
        start = 0
        while start < len(kept):
            rest = kept[:start] + kept[start + chunk :]
            part = failure(found.program.part(rest), tries) if rest else None
            if part is None:
                start += chunk
            else:
                kept, smallest = rest, part
                progress(len(kept))
        if chunk == 1 and len(kept) == before:
            return smallest
        chunk = max(1, chunk // 2)


def fewest(found: Failure) -> list[str]:
    """Rules without which all agrees and of which none can be left on, where no single one is enough.

    Empty if the failure stays without any rule.
    """
    off = list(found.rules)
    if failure(found.program, [found.seed], tuple(off)) is not None:
        return []
    for rule in list(off):
        rest = [other for other in off if other != rule]
        if failure(found.program, [found.seed], tuple(rest)) is None:
            off = rest
    return off


def blame(found: Failure, seeds: int) -> list[str]:
    """The rules without which, one at a time, no sample fails."""
    tries = [found.seed, *range(seeds)]
    return [rule for rule in found.rules if failure(found.program, tries, (rule,)) is None]
