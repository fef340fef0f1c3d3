"""The symbols in PyTorch's shapes: their ranges, and their expressions as text and as affine maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy
import torch
from torch.utils._sympy.functions import CeilDiv, FloorDiv, Mod, PythonMod

from luminal.errors import ImportFailure

from ...dialects.mlir import ir
from ...dialects.symbolic import Expr, IndexMap, Sym, as_expr, maximum, minimum, product

_UNBOUNDED = 2**62


class ShapeSymbols:
    """All symbols that the values of the placeholders mention, in order of appearance.

    `ranges` (an ExportedProgram's range constraints) go before the ranges that tracing assumed.
    """

    def __init__(self, values: Sequence[Any], ranges: Mapping[Any, Any]) -> None:
        self._symbols: dict[sympy.Symbol, Sym] = {}
        self._ranges = ranges
        for value in values:
            for size in _sizes(value):
                self._collect(size)

    def _collect(self, size: torch.SymInt) -> None:
        environment = size.node.shape_env
        for symbol in sorted(size.node.expr.free_symbols, key=str):
            if symbol not in self._symbols:
                assumed = environment.var_to_range.get(symbol) if environment is not None else None
                bounds = self._ranges.get(symbol, assumed)
                low = _integer(bounds.lower, 0) if bounds is not None else 0
                high = _integer(bounds.upper, None) if bounds is not None else None
                self._symbols[symbol] = Sym(len(self._symbols), max(low or 0, 0), high)

    def names(self) -> list[str]:
        """PyTorch's names of the symbols, in order."""
        return [str(symbol) for symbol in self._symbols]

    def expression(self, size: int | torch.SymInt) -> Expr:
        """A size as an expression over s0, s1, ..."""
        return as_expr(size) if isinstance(size, int) else self._convert(size.node.expr)

    def known(self, sizes: Sequence[Any]) -> tuple[Expr, ...] | None:
        """Sizes as expressions, None if one depends on a symbol that no placeholder has."""
        for size in sizes:
            if isinstance(size, torch.SymInt) and not size.node.expr.free_symbols <= self._symbols.keys():
                return None
        return tuple(self.expression(size) for size in sizes)

    def text(self, size: torch.SymInt) -> str:
        """The expression's text."""
        return str(self.expression(size))

    def declare(self) -> list[ir.Value]:
        """One `torch.symbolic_int` per symbol at the insertion point."""
        i64 = ir.IntegerType.get_signless(64)
        values = []
        for sym in self._symbols.values():
            attributes = {
                "symbol_name": ir.StringAttr.get(f"s{sym.index}"),
                "min_val": ir.IntegerAttr.get(i64, sym.lo or 0),
                "max_val": ir.IntegerAttr.get(i64, 2**63 - 1 if sym.hi is None else sym.hi),
            }
            result = ir.Type.parse("!torch.int")
            values.append(ir.Operation.create("torch.symbolic_int", [result], attributes=attributes).result)
        return values

    def bind(self, value: ir.Value, shape: Sequence[int | torch.SymInt], symbols: Sequence[ir.Value]) -> None:
        """`torch.bind_symbolic_shape` for one value."""
        dims = tuple(self.expression(size) for size in shape)
        used = IndexMap((), dims).to_affine_map()
        attributes: dict[str, ir.Attribute] = {"shape_expressions": ir.AffineMapAttr.get(used)}
        operands = [value, *symbols[: used.n_symbols]]
        ir.Operation.create("torch.bind_symbolic_shape", operands=operands, attributes=attributes)

    def _convert(self, expression: sympy.Expr) -> Expr:
        if isinstance(expression, sympy.Symbol):
            return self._symbols[expression]
        if isinstance(expression, sympy.Integer):
            return as_expr(int(expression))
        if isinstance(expression, sympy.Pow) and expression.args[1].is_Integer and expression.args[1] > 0:
            return product([self._convert(expression.args[0])] * int(expression.args[1]))
        parts = [self._convert(part) for part in expression.args]
        if isinstance(expression, sympy.Add):
            return sum(parts[1:], parts[0])
        if isinstance(expression, sympy.Mul):
            return product(parts)
        if isinstance(expression, FloorDiv):
            return parts[0] // parts[1]
        if isinstance(expression, CeilDiv):
            return (parts[0] + parts[1] - 1) // parts[1]
        if isinstance(expression, (Mod, PythonMod)):
            return parts[0] % parts[1]
        if expression.func.__name__ in ("Min", "Max"):
            return minimum(*parts) if expression.func.__name__ == "Min" else maximum(*parts)
        raise ImportFailure(f"the size {expression} of an input is not supported")


def _sizes(value: Any) -> list[torch.SymInt]:
    sizes = list(value.shape) if isinstance(value, torch.Tensor) else [value]
    return [size for size in sizes if isinstance(size, torch.SymInt)]


def _integer(bound: Any, default: int | None) -> int | None:
    try:
        number = int(bound)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return default
    return number if abs(number) < _UNBOUNDED else default
