"""The symbols of a function: the sizes that its dims are made of, their ranges, and their values.

A function declares `luminal.symbols = [{name = "s0", min = 1 : i64, max = 512 : i64}, ...]`; an entry with a
`rule`
(`rule = "min(s0 + 1, 9)"`) is derived from earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from ..errors import InputError, VerifyError
from .mlir import ir
from .symbolic import Atom, Expr, Sym, as_expr, current_symbols, parse, shape_text, symbols_in_scope

SYMBOLS_ATTR = "luminal.symbols"


@dataclass(frozen=True)
class SymbolInfo:
    """One symbol of a function: its position gives the name `s<k>`.

    `maximum` None is unbounded. `rule` (an expression over earlier symbols, as text) makes it a derived
    symbol: its
    value is computed, not read from an argument's shape.
    """

    index: int
    minimum: int = 0
    maximum: int | None = None
    rule: str | None = None

    @property
    def name(self) -> str:
        """`s<index>`."""
        return f"s{self.index}"

    @property
    def sym(self) -> Sym:
        """The symbol as an expression, with its range."""
        return Sym(self.index, self.minimum, self.maximum)


def rule_of(symbol: SymbolInfo, symbols: Sequence[SymbolInfo]) -> Expr | None:
    """The rule of a derived symbol as an expression over earlier symbols; None for a free symbol."""
    if symbol.rule is None:
        return None
    return parse(symbol.rule, {other.name: other.sym for other in symbols[: symbol.index]})


def symbols_of(func: ir.OpView | ir.Operation) -> list[SymbolInfo]:
    """The declared symbols of a function, in order. VerifyError if the list is malformed."""
    attributes = func.attributes
    if SYMBOLS_ATTR not in attributes:
        return []
    entries = attributes[SYMBOLS_ATTR]
    if not isinstance(entries, ir.ArrayAttr):
        raise VerifyError(f"'{SYMBOLS_ATTR}' must be an array of dictionaries")
    infos = [_symbol_from_attr(index, entry) for index, entry in enumerate(entries)]
    for info in infos:
        try:
            rule_of(info, infos)
        except ValueError as error:
            raise VerifyError(f"the rule of symbol {info.name} cannot be read: {error}") from error
    return infos


def _symbol_from_attr(index: int, entry: ir.Attribute) -> SymbolInfo:
    if not isinstance(entry, ir.DictAttr) or "name" not in entry:
        raise VerifyError(f"entry {index} of '{SYMBOLS_ATTR}' must be a dictionary with a name")
    unknown = {entry[k].name for k in range(len(entry))} - {"name", "min", "max", "rule"}
    if unknown:
        raise VerifyError(f"entry {index} of '{SYMBOLS_ATTR}' has unknown keys: {', '.join(sorted(unknown))}")
    name = ir.StringAttr(entry["name"]).value
    if name != f"s{index}":
        raise VerifyError(f"entry {index} of '{SYMBOLS_ATTR}' must be named s{index}, not '{name}'")
    least = ir.IntegerAttr(entry["min"]).value if "min" in entry else 0
    greatest = ir.IntegerAttr(entry["max"]).value if "max" in entry else None
    if greatest is not None and least > greatest:
        raise VerifyError(f"symbol {name} has an empty range [{least}, {greatest}]")
    return SymbolInfo(index, least, greatest, ir.StringAttr(entry["rule"]).value if "rule" in entry else None)


def set_symbols(func: ir.OpView | ir.Operation, symbols: Sequence[SymbolInfo]) -> None:
    """Declare the symbols of a function (an empty list removes the attribute)."""
    if not symbols:
        if SYMBOLS_ATTR in func.attributes:
            del func.attributes[SYMBOLS_ATTR]
        return
    with func.context:
        i64 = ir.IntegerType.get_signless(64)
        entries: list[ir.Attribute] = []
        for index, symbol in enumerate(symbols):
            if symbol.index != index:
                raise ValueError(f"symbol {symbol.name} stands at position {index}")
            entry: dict[str, ir.Attribute] = {
                "name": ir.StringAttr.get(symbol.name),
                "min": ir.IntegerAttr.get(i64, symbol.minimum),
            }
            if symbol.maximum is not None:
                entry["max"] = ir.IntegerAttr.get(i64, symbol.maximum)
            if symbol.rule is not None:
                entry["rule"] = ir.StringAttr.get(symbol.rule)
            entries.append(ir.DictAttr.get(entry))
        func.attributes[SYMBOLS_ATTR] = ir.ArrayAttr.get(entries)


def syms_of(func: ir.OpView | ir.Operation) -> tuple[Sym, ...]:
    """The symbols of a function as ranged expressions: what `symbols_in_scope` takes."""
    return tuple(symbol.sym for symbol in symbols_of(func))


def scope_of(func: ir.OpView | ir.Operation) -> AbstractContextManager[tuple[Sym, ...]]:
    """`with scope_of(func):` puts the function's symbols in scope."""
    return symbols_in_scope(syms_of(func))


def enclosing_symbols(operation: ir.Operation | ir.OpView) -> tuple[Sym, ...]:
    """The symbols of the function around an op (those in scope if there is none)."""
    parent = operation.operation
    while parent is not None:
        if SYMBOLS_ATTR in parent.attributes:
            return syms_of(parent)
        parent = parent.parent.operation if parent.parent is not None else None
    return current_symbols()


def solve_symbols(
    symbols: Sequence[SymbolInfo], shapes: Sequence[tuple[Sequence[Expr], Sequence[int], str]]
) -> dict[Atom, int]:
    """Values of the symbols from actual shapes.

    `shapes` lists (declared dims, actual sizes, name for messages) per argument. Free symbols are read where
    a dim
    is linear in one unknown symbol; derived ones follow their rule. Raises InputError naming the argument if
    a
    shape does not fit, a size is out of its symbol's range, or a symbol cannot be determined.
    """
    values: dict[Atom, int] = {}
    pending = {symbol.sym: symbol for symbol in symbols}
    progress = True
    while pending and progress:
        progress = False
        for symbol in list(pending.values()):
            value = _solve_one(symbol, symbols, shapes, values)
            if value is not None:
                values[symbol.sym] = value
                del pending[symbol.sym]
                progress = True
    if pending:
        names = ", ".join(symbol.name for symbol in pending.values())
        raise InputError(f"the sizes {names} cannot be determined from the shapes of the arguments")
    for dims, sizes, name in shapes:
        expected = [dim.evaluate(values) for dim in dims]
        if list(sizes) != expected:
            raise InputError(
                f"{name} has shape {shape_text(list(sizes))}, expected {shape_text(dims)} = {expected}"
            )
    for symbol in symbols:
        value = values[symbol.sym]
        if value < symbol.minimum or (symbol.maximum is not None and value > symbol.maximum):
            limit = "unbounded" if symbol.maximum is None else symbol.maximum
            raise InputError(f"size {symbol.name} = {value} is out of its range [{symbol.minimum}, {limit}]")
    return values


def _solve_one(
    symbol: SymbolInfo,
    symbols: Sequence[SymbolInfo],
    shapes: Sequence[tuple[Sequence[Expr], Sequence[int], str]],
    values: dict[Atom, int],
) -> int | None:
    rule = rule_of(symbol, symbols)
    if rule is not None:
        return rule.evaluate(values) if all(a in values for a in rule.atoms() if isinstance(a, Sym)) else None
    for dims, sizes, name in shapes:
        if len(dims) != len(sizes):
            raise InputError(f"{name} has rank {len(sizes)}, expected {len(dims)}: {shape_text(dims)}")
        for axis, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
            if symbol.sym not in dim.atoms():
                continue
            known = dim.substitute({atom: as_expr(value) for atom, value in values.items()})
            factor = known.coefficient(symbol.sym)
            if factor is None or not factor.is_const or factor.value == 0:
                continue
            rest = known - factor * symbol.sym
            if rest.is_const:
                value, left = divmod(size - rest.value, factor.value)
                if left:
                    raise InputError(f"axis {axis} of {name} has size {size}, which is not of the form {dim}")
                return value
    return None
