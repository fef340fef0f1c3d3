"""The symbols of the function under construction, and the types and maps written over them.

A dim that is not affine (a minimum or maximum) becomes a *derived symbol* whose rule computes it from the
others. Maps list all symbols of the function, and their number is known only when the import has seen every
op: the conversion runs a second time with all of them in scope when new ones have appeared (see
conversion.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.mlir import ir
from ...dialects.symbolic import DimVar, Expr, IndexMap, Max, Min, Sym
from ...dialects.types import SymbolInfo, rule_of, scalar_type, tensor_type
from .registry import Unsupported


class FixedSize(Exception):
    """A symbol turns out to be a function of earlier ones, or to have only one value: an op needs that size,
    and torch's trace does not say so."""

    def __init__(self, symbol: int, value: Expr) -> None:
        super().__init__(f"s{symbol} is {value}")
        self.symbol, self.value = symbol, value


class SymbolTable:
    """The symbols in order of position; grows by derived ones. Use inside `with context`."""

    def __init__(self, symbols: Sequence[SymbolInfo] = ()) -> None:
        self.symbols = list(symbols)
        rules = ((rule_of(symbol, symbols), symbol.sym) for symbol in symbols)
        self._derived: dict[Expr, Sym] = {rule: atom for rule, atom in rules if rule is not None}

    def declare(self, lo: int, hi: int | None) -> Sym:
        """A symbol that the caller of the function determines."""
        self.symbols.append(SymbolInfo(len(self.symbols), lo, hi))
        return self.symbols[-1].sym

    def fit(self, expression: Expr) -> Expr:
        """The expression in affine form, every minimum and maximum replaced by a derived symbol; refuses
        one over iteration coordinates."""
        if expression.is_const:
            return expression
        extrema = {atom for atom in expression.atoms() if isinstance(atom, (Min, Max))}
        if not extrema:
            return expression
        inner = {argument for atom in extrema for value in atom.arguments for argument in value.atoms()}
        outermost = sorted(extrema - inner, key=lambda atom: atom.key)
        return expression.substitute({atom: self._derive(atom) for atom in outermost})

    def _derive(self, expression: Expr) -> Sym:
        if any(isinstance(atom, DimVar) for atom in expression.atoms()):
            raise Unsupported(f"index {expression} is not affine")
        if expression not in self._derived:
            low, high = expression.bounds()
            info = SymbolInfo(len(self.symbols), low or 0, high, str(expression))
            self.symbols.append(info)
            self._derived[expression] = info.sym
        return self._derived[expression]

    def atoms(self) -> list[Sym]:
        """All symbols, for `symbolic.symbols_in_scope`."""
        return [symbol.sym for symbol in self.symbols]

    def element_type(self, dtype: str) -> ir.Type:
        """MLIR element type of a luminal dtype."""
        return scalar_type(dtype)

    def tensor_type(self, shape: Sequence[Expr], dtype: str) -> ir.Type:
        """`tensor<...>` with the dims as encoding when one of them is dynamic."""
        return tensor_type(shape, dtype)

    def map_attribute(self, extents: Sequence[Expr | None], results: Sequence[Expr]) -> ir.Attribute:
        """The affine map from coordinates with these extents (None: an index value) to `results`."""
        try:
            return IndexMap(tuple(extents), tuple(results)).to_attr()
        except ValueError as error:
            raise Unsupported(str(error)) from error
