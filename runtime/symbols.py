"""Finds the values of a program's symbols from the shapes of a call's inputs, and checks them.

Each dim of each input is an expression over symbols. A dim that is linear in one unknown symbol determines
it; every other dim is then a check. Symbols with a rule follow from the others. What determines what is
sorted out once; a call evaluates compiled expressions and compares integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from luminal.errors import InputError, RuntimeFailure

from ..dialects.symbolic import Expr, Sym, compiled
from ..passes.schedule import Symbol


@dataclass(frozen=True)
class Input:
    """What the solver knows of an input: its name in messages, and its dims (a scalar: one dim, its
    value).
    """

    name: str
    dims: tuple[Expr, ...]
    scalar: bool = False


@dataclass(frozen=True)
class _Dim:
    """Solving step: `symbol = (size of axis `axis` of input `position` - rest) / factor`."""

    symbol: int
    position: int
    axis: int
    factor: int
    rest: Callable[[Sequence[int]], tuple[int, ...]]


@dataclass(frozen=True)
class _Rule:
    """Solving step: `symbol = rule`."""

    symbol: int
    rule: Callable[[Sequence[int]], tuple[int, ...]]


class SymbolSolver:
    """Solves `symbols` from the dims of `inputs`.

    Raises RuntimeFailure at construction if no input determines a symbol that `needed` lists.
    """

    def __init__(self, symbols: Sequence[Symbol], inputs: Sequence[Input], needed: set[int]) -> None:
        self.symbols = list(symbols)
        self.inputs = list(inputs)
        self._steps: list[_Dim | _Rule] = []
        known: set[int] = set()
        while step := self._next_rule(known) or self._next_dim(known):
            self._steps.append(step)
            known.add(step.symbol)
        missing = [symbol.name for k, symbol in enumerate(symbols) if k in needed - known]
        if missing:
            raise RuntimeFailure(f"no input's shape determines the size {', '.join(missing)}")
        self._fixed = [
            tuple(dim.value for dim in item.dims) if all(dim.is_const for dim in item.dims) else None
            for item in inputs
        ]
        self._expected = [compiled(item.dims, len(symbols)) for item in inputs]

    def _next_rule(self, known: set[int]) -> _Rule | None:
        for k, symbol in enumerate(self.symbols):
            if k not in known and symbol.rule is not None and _symbols(symbol.rule) <= known:
                return _Rule(k, compiled((symbol.rule,), len(self.symbols)))
        return None

    def _next_dim(self, known: set[int]) -> _Dim | None:
        for position, item in enumerate(self.inputs):
            for axis, dim in enumerate(item.dims):
                unknown = [a for a in dim.atoms() if isinstance(a, Sym) and a.index not in known]
                if len(unknown) != 1 or self.symbols[unknown[0].index].rule is not None:
                    continue
                factor = dim.coefficient(unknown[0])
                if factor is not None and factor.is_const and factor.value:
                    rest = compiled((dim - factor * unknown[0],), len(self.symbols))
                    return _Dim(unknown[0].index, position, axis, factor.value, rest)
        return None

    def solve(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The symbols' values for inputs of these shapes (a scalar's "shape" is `(value,)`).

        Raises InputError naming the first input that does not fit: its rank, a dim that differs, or a
        symbol out of range.
        """
        for item, shape in zip(self.inputs, shapes, strict=True):
            if len(shape) != len(item.dims):
                dims = ", ".join(map(str, item.dims))
                raise InputError(
                    f"input '{item.name}' has {len(shape)} dimensions {tuple(shape)}, "
                    f"expected {len(item.dims)}: ({dims})"
                )
        values = [symbol.lo or 0 for symbol in self.symbols]
        for step in self._steps:
            if isinstance(step, _Rule):
                values[step.symbol] = step.rule(values)[0]
            else:
                size = shapes[step.position][step.axis]
                values[step.symbol] = (size - step.rest(values)[0]) // step.factor
                self._check_range(step, size, values[step.symbol])
        for position, fixed in enumerate(self._fixed):
            want = self._expected[position](values) if fixed is None else fixed
            if tuple(shapes[position]) != want:
                self._refuse(position, shapes[position], want, values)
        return tuple(values)

    def _check_range(self, step: _Dim, size: int, value: int) -> None:
        symbol = self.symbols[step.symbol]
        if (symbol.lo is None or value >= symbol.lo) and (symbol.hi is None or value <= symbol.hi):
            return
        limit = f"at least {symbol.lo}" if symbol.hi is None else f"between {symbol.lo} and {symbol.hi}"
        item = self.inputs[step.position]
        got = f"input '{item.name}' is {size}{_along(item, step.axis)}"
        dim = item.dims[step.axis]
        if isinstance(dim, Sym):
            raise InputError(f"{got}, expected {limit}")
        raise InputError(f"{got}, which is {dim} with {symbol.name} = {value}; {symbol.name} must be {limit}")

    def _refuse(self, position: int, shape: Sequence[int], want: tuple[int, ...], values: list[int]) -> None:
        item = self.inputs[position]
        axis = next(k for k, (a, b) in enumerate(zip(shape, want, strict=True)) if a != b)
        known = ", ".join(f"{self.symbols[k].name} = {values[k]}" for k in sorted(_symbols(item.dims[axis])))
        reason = f"{want[axis]}" + (f" ({item.dims[axis]} with {known})" if known else "")
        raise InputError(f"input '{item.name}' is {shape[axis]}{_along(item, axis)}, expected {reason}")


def _along(item: Input, axis: int) -> str:
    return "" if item.scalar else f" along dimension {axis}"


def _symbols(expr: Expr) -> set[int]:
    return {atom.index for atom in expr.atoms() if isinstance(atom, Sym)}
