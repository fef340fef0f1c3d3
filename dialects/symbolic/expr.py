"""Canonical integer expressions over symbols (`s0`, ...) and iteration coordinates (`d0`, ...).

An expression is a sum of products of *atoms* with integer coefficients, kept sorted and interned: two
expressions
that simplify to the same form are the same object, so equality is identity and hashing is free. Atoms are
symbols, coordinates, and the non-polynomial operations (floor division, remainder, minimum, maximum) on
canonical arguments. Everything is immutable and safe to share between threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Monomial = tuple["Atom", ...]
"""A product of atoms, sorted by `Atom.key`, repeated for powers; empty for the constant term."""

_INTERNED: dict[Any, Expr] = {}
_INFINITY = float("inf")


class Expr:
    """An interned integer expression, built with operators from `const`, `Sym`, `DimVar`, `minimum`..."""

    __slots__ = ("terms", "key", "_atoms", "_bounds", "_nonneg", "__weakref__")

    terms: tuple[tuple[Monomial, int], ...]
    key: tuple[Any, ...]
    _atoms: frozenset[Atom] | None
    _bounds: tuple[int | None, int | None] | None
    _nonneg: bool | None

    def _init_caches(self) -> None:
        self._atoms = None
        self._bounds = None
        self._nonneg = None

    @property
    def is_const(self) -> bool:
        """Whether this is a plain integer."""
        return not self.terms or (len(self.terms) == 1 and not self.terms[0][0])

    @property
    def value(self) -> int:
        """The integer of a constant expression; ValueError otherwise."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        raise ValueError(f"'{self}' is not a constant")

    def constant_term(self) -> int:
        """The coefficient of the empty product."""
        for monomial, coefficient in self.terms:
            if not monomial:
                return coefficient
        return 0

    def __add__(self, other: Expr | int) -> Expr:
        return add(self, as_expr(other))

    __radd__ = __add__

    def __neg__(self) -> Expr:
        return scale(self, -1)

    def __sub__(self, other: Expr | int) -> Expr:
        return add(self, scale(as_expr(other), -1))

    def __rsub__(self, other: Expr | int) -> Expr:
        return add(as_expr(other), scale(self, -1))

    def __mul__(self, other: Expr | int) -> Expr:
        return multiply(self, as_expr(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: Expr | int) -> Expr:
        from .division import floordiv

        return floordiv(self, as_expr(other))

    def __rfloordiv__(self, other: int) -> Expr:
        return as_expr(other) // self

    def __mod__(self, other: Expr | int) -> Expr:
        from .division import modulo

        return modulo(self, as_expr(other))

    def __rmod__(self, other: int) -> Expr:
        return as_expr(other) % self

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        from .text import to_text

        return to_text(self)

    def __reduce__(self) -> Any:
        return (sum_of, (self.terms,))

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: Any) -> Expr:
        return self

    def atoms(self) -> frozenset[Atom]:
        """Every atom in the expression, those inside division, minimum and so on included."""
        if self._atoms is None:
            found: set[Atom] = set()
            for monomial, _ in self.terms:
                for atom in monomial:
                    if atom not in found:
                        found.add(atom)
                        for argument in atom.arguments:
                            found |= argument.atoms()
            self._atoms = frozenset(found)
        return self._atoms

    def bounds(self) -> tuple[int | None, int | None]:
        """The least and greatest possible value, None where unbounded."""
        if self._bounds is None:
            from .proofs import interval

            self._bounds = interval(self)
        return self._bounds

    def coefficient(self, atom: Atom) -> Expr | None:
        """The factor (stride) of `atom`: 0 if it is absent, None if the expression is not linear in it."""
        rest: list[tuple[Monomial, int]] = []
        for monomial, coefficient in self.terms:
            count = monomial.count(atom)
            if count > 1 or any(other is not atom and atom in other.atoms() for other in monomial):
                return None
            if count:
                position = monomial.index(atom)
                rest.append((monomial[:position] + monomial[position + 1 :], coefficient))
        return sum_of(rest)

    def substitute(self, replacements: Mapping[Atom, Expr]) -> Expr:
        """Replace atoms by expressions and simplify again."""
        if not replacements or self.atoms().isdisjoint(replacements):
            return self
        return _substitute(self, replacements, {})

    def evaluate(
        self,
        values: Mapping[Atom, Any],
        minimum: Callable[[Any, Any], Any] = min,
        maximum: Callable[[Any, Any], Any] = max,
    ) -> Any:
        """The value under an assignment of integers (or integer arrays, given array `minimum`/`maximum`).

        Raises KeyError if an atom has no value, ZeroDivisionError on division by zero.
        """
        total: Any = 0
        for monomial, coefficient in self.terms:
            product: Any = coefficient
            for atom in monomial:
                product = product * _atom_value(atom, values, minimum, maximum)
            total = total + product
        return total


class Atom(Expr):
    """An indivisible factor. An atom is itself an expression: the sum that has it once."""

    __slots__ = ("arguments",)

    arguments: tuple[Expr, ...]

    def _finish(self, key: tuple[Any, ...], arguments: tuple[Expr, ...]) -> None:
        self.key = key
        self.arguments = arguments
        self.terms = (((self,), 1),)
        self._init_caches()


class DimVar(Atom):
    """Iteration coordinate `d<index>`, 0 <= d < `extent`; with `extent` None any integer."""

    __slots__ = ("index", "extent")

    index: int
    extent: Expr | None

    def __new__(cls, index: int, extent: Expr | int | None) -> DimVar:
        bound = None if extent is None else as_expr(extent)
        identity = ("d", index, bound)
        found = _INTERNED.get(identity)
        if found is None:
            self = super().__new__(cls)
            self.index = index
            self.extent = bound
            self._finish((0, index, bound.key if bound is not None else ()), ())
            found = _INTERNED.setdefault(identity, self)
        return found  # type: ignore[return-value]

    def __reduce__(self) -> Any:
        return (DimVar, (self.index, self.extent))


class Sym(Atom):
    """Symbol `s<index>` of a function, in the range [`lo`, `hi`] (None: unbounded)."""

    __slots__ = ("index", "lo", "hi")

    index: int
    lo: int | None
    hi: int | None

    def __new__(cls, index: int, lo: int | None = 0, hi: int | None = None) -> Sym:
        identity = ("s", index, lo, hi)
        found = _INTERNED.get(identity)
        if found is None:
            if lo is not None and hi is not None and lo > hi:
                raise ValueError(f"symbol s{index} has an empty range [{lo}, {hi}]")
            self = super().__new__(cls)
            self.index = index
            self.lo = lo
            self.hi = hi
            order = (-_INFINITY if lo is None else lo, _INFINITY if hi is None else hi)
            self._finish((1, index, *order), ())
            found = _INTERNED.setdefault(identity, self)
        return found  # type: ignore[return-value]

    def __reduce__(self) -> Any:
        return (Sym, (self.index, self.lo, self.hi))


class Operation(Atom):
    """A non-polynomial operation on canonical arguments. `RANK` orders the kinds among atoms."""

    __slots__ = ()
    RANK = 2

    def __new__(cls, arguments: tuple[Expr, ...]) -> Operation:
        identity = (cls, arguments)
        found = _INTERNED.get(identity)
        if found is None:
            self = super().__new__(cls)
            self._finish((cls.RANK, *(argument.key for argument in arguments)), arguments)
            found = _INTERNED.setdefault(identity, self)
        return found  # type: ignore[return-value]

    def __reduce__(self) -> Any:
        return (type(self), (self.arguments,))


class FloorDiv(Operation):
    """`arguments[0]` divided by `arguments[1]`, rounded towards minus infinity."""

    __slots__ = ()
    RANK = 2


class Mod(Operation):
    """`arguments[0] - floordiv * arguments[1]`; has the divisor's sign."""

    __slots__ = ()
    RANK = 3


class Min(Operation):
    """The least of two or more arguments."""

    __slots__ = ()
    RANK = 4


class Max(Operation):
    """The greatest of two or more arguments."""

    __slots__ = ()
    RANK = 5


def _monomial_order(term: tuple[Monomial, int]) -> tuple[Any, ...]:
    return tuple(atom.key for atom in term[0])


def sum_of(terms: Iterable[tuple[Monomial, int]]) -> Expr:
    """The expression with these terms; monomials must be sorted, repeats are added up."""
    collected: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        collected[monomial] = collected.get(monomial, 0) + coefficient
    return _from_dict(collected)


def _from_dict(collected: dict[Monomial, int]) -> Expr:
    kept = [term for term in collected.items() if term[1]]
    if len(kept) == 1 and kept[0][1] == 1 and len(kept[0][0]) == 1:
        return kept[0][0][0]
    if len(kept) > 1:
        from .division import recombine

        kept.sort(key=_monomial_order)
        joined = recombine(kept)
        if joined is not None:
            return joined
    return _intern(tuple(kept))


def _intern(terms: tuple[tuple[Monomial, int], ...]) -> Expr:
    found = _INTERNED.get(terms)
    if found is None:
        self = Expr()
        self.terms = terms
        self.key = (6, tuple((tuple(atom.key for atom in monomial), value) for monomial, value in terms))
        self._init_caches()
        found = _INTERNED.setdefault(terms, self)
    return found


def const(value: int) -> Expr:
    """The constant expression of an integer."""
    return _intern((((), int(value)),) if value else ())


ZERO = const(0)
ONE = const(1)


def as_expr(value: Expr | int) -> Expr:
    """An expression as it is, an integer as a constant."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"expected an integer or a symbolic expression, got {value!r}")
    return const(value.__index__())


def add(lhs: Expr, rhs: Expr) -> Expr:
    """Sum."""
    if not lhs.terms:
        return rhs
    if not rhs.terms:
        return lhs
    collected = dict(lhs.terms)
    for monomial, coefficient in rhs.terms:
        collected[monomial] = collected.get(monomial, 0) + coefficient
    return _from_dict(collected)


def scale(expr: Expr, factor: int) -> Expr:
    """Product with an integer."""
    if factor == 1:
        return expr
    if factor == 0:
        return ZERO
    return _from_dict({monomial: coefficient * factor for monomial, coefficient in expr.terms})


def multiply(lhs: Expr, rhs: Expr) -> Expr:
    """Product, expanded."""
    if rhs.is_const:
        return scale(lhs, rhs.value)
    if lhs.is_const:
        return scale(rhs, lhs.value)
    collected: dict[Monomial, int] = {}
    for left, left_coefficient in lhs.terms:
        for right, right_coefficient in rhs.terms:
            monomial = merge(left, right)
            collected[monomial] = collected.get(monomial, 0) + left_coefficient * right_coefficient
    return _from_dict(collected)


def merge(left: Monomial, right: Monomial) -> Monomial:
    """The product of two monomials."""
    if not left:
        return right
    if not right:
        return left
    return tuple(sorted(left + right, key=lambda atom: atom.key))


def product(factors: Iterable[Expr | int]) -> Expr:
    """Product of several factors; 1 if there are none."""
    result = ONE
    for factor in factors:
        result = result * factor
    return result


def _atom_value(
    atom: Atom,
    values: Mapping[Atom, Any],
    minimum: Callable[[Any, Any], Any],
    maximum: Callable[[Any, Any], Any],
) -> Any:
    known = values.get(atom)
    if known is not None:
        return known
    if not atom.arguments:
        raise KeyError(f"no value for '{atom}'")
    first, *others = (argument.evaluate(values, minimum, maximum) for argument in atom.arguments)
    if isinstance(atom, FloorDiv):
        return first // others[0]
    if isinstance(atom, Mod):
        return first % others[0]
    combine = minimum if isinstance(atom, Min) else maximum
    for other in others:
        first = combine(first, other)
    return first


def rebuild(atom: Atom, arguments: tuple[Expr, ...]) -> Expr:
    """The operation of `atom` applied to other arguments, simplified."""
    if isinstance(atom, FloorDiv):
        return arguments[0] // arguments[1]
    if isinstance(atom, Mod):
        return arguments[0] % arguments[1]
    from .extrema import maximum, minimum

    return minimum(*arguments) if isinstance(atom, Min) else maximum(*arguments)


def _substitute(expr: Expr, replacements: Mapping[Atom, Expr], memo: dict[Atom, Expr]) -> Expr:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in expr.terms:
        factor = const(coefficient)
        for atom in monomial:
            factor = factor * _replaced(atom, replacements, memo)
        for key, value in factor.terms:
            total[key] = total.get(key, 0) + value
    return _from_dict(total)


def _replaced(atom: Atom, replacements: Mapping[Atom, Expr], memo: dict[Atom, Expr]) -> Expr:
    found = replacements.get(atom)
    if found is not None:
        return as_expr(found)
    if not atom.arguments or atom.atoms().isdisjoint(replacements):
        return atom
    if atom not in memo:
        arguments = tuple(_substitute(argument, replacements, memo) for argument in atom.arguments)
        memo[atom] = rebuild(atom, arguments)
    return memo[atom]
