"""Exact extraction from measured kernels: the fastest program that any combination of them makes.

The reduced graph has a tensor wherever some measured kernel reads or writes one. Choosing kernels so that all
roots exist and everything read is computed is an integer program (a weighted covering over a DAG), which
HiGHS solves in milliseconds at these sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_matrix

SECONDS = 5.0
"""Time limit of the solver; what was found by then is not used, since it may not be the best."""


@dataclass(frozen=True)
class Option:
    """A way to compute `tensor` from the tensors `needs`."""

    tensor: int
    needs: tuple[int, ...]
    seconds: float


def fastest(options: Sequence[Option], roots: Iterable[int], given: Iterable[int]) -> list[int] | None:
    """The positions of the options to take, producers first, such that all roots are computed from what is
    `given` in the least time; None where there is no such choice, or it was not found in time.
    """
    given = set(given)
    wanted = [root for root in roots if root not in given]
    usable = _usable(options, given)
    computable = {options[position].tensor for position in usable}
    if not computable.issuperset(wanted):
        return None
    for levels in (False, True):  # kernels that need each other in a circle are rare: first without levels
        taken = _solve(options, wanted, given, usable, levels)
        order = None if taken is None else _ordered(options, taken, wanted, given)
        if taken is None or order is not None:
            return order
    return None


def _solve(
    options: Sequence[Option], wanted: Sequence[int], given: set[int], usable: set[int], levels: bool
) -> dict[int, int] | None:
    """The option to take for each tensor. `levels`: a variable per tensor that is greater than those of what
    its option needs, so that nothing can need itself.
    """
    makers: dict[int, list[int]] = {}
    for position, option in enumerate(options):
        makers.setdefault(option.tensor, []).append(position)
    level = {tensor: len(options) + i for i, tensor in enumerate(makers)} if levels else {}
    most = float(len(makers))
    rows: list[dict[int, float]] = []
    least: list[float] = []
    for root in wanted:
        rows.append({p: 1.0 for p in makers[root]})
        least.append(1.0)
    for position in sorted(usable):
        option = options[position]
        for need in option.needs:
            if need in given:
                continue
            rows.append({**{p: 1.0 for p in makers[need]}, position: -1.0})
            least.append(0.0)
            if levels:  # level(tensor) >= level(need) + 1, where the option is taken
                rows.append({level[option.tensor]: 1.0, level[need]: -1.0, position: -most})
                least.append(1.0 - most)
    count = len(options) + len(level)
    matrix = lil_matrix((len(rows), count))
    for i, row in enumerate(rows):
        for column, value in row.items():
            matrix[i, column] = value
    scale = max((option.seconds for option in options), default=0.0) or 1.0
    whole = np.array([1.0] * len(options) + [0.0] * len(level))
    seconds = [option.seconds / scale + 1e-9 for option in options] + [0.0] * len(level)
    upper = [float(position in usable) for position in range(len(options))] + [most] * len(level)
    if not rows:
        return {}
    found = milp(
        np.array(seconds),
        constraints=LinearConstraint(matrix.tocsr(), np.array(least), np.inf),
        integrality=whole,
        bounds=Bounds(0.0, np.array(upper)),
        options={"time_limit": SECONDS},
    )
    if found.status != 0 or found.x is None:
        return None
    taken: dict[int, int] = {}
    for position in np.flatnonzero(found.x[: len(options)] > 0.5).tolist():
        best = taken.get(options[position].tensor, position)
        taken[options[position].tensor] = min(best, position, key=lambda p: options[p].seconds)
    return taken


def _usable(options: Sequence[Option], given: set[int]) -> set[int]:
    """The options whose needs can be met at all."""
    computable = set(given)
    usable: set[int] = set()
    while True:
        fresh = {
            position
            for position, option in enumerate(options)
            if position not in usable and computable.issuperset(option.needs)
        }
        if not fresh:
            return usable
        usable |= fresh
        computable |= {options[position].tensor for position in fresh}


def _ordered(
    options: Sequence[Option], taken: Mapping[int, int], roots: Iterable[int], given: set[int]
) -> list[int] | None:
    """The taken options that the roots need, producers first; None if they need each other in a circle."""
    order: dict[int, None] = {}
    pending: set[int] = set()

    def visit(tensor: int) -> bool:
        position = taken.get(tensor)
        if tensor in given or position in order:
            return True
        if position is None or tensor in pending:
            return False
        pending.add(tensor)
        if not all(visit(need) for need in options[position].needs):
            return False
        order[position] = None
        return True

    return list(order) if all(visit(root) for root in roots) else None
