"""The pass `narrow-symbols`: a program for fewer sizes, from the program for all of them.

A dim bucket is compiled from a copy of the imported module whose symbols have the bucket's ranges, so that
expressions over them simplify, and a size that has only one value is no symbol any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from luminal.errors import PassError

from ..dialects.mlir import ir
from ..dialects.symbolic import Atom, Expr, IndexMap, Max, Min, const, symbols_in_scope
from ..dialects.types import SymbolInfo, dims_of, dtype_of, rule_of, set_symbols, symbols_of, tensor_type


@dataclass(frozen=True)
class NarrowSymbolsOptions:
    """Options of narrow-symbols.

    ranges: new ranges, least and greatest value: `s0=1:1;s1=2:512`
    """

    ranges: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        parse_ranges(self.ranges)


def parse_ranges(texts: Sequence[str]) -> dict[str, tuple[int, int]]:
    """`("s0=1:512",)` as `{"s0": (1, 512)}`. Raises ValueError for another form."""
    found: dict[str, tuple[int, int]] = {}
    for text in texts:
        name, _, limits = text.partition("=")
        low, _, high = limits.partition(":")
        try:
            found[name.strip()] = int(low), int(high)
        except ValueError:
            raise ValueError(f"expected a range such as s0=1:512, got '{text}'") from None
    return found


def narrow_symbols(op: ir.Operation, options: NarrowSymbolsOptions) -> dict[str, object]:
    """Give symbols narrower ranges; one of a single value becomes a constant in every type and map.

    before:  "luminal.iota"() {map = affine_map<(d0)[s0] -> (d0 + s0)>} : () -> tensor<?xi64, ..(s0)>
    after, with s0=4:4:  "luminal.iota"() {map = affine_map<(d0) -> (d0 + 4)>} : () -> tensor<4xi64>

    All symbols keep their places in the list: a constant one has its value as rule. Raises PassError for an
    unknown symbol, a derived one, or a range that is not inside the symbol's.
    """
    count = 0
    for view in op.regions[0].blocks[0].operations:
        if view.operation.name == "func.func":
            count += _Narrowing(view.operation, parse_ranges(options.ranges)).run()
    return {"constant symbols": count}


class _Narrowing:
    """The rewriting of one function."""

    def __init__(self, func: ir.Operation, ranges: Mapping[str, tuple[int, int]]) -> None:
        self.func = func
        self.old = symbols_of(func)
        self.old_syms = [symbol.sym for symbol in self.old]
        self.new: list[SymbolInfo] = []
        self.values: dict[Atom, Expr] = {}
        unknown = set(ranges) - {symbol.name for symbol in self.old}
        if unknown:
            known = ", ".join(symbol.name for symbol in self.old) or "none"
            raise PassError(f"no symbol {', '.join(sorted(unknown))}; the function's symbols are {known}")
        for symbol in self.old:
            self._narrow(symbol, ranges.get(symbol.name))
        self.new_syms = [symbol.sym for symbol in self.new]

    def _narrow(self, symbol: SymbolInfo, limits: tuple[int, int] | None) -> None:
        rule = rule_of(symbol, self.old)
        if rule is not None:
            if limits is not None:
                raise PassError(f"symbol {symbol.name} follows from others and has no range of its own")
            self._derive(symbol, rule.substitute(self.values))
            return
        low, high = limits or (symbol.minimum, symbol.maximum)
        if low < symbol.minimum or (symbol.maximum is not None and (high is None or high > symbol.maximum)):
            raise PassError(f"[{low}, {high}] is not inside the range of symbol {symbol.name}")
        if high is not None and low > high:
            raise PassError(f"the range [{low}, {high}] of symbol {symbol.name} is empty")
        if low == high:
            self._derive(symbol, const(low))
        else:
            self.new.append(SymbolInfo(symbol.index, low, high))
            self.values[symbol.sym] = self.new[-1].sym

    def _derive(self, symbol: SymbolInfo, rule: Expr) -> None:
        """A symbol with a rule; dims and maps say the rule itself where it is affine."""
        low, high = rule.bounds()
        self.new.append(SymbolInfo(symbol.index, low or 0, high, str(rule)))
        plain = not any(isinstance(atom, Min | Max) for atom in rule.atoms())
        self.values[symbol.sym] = rule if plain else self.new[-1].sym

    def run(self) -> int:
        """Rewrite all types and maps; returns how many symbols are constants now."""
        block = self.func.regions[0].blocks[0]
        operations = [view.operation for view in block.operations]
        maps = [self._map(operation) for operation in operations]
        with self.func.context, ir.Location.unknown(), symbols_in_scope(self.new_syms):
            set_symbols(self.func, self.new)
            for operation, index_map in zip(operations, maps, strict=True):
                if index_map is not None:
                    operation.attributes["map"] = index_map.substitute(self.values).to_attr()
            for value in [*block.arguments, *(r for operation in operations for r in operation.results)]:
                value.set_type(self._type(value.type))
            kind = ir.FunctionType(ir.TypeAttr(self.func.attributes["function_type"]).value)
            inputs, results = [[self._type(t) for t in types] for types in (kind.inputs, kind.results)]
            self.func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
        return sum(value.is_const for value in self.values.values())

    def _map(self, operation: ir.Operation) -> IndexMap | None:
        """The map of an op over its coordinates, as it stands."""
        if "map" not in operation.attributes:
            return None
        scatter = operation.name == "luminal.scatter"
        domain = operation.operands[1] if scatter else operation.results[0]
        indices = len(operation.operands) - (2 if scatter else 1)
        extents: list[Expr | None] = list(dims_of(domain.type, self.old_syms))
        return IndexMap.from_attr(
            operation.attributes["map"], extents + [None] * max(indices, 0), self.old_syms
        )

    def _type(self, type_: ir.Type) -> ir.Type:
        if not isinstance(type_, ir.RankedTensorType) or type_.encoding is None:
            return type_
        dims = dims_of(type_, self.old_syms)
        return tensor_type([dim.substitute(self.values) for dim in dims], dtype_of(type_))
