"""What is known about the value of an expression: intervals, and proofs that it is not negative.

A coordinate is only ever evaluated inside its iteration domain, so `0 <= d < extent` may be assumed. Proofs
replace
coordinates and operations by their extremes until a polynomial over symbols with known ranges is left. A
failed
proof means "unknown", never "false".
"""

from __future__ import annotations

from .expr import ZERO, Atom, DimVar, Expr, FloorDiv, Max, Min, Mod, Sym, const

Interval = tuple[int | None, int | None]

_MAX_DEPTH = 8


def interval(expr: Expr) -> Interval:
    """Interval arithmetic over the terms of an expression."""
    low: int | None = 0
    high: int | None = 0
    for monomial, coefficient in expr.terms:
        bounds: Interval = (coefficient, coefficient)
        for atom in monomial:
            bounds = _multiply(bounds, atom_interval(atom))
        low = None if low is None or bounds[0] is None else low + bounds[0]
        high = None if high is None or bounds[1] is None else high + bounds[1]
    return low, high


def atom_interval(atom: Atom) -> Interval:
    """The range of one atom."""
    if isinstance(atom, Sym):
        return atom.lo, atom.hi
    if isinstance(atom, DimVar):
        if atom.extent is None:
            return None, None
        high = atom.extent.bounds()[1]
        return 0, None if high is None else max(high - 1, 0)
    bounds = [argument.bounds() for argument in atom.arguments]
    if isinstance(atom, FloorDiv):
        return _divide(bounds[0], bounds[1])
    if isinstance(atom, Mod):
        return _remainder(bounds[0], bounds[1])
    lows = [low for low, _ in bounds if low is not None]
    highs = [high for _, high in bounds if high is not None]
    if isinstance(atom, Min):
        return (min(lows) if len(lows) == len(bounds) else None, min(highs, default=None))
    return (max(lows, default=None), max(highs) if len(highs) == len(bounds) else None)


def _multiply(lhs: Interval, rhs: Interval) -> Interval:
    if None not in lhs and None not in rhs:
        corners = [a * b for a in lhs for b in rhs]  # type: ignore[operator]
        return min(corners), max(corners)
    if lhs == (0, 0) or rhs == (0, 0):
        return 0, 0
    # Half-bounded factors: only products of one known sign keep a bound.
    for a, b in ((lhs, rhs), (rhs, lhs)):
        if a[1] is not None and a[1] <= 0:
            low, high = _multiply((-a[1], None if a[0] is None else -a[0]), b)
            return (None if high is None else -high, None if low is None else -low)
    if lhs[0] is not None and lhs[0] >= 0 and rhs[0] is not None and rhs[0] >= 0:
        high = lhs[1] * rhs[1] if lhs[1] is not None and rhs[1] is not None else None
        return lhs[0] * rhs[0], high
    return None, None


def _divide(value: Interval, divisor: Interval) -> Interval:
    least, greatest = divisor
    if least is None or least < 1:
        return (0, value[1]) if value[0] is not None and value[0] >= 0 and least == 0 else (None, None)
    low, high = value
    # Dividing by more brings the quotient nearer to zero (or to -1 from below).
    if low is not None:
        low = low // least if low < 0 else (0 if greatest is None else low // greatest)
    if high is not None:
        high = high // least if high >= 0 else (-1 if greatest is None else high // greatest)
    return low, high


def _remainder(value: Interval, divisor: Interval) -> Interval:
    if divisor[0] is None or divisor[0] < 0:
        return None, None
    high = None if divisor[1] is None else max(divisor[1] - 1, 0)
    if value[0] is not None and value[0] >= 0 and value[1] is not None:
        high = value[1] if high is None else min(high, value[1])
    return 0, high


def is_nonnegative(expr: Expr) -> bool:
    """Whether `expr >= 0` is proved wherever it is evaluated."""
    if expr._nonneg is None:
        expr._nonneg = _prove(expr, _MAX_DEPTH)
    return expr._nonneg


def is_positive(expr: Expr) -> bool:
    """Whether `expr >= 1` is proved."""
    return is_nonnegative(expr - 1)


def less_equal(lhs: Expr, rhs: Expr) -> bool:
    """Whether `lhs <= rhs` is proved."""
    return is_nonnegative(rhs - lhs)


def in_range(expr: Expr, extent: Expr) -> bool:
    """Whether `0 <= expr < extent` is proved."""
    return is_nonnegative(expr) and is_nonnegative(extent - expr - 1)


def _prove(expr: Expr, depth: int) -> bool:
    low, high = expr.bounds()
    if low is not None and low >= 0:
        return True
    if depth == 0 or (high is not None and high < 0):
        return False
    # Composite atoms first: their arguments may hold coordinates that are eliminated next.
    for atom in sorted(expr.atoms(), key=lambda a: a.key, reverse=True):
        if isinstance(atom, Sym):
            continue
        factor = expr.coefficient(atom)
        if factor is None:
            continue
        if factor is ZERO:
            continue
        if any(_prove(case, depth - 1) for case in _cases(expr, atom, factor, depth)):
            return True
        if isinstance(atom, Min | Max) and all(
            _prove(expr.substitute({atom: argument}), depth - 1) for argument in atom.arguments
        ):
            return True
        return False
    return _prove_polynomial(expr)


def _sign(factor: Expr, depth: int) -> int:
    """1 if the factor is proved >= 0, -1 if proved <= 0, else 0."""
    if _prove(factor, depth - 1):
        return 1
    return -1 if _prove(-factor, depth - 1) else 0


def _cases(expr: Expr, atom: Atom, factor: Expr, depth: int) -> list[Expr]:
    """Expressions each of which is at most `expr`: proving any one of them is enough."""
    sign = _sign(factor, depth)
    if sign == 0:
        return []
    rest = expr - factor * atom
    if isinstance(atom, DimVar):
        if atom.extent is None:
            return []
        return [rest] if sign > 0 else [rest + factor * (atom.extent - 1)]
    if isinstance(atom, Mod):
        value, divisor = atom.arguments
        if not _prove(divisor - 1, depth - 1):
            return []
        if sign > 0:
            return [rest]
        upper = [rest + factor * (divisor - 1)]
        return [*upper, rest + factor * value] if _prove(value, depth - 1) else upper
    if isinstance(atom, FloorDiv):
        return _quotient_cases(rest, factor, atom, sign, depth)
    if isinstance(atom, Min) and sign < 0 or isinstance(atom, Max) and sign > 0:
        return [rest + factor * argument for argument in atom.arguments]
    return []


def _quotient_cases(rest: Expr, factor: Expr, atom: Atom, sign: int, depth: int) -> list[Expr]:
    from .division import exact_quotient

    value, divisor = atom.arguments
    if not _prove(divisor - 1, depth - 1):
        return []
    scaled = exact_quotient(factor, divisor)
    if sign > 0:
        cases = [rest] if _prove(value, depth - 1) else []
        # divisor * (value floordiv divisor) >= value - divisor + 1
        return cases if scaled is None else [*cases, rest + scaled * (value - divisor + 1)]
    cases = [] if scaled is None else [rest + scaled * value]
    if divisor.is_const:
        low, high = atom_interval(atom)
        if high is not None:
            cases.append(rest + factor * high)
    return [*cases, rest + factor * value] if _prove(value, depth - 1) else cases


def _prove_polynomial(expr: Expr) -> bool:
    """Shift every symbol to start at its lower bound; then no negative coefficient may be left."""
    shifted: dict[Atom, Expr] = {}
    # Replacing a symbol by its upper bound needs the other factors of its terms not to be negative.
    signed = any(isinstance(atom, Sym) and (atom.lo is None or atom.lo < 0) for atom in expr.atoms())
    for atom in expr.atoms():
        if isinstance(atom, Sym):
            uses = [value for monomial, value in expr.terms if atom in monomial]
            if not signed and atom.hi is not None and all(value <= 0 for value in uses):
                shifted[atom] = const(atom.hi)
            elif atom.lo is not None:
                shifted[atom] = Sym(atom.index, 0, None if atom.hi is None else atom.hi - atom.lo) + atom.lo
            else:
                return False
        else:
            return False
    moved = expr.substitute(shifted)
    if any(not isinstance(atom, Sym) or atom.lo != 0 for atom in moved.atoms()):
        return False
    return all(coefficient >= 0 for _, coefficient in moved.terms)
