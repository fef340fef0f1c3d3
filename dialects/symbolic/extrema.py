"""Minimum and maximum: dominated arguments are dropped, what all arguments share is pulled out."""

from __future__ import annotations

from math import gcd

from .expr import Atom, Expr, Max, Min, as_expr, sum_of
from .proofs import less_equal


def minimum(*arguments: Expr | int) -> Expr:
    """The least of one or more expressions."""
    return _extremum(Min, tuple(as_expr(argument) for argument in arguments))


def maximum(*arguments: Expr | int) -> Expr:
    """The greatest of one or more expressions."""
    return _extremum(Max, tuple(as_expr(argument) for argument in arguments))


def _extremum(kind: type[Min] | type[Max], arguments: tuple[Expr, ...]) -> Expr:
    key = (kind, arguments)
    if key not in _KNOWN:
        _KNOWN[key] = _combine(kind, arguments)
    return _KNOWN[key]


_KNOWN: dict[tuple[type[Min] | type[Max], tuple[Expr, ...]], Expr] = {}


def _combine(kind: type[Min] | type[Max], arguments: tuple[Expr, ...]) -> Expr:
    flat: set[Expr] = set()
    for argument in arguments:
        flat.update(argument.arguments if isinstance(argument, kind) else (argument,))
    if not flat:
        raise ValueError("minimum and maximum need at least one argument")
    kept = _undominated(kind, sorted(flat, key=lambda expr: expr.key))
    if len(kept) == 1:
        return kept[0]
    shared = _shared(kept)
    if shared.terms:
        return shared + _extremum(kind, tuple(expr - shared for expr in kept))
    factor = gcd(*(coefficient for expr in kept for _, coefficient in expr.terms))
    if factor > 1:
        smaller = [sum_of((m, c // factor) for m, c in expr.terms) for expr in kept]
        return factor * _extremum(kind, tuple(smaller))
    return kind(tuple(kept))


def _undominated(kind: type[Atom], arguments: list[Expr]) -> list[Expr]:
    kept: list[Expr] = []
    for candidate in arguments:
        if any(_covers(kind, other, candidate) for other in kept):
            continue
        kept = [other for other in kept if not _covers(kind, candidate, other)]
        kept.append(candidate)
    return kept


def _covers(kind: type[Atom], winner: Expr, loser: Expr) -> bool:
    return less_equal(winner, loser) if kind is Min else less_equal(loser, winner)


def _shared(arguments: list[Expr]) -> Expr:
    """The terms that every argument has, and the least constant, so that min(s + 1, 9) is 1 + min(s, 8)."""
    common = dict(arguments[0].terms)
    for argument in arguments[1:]:
        terms = dict(argument.terms)
        common = {m: c for m, c in common.items() if m and terms.get(m) == c}
    common.pop((), None)
    common[()] = min(argument.constant_term() for argument in arguments)
    return sum_of(common.items())
