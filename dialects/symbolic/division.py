"""Floor division and remainder on canonical expressions.

Both divide polynomials first (`(8*s + d) // 8` is `s + d // 8`), then drop what a range proof removes
(`(d0*s1 + d1) // s1` is `d0` when `d1 < s1`), then cancel common factors; what is left becomes an atom.
Coordinates are only evaluated inside their domain, where a divisor that is an extent is at least 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import gcd

from .expr import ONE, ZERO, Atom, Expr, FloorDiv, Mod, Monomial, const, merge, sum_of
from .proofs import in_range, is_nonnegative, is_positive

Term = tuple[Monomial, int]


@lru_cache(maxsize=1 << 16)
def floordiv(value: Expr, divisor: Expr) -> Expr:
    """`value / divisor` rounded towards minus infinity. ZeroDivisionError for a divisor that is 0."""
    early = _trivial(value, divisor)
    if early is not None:
        return early[0]
    if divisor.is_const and divisor.value < 0:
        return floordiv(-value, -divisor)
    quotient, rest = divide(value, divisor, whole_terms=True)
    if quotient is not ZERO:
        return quotient + floordiv(rest, divisor)
    partial, small = divide(rest, divisor)
    if in_range(small, divisor):
        return partial
    if divisor.is_const:
        low, high = small.bounds()
        if low is not None and high is not None and low // divisor.value == high // divisor.value:
            return partial + low // divisor.value
        leading = next(coefficient for monomial, coefficient in rest.terms if monomial)
        if leading < 0:
            # floor(-x / n) = -floor((x + n - 1) / n): one form for both signs.
            return -floordiv(-rest + (divisor - 1), divisor)
    for part, remainder, factor, divisor_left in _splits(rest, divisor):
        if in_range(remainder, factor):
            return floordiv(part, divisor_left)
    return _nested_quotient(rest, divisor) or FloorDiv((rest, divisor))


def _nested_quotient(rest: Expr, divisor: Expr) -> Expr | None:
    """(x // a + c) // b = (x + c*a) // (a*b);  (x mod a*b) // b = (x // b) mod a."""
    for monomial, coefficient in rest.terms:
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], FloorDiv):
            value, first = monomial[0].arguments
            if is_positive(first) and is_positive(divisor):
                return floordiv(value + first * (rest - monomial[0]), first * divisor)
    if isinstance(rest, Mod):
        value, modulus = rest.arguments
        outer = exact_quotient(modulus, divisor)
        if outer is not None and is_positive(divisor):
            return modulo(floordiv(value, divisor), outer)
    return None


@lru_cache(maxsize=1 << 16)
def modulo(value: Expr, divisor: Expr) -> Expr:
    """`value - divisor * (value // divisor)`. ZeroDivisionError for a constant 0 divisor."""
    early = _trivial(value, divisor)
    if early is not None:
        return early[1]
    if divisor.is_const and divisor.value < 0:
        return -modulo(-value, -divisor)
    rest = _strip_inner_remainders(divide(value, divisor, whole_terms=True)[1], divisor)
    early = _trivial(rest, divisor)
    if early is not None:
        return early[1]
    small = divide(rest, divisor)[1]
    if in_range(small, divisor):
        return small
    if divisor.is_const:
        n = divisor.value
        low, high = small.bounds()
        if low is not None and high is not None and low // n == high // n:
            return small - n * (low // n)
    for part, remainder, factor, divisor_left in _splits(rest, divisor):
        if in_range(remainder, factor):
            return factor * modulo(part, divisor_left) + remainder
    return Mod((rest, divisor))


def _strip_inner_remainders(rest: Expr, divisor: Expr) -> Expr:
    """c * (x mod m) is congruent to c * x when the divisor divides c * m."""
    for monomial, coefficient in rest.terms:
        for position, atom in enumerate(monomial):
            if isinstance(atom, Mod):
                others = sum_of([(monomial[:position] + monomial[position + 1 :], coefficient)])
                if exact_quotient(others * atom.arguments[1], divisor) is not None:
                    plain = rest - others * atom + others * atom.arguments[0]
                    return _strip_inner_remainders(divide(plain, divisor, whole_terms=True)[1], divisor)
    return rest


def _trivial(value: Expr, divisor: Expr) -> tuple[Expr, Expr] | None:
    """Quotient and remainder where no reasoning is needed."""
    if divisor is ONE:
        return value, ZERO
    if divisor is ZERO:
        raise ZeroDivisionError(f"'{value}' is divided by the constant 0")
    if value is ZERO:
        return ZERO, ZERO
    if value.is_const and divisor.is_const:
        return const(value.value // divisor.value), const(value.value % divisor.value)
    return None


def divide(value: Expr, divisor: Expr, whole_terms: bool = False) -> tuple[Expr, Expr]:
    """Polynomial division: `value == quotient * divisor + rest`.

    By a constant, coefficients in the rest become smaller than it in size; with `whole_terms` a term is
    divided
    only if it divides exactly (so that `6*(x // 6) + x mod 6` stays recognisable), except for the constant
    term.
    """
    if divisor.is_const:
        n = divisor.value
        quotient: list[Term] = []
        rest: list[Term] = []
        for monomial, coefficient in value.terms:
            # Constants are reduced into [0, n); other coefficients keep their sign, which range proofs need.
            whole = (
                coefficient // n if not monomial else (abs(coefficient) // n) * (1 if coefficient > 0 else -1)
            )
            if whole_terms and monomial and coefficient % n:
                whole = 0
            quotient.append((monomial, whole))
            rest.append((monomial, coefficient - whole * n))
        return sum_of(quotient), sum_of(rest)
    lead, lead_coefficient = _leading(divisor)
    quotient_expr, rest_expr, work = ZERO, ZERO, value
    while work.terms:
        term = _leading(work)
        factor = _divide_term(term, (lead, lead_coefficient))
        if factor is None:
            single = sum_of([term])
            rest_expr, work = rest_expr + single, work - single
        else:
            quotient_expr, work = quotient_expr + factor, work - factor * divisor
    return quotient_expr, rest_expr


def _leading(expr: Expr) -> Term:
    """The term of highest degree (ties: first in order), so that division terminates."""
    return max(expr.terms, key=lambda term: (len(term[0]), tuple(atom.key for atom in term[0])))


def _divide_term(term: Term, by: Term) -> Expr | None:
    remaining = list(term[0])
    for atom in by[0]:
        if atom not in remaining:
            return None
        remaining.remove(atom)
    if term[1] % by[1]:
        return None
    return sum_of([(tuple(remaining), term[1] // by[1])])


def exact_quotient(value: Expr, divisor: Expr) -> Expr | None:
    """`value / divisor` if it divides as a polynomial, else None."""
    if divisor is ZERO:
        return None
    quotient, rest = divide(value, divisor)
    return quotient if rest is ZERO else None


def _splits(rest: Expr, divisor: Expr) -> Iterator[tuple[Expr, Expr, Expr, Expr]]:
    """(part, remainder, g, divisor / g) with `rest == g * part + remainder`, for common factors g > 1."""
    if len(divisor.terms) != 1:
        return
    monomial, coefficient = divisor.terms[0]
    seen: set[Expr] = set()
    candidates = [_common(term, (monomial, coefficient)) for term in rest.terms if term[0]]
    for factor in sorted(candidates, key=lambda g: (len(g.terms[0][0]), g.terms[0][1]), reverse=True):
        if factor is ONE or factor in seen:
            continue
        seen.add(factor)
        part, remainder = divide(rest, factor)
        left = exact_quotient(divisor, factor)
        if left is not None and part is not ZERO and is_nonnegative(remainder):
            yield part, remainder, factor, left


def _common(lhs: Term, rhs: Term) -> Expr:
    remaining = list(rhs[0])
    shared: list[Atom] = []
    for atom in lhs[0]:
        if atom in remaining:
            remaining.remove(atom)
            shared.append(atom)
    return sum_of([(tuple(shared), gcd(lhs[1], rhs[1]))])


def recombine(terms: list[Term]) -> Expr | None:
    """Join a quotient and a remainder of the same division; None if nothing joins.

    `c*m*(x // m) + c*(x mod m)` is `c*x`, and `c*m*((x // m) mod k) + c*(x mod m)` is `c*(x mod m*k)`.
    """
    if not any(isinstance(atom, Mod) for monomial, _ in terms for atom in monomial):
        return None
    present = dict(terms)
    for monomial, coefficient in terms:
        for position, atom in enumerate(monomial):
            if isinstance(atom, Mod):
                others = (monomial[:position] + monomial[position + 1 :], coefficient)
                joined = _join(present, others, atom) or _join_remainders(present, others, atom)
                if joined is not None:
                    return joined
    return None


def _join(present: dict[Monomial, int], others: Term, atom: Mod) -> Expr | None:
    value, modulus = atom.arguments
    quotient = floordiv(value, modulus)
    composite = [term for term in quotient.terms if any(isinstance(a, FloorDiv | Mod) for a in term[0])]
    if not composite:
        return None
    product = sum_of([others]) * modulus
    for monomial, coefficient in composite:
        for left, left_coefficient in product.terms:
            if present.get(merge(left, monomial)) != left_coefficient * coefficient:
                return None
    remaining = dict(present)
    del remaining[merge(others[0], (atom,))]
    # Term by term: a sum of the quotient and the remainder would join again, for ever.
    for monomial, coefficient in quotient.terms:
        for left, left_coefficient in product.terms:
            key = merge(left, monomial)
            remaining[key] = remaining.get(key, 0) - left_coefficient * coefficient
    return sum_of(remaining.items()) + sum_of([others]) * value


def _join_remainders(present: dict[Monomial, int], others: Term, atom: Mod) -> Expr | None:
    value, modulus = atom.arguments
    high = sum_of([others]) * modulus
    if len(high.terms) != 1:
        return None
    for monomial, coefficient in present.items():
        for upper in monomial:
            if not isinstance(upper, Mod) or upper is atom or coefficient != high.terms[0][1]:
                continue
            if merge(high.terms[0][0], (upper,)) != monomial:
                continue
            if modulo(floordiv(value, modulus), upper.arguments[1]) is upper:
                remaining = dict(present)
                del remaining[monomial]
                del remaining[merge(others[0], (atom,))]
                return sum_of(remaining.items()) + sum_of([others]) * modulo(
                    value, modulus * upper.arguments[1]
                )
    return None
