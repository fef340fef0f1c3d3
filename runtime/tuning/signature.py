"""What makes two kernels one to the clock: their text, the sizes they mention, threads, shared operands.

Symbols keep their names in the text, since code for a known size differs from code for a size in a range;
ranges and values of the symbols that a kernel mentions are part of the signature, others are not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects.mlir import ir
from ...dialects.symbol_list import SYMBOLS_ATTR, enclosing_symbols, rule_of, symbols_of
from ...dialects.symbolic import Atom, Sym
from ...dialects.types import dims_of, dtype_of
from ...errors import InputError
from ...lowering.cpu.object_code import signature as text_of
from .device import digest

Sizes = Mapping[Any, int] | Sequence[int]
"""Values of a module's symbols: in order, or by symbol."""

_SYMBOL_LIST = re.compile(r"\[s\d+(?:, s\d+)*\]")
_SYMBOL = re.compile(r"\bs(\d+)\b")


@dataclass(frozen=True)
class Operand:
    """A tensor at fixed sizes."""

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return "x".join([*map(str, self.shape), self.dtype])


@dataclass(frozen=True)
class Launch:
    """A kernel at the sizes at which it is to be timed.

    symbols: values by symbol. same[k]: the first operand that is the same
    value as operand k. cold: operands that a program streams from memory. key: equal for equal kernels.
    """

    op: ir.Operation
    symbols: Mapping[Atom, int]
    operands: tuple[Operand, ...]
    result: Operand
    same: tuple[int, ...]
    cold: frozenset[int]
    threads: int
    key: str
    details: Mapping[str, Any]

    @property
    def in_place(self) -> bool:
        """Whether the result shares the memory of operand 0."""
        return "in_place" in self.op.attributes

    def __str__(self) -> str:
        return f"{self.op.name} ({', '.join(map(str, self.operands))}) -> {self.result}"


def launch_of(op: ir.Operation, sizes: Sizes, threads: int, cold: Collection[int] = ()) -> Launch:
    """The kernel at `sizes`. InputError if they do not belong to its symbols, or contradict each other."""
    symbols = enclosing_symbols(op)
    values = _values(op, symbols, sizes)
    operands = tuple(_operand(value.type, values) for value in op.operands)
    distinct = list(op.operands)
    same = tuple(distinct.index(value) for value in distinct)
    chosen = frozenset(same[k] for k in cold)
    text = _SYMBOL_LIST.sub("", text_of(op, ()))
    used = sorted({int(k) for k in _SYMBOL.findall(text)} & set(range(len(symbols))))
    mentioned = [symbols[k] for k in used]
    ranges = [f"{symbol} in [{symbol.lo}, {symbol.hi}] = {values[symbol]}" for symbol in mentioned]
    key = digest([text, *ranges, f"same {same}", f"cold {sorted(chosen)}", f"{threads} threads"])
    result = _operand(op.results[0].type, values)
    details: dict[str, Any] = {
        "op": op.name,
        "operands": [str(operand) for operand in operands],
        "result": str(result),
        "body": body_of(op),
        "symbols": {str(symbol): values[symbol] for symbol in mentioned},
        "cold": sorted(chosen),
        "threads": threads,
    }
    return Launch(op, values, operands, result, same, chosen, threads, key, details)


def body_of(op: ir.Operation) -> str:
    """The ops of a kernel's body in order, as `load*3 mul reduce(load exp) yield`: for readers."""
    parts: list[str] = []
    for region in op.regions:
        for inner in region.blocks[0].operations:
            name = inner.operation.name.removeprefix("kernel.")
            if name == "yield":
                continue
            parts.append(f"{name}({body_of(inner.operation)})" if len(inner.operation.regions) else name)
    counted: list[tuple[str, int]] = []
    for part in parts:
        if counted and counted[-1][0] == part:
            counted[-1] = (part, counted[-1][1] + 1)
        else:
            counted.append((part, 1))
    return " ".join(part if count == 1 else f"{part}*{count}" for part, count in counted)


def shape_at(tensor: ir.Type, values: Mapping[Atom, int]) -> tuple[int, ...]:
    """The shape of a tensor type where the symbols, all in order, have these values."""
    return tuple(dim.evaluate(values) for dim in dims_of(tensor, list(values)))


def _operand(tensor: ir.Type, values: Mapping[Atom, int]) -> Operand:
    shape = shape_at(tensor, values)
    if any(size < 0 for size in shape):
        raise InputError(f"the sizes make a tensor of shape {shape} of '{tensor}'")
    return Operand(shape, dtype_of(tensor))


def _values(op: ir.Operation, symbols: Sequence[Sym], sizes: Sizes) -> dict[Atom, int]:
    """A value for every symbol, in order, checked against ranges and rules."""
    if isinstance(sizes, Mapping):
        given = {key.index if isinstance(key, Sym) else key: value for key, value in sizes.items()}
    else:
        given = dict(enumerate(sizes))
    found: dict[Atom, int] = {}
    for symbol in symbols:
        value = given.get(symbol.index)
        if value is None:
            raise InputError(f"no value is given for symbol {symbol}")
        if value < (symbol.lo or 0) or (symbol.hi is not None and value > symbol.hi):
            raise InputError(f"{symbol} = {value} is out of its range [{symbol.lo}, {symbol.hi}]")
        found[symbol] = int(value)
    _check_rules(op, found)
    return found


def _check_rules(op: ir.Operation, values: Mapping[Atom, int]) -> None:
    function = op
    while SYMBOLS_ATTR not in function.attributes:
        if function.parent is None:
            return
        function = function.parent.operation
    infos = symbols_of(function)
    for info in infos:
        rule = rule_of(info, infos)
        if rule is not None and rule.evaluate(values) != values[info.sym]:
            raise InputError(f"{info.name} = {values[info.sym]} contradicts its rule {info.rule}")
