"""Exact extraction: the least time over all combinations of measured kernels, by brute force in small."""

from __future__ import annotations

import itertools
import random

import pytest

from luminal.passes.eqsat.exact import Option, fastest


def cost(options: list[Option], chosen: tuple[int, ...], roots: list[int], given: set[int]) -> float | None:
    """The time of a choice; None if it does not compute the roots."""
    made = set(given)
    for _ in chosen:
        made |= {options[p].tensor for p in chosen if made.issuperset(options[p].needs)}
    complete = made.issuperset(roots) and all(made.issuperset(options[p].needs) for p in chosen)
    return sum(options[p].seconds for p in chosen) if complete else None


@pytest.mark.parametrize("seed", range(20))
def test_no_combination_is_faster(seed: int) -> None:
    draw = random.Random(seed)
    options = [
        Option(
            tensor, tuple(sorted(draw.sample(range(tensor), draw.randint(1, min(2, tensor))))), draw.random()
        )
        for tensor in draw.choices(range(2, 7), k=9)
    ]
    given, roots = {0, 1}, [options[-1].tensor]
    subsets = (c for n in range(len(options) + 1) for c in itertools.combinations(range(len(options)), n))
    costs = [c for chosen in subsets if (c := cost(options, chosen, roots, given)) is not None]
    found = fastest(options, roots, given)
    assert (found is None) == (not costs)
    if found is not None:
        assert cost(options, tuple(found), roots, given) == pytest.approx(min(costs))
        made = set(given)
        for position in found:
            assert made.issuperset(options[position].needs)
            made.add(options[position].tensor)


def test_a_shared_tensor_is_paid_once() -> None:
    shared = Option(1, (0,), 3.0)
    users = [Option(2, (1,), 1.0), Option(3, (1,), 1.0)]
    alone = [Option(2, (0,), 3.0), Option(3, (0,), 3.0)]
    assert fastest([shared, *users, *alone], [2, 3], [0]) == [0, 1, 2]
    assert fastest([shared, *users, *alone], [2], [0]) == [3]


def test_circles_are_no_programs() -> None:
    circle = [Option(1, (2,), 0.1), Option(2, (1,), 0.1)]
    assert fastest(circle, [1], [0]) is None
    assert fastest([*circle, Option(1, (0,), 1.0)], [1], [0]) == [2]
    assert fastest([], [0], [0]) == []
