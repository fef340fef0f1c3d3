"""Symbolic shapes: canonical integer expressions, their ranges, and maps between coordinates."""

from .affine import from_affine, is_affine, is_symbolic, to_affine
from .expr import ONE, ZERO, Atom, DimVar, Expr, FloorDiv, Max, Min, Mod, Sym, as_expr, const, product
from .extrema import maximum, minimum
from .index_map import IndexMap, dim_vars, shape_text, symbol_count
from .proofs import in_range, is_nonnegative, is_positive, less_equal
from .reshape import reshape_map
from .scope import current_symbols, symbols_in_scope
from .text import compiled, parse, to_text

__all__ = [
    "ONE",
    "ZERO",
    "Atom",
    "DimVar",
    "Expr",
    "FloorDiv",
    "IndexMap",
    "Max",
    "Min",
    "Mod",
    "Sym",
    "as_expr",
    "compiled",
    "const",
    "current_symbols",
    "dim_vars",
    "from_affine",
    "in_range",
    "is_affine",
    "is_nonnegative",
    "is_positive",
    "is_symbolic",
    "less_equal",
    "maximum",
    "minimum",
    "parse",
    "product",
    "reshape_map",
    "shape_text",
    "symbol_count",
    "symbols_in_scope",
    "to_affine",
    "to_text",
]
