"""L1 IR into egglog commands: one term per op, attributes as keys of the index table, facts about shapes and
weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ...dialects.mlir import ir
from ...dialects.symbolic import DimVar, Expr, current_symbols, from_affine, product
from ...dialects.types import HALVES, dims_of, dtype_of
from ...errors import PassError
from .constants import constant_key
from .egraph import TensorType
from .index_table import Dims, IndexTable, dims_for
from .terms import MAX_INDICES, camel

MAX_LITERAL = 64
"""Most elements of a literal array inside a kernel; larger ones must be function arguments."""


@dataclass
class Encoded:
    """A function as egglog commands. Value number k is `values[k]`; call c is the op `calls[c]`."""

    commands: list[str] = field(default_factory=list)
    values: list[ir.Value] = field(default_factory=list)
    types: list[TensorType] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    calls: list[ir.Operation] = field(default_factory=list)


class Encoder:
    """Encodes the single block of one L1 function. The function's symbols must be in scope."""

    def __init__(self, table: IndexTable) -> None:
        self.table = table
        self.result = Encoded()
        self._numbers: dict[ir.Value, int] = {}

    def encode(self, func: ir.Operation) -> Encoded:
        block = func.regions[0].blocks[0]
        kinds = _argument_kinds(func)
        for i, argument in enumerate(block.arguments):
            number = self._define(argument, f"(Argument {i})")
            if kinds[i] == "weight":
                self.result.commands.append(f"(weight (value {number}))")
        for op in block.operations:
            self._operation(op.operation)
        return self.result

    def _define(self, value: ir.Value, term: str) -> int:
        number = len(self.result.values)
        kind = TensorType(dims_of(value.type), dtype_of(value.type))
        self._numbers[value] = number
        self.result.values.append(value)
        self.result.types.append(kind)
        commands = self.result.commands
        commands.append(f"(set (value {number}) {term})")
        commands.append(f'(set (shape (value {number})) "{self.table.shape(kind.dims)}")')
        commands.append(f'(element-type (value {number}) "{kind.dtype}")')
        if kind.dtype in HALVES:
            commands.append(f"(half (value {number}))")
        return number

    def _operation(self, op: ir.Operation) -> None:
        if op.name == "func.return":
            self.result.roots += [self._numbers[v] for v in op.operands]
        elif op.name == "func.call":
            call = len(self.result.calls)
            self.result.calls.append(op)
            self.result.roots += [self._numbers[v] for v in op.operands]
            for k, value in enumerate(op.results):
                self._define(value, f"(CallResult {call} {k})")
        elif op.name.startswith("luminal."):
            name = op.name.removeprefix("luminal.")
            encode = _ENCODERS.get(name, _plain)
            self._define(op.result, encode(self, op, "L" + camel(name)))
        else:
            raise PassError(
                f"luminal-eqsat: cannot encode '{op.name}' at {op.location}: "
                "only luminal ops, calls and return"
            )

    def operands(self, op: ir.Operation) -> list[str]:
        """The operands' terms."""
        return [f"(value {self._numbers[v]})" for v in op.operands]

    def dims(self, value: ir.Value) -> Dims:
        return self.result.types[self._numbers[value]].dims if value in self._numbers else dims_of(value.type)


def _argument_kinds(func: ir.Operation) -> list[str]:
    count = len(func.regions[0].blocks[0].arguments)
    if "arg_attrs" not in func.attributes:
        return ["input"] * count
    kinds = []
    for attrs in func.attributes["arg_attrs"]:
        kinds.append(ir.StringAttr(attrs["luminal.kind"]).value if "luminal.kind" in attrs else "input")
    return kinds


def read_map(attribute: ir.Attribute, extents: list[Expr | None]) -> Dims:
    """Results of an affine map over coordinates with the given extents (None: a runtime index value)."""
    affine = ir.AffineMapAttr(attribute).value
    dims = [DimVar(i, e) for i, e in enumerate(extents)]
    symbols = current_symbols(affine.n_symbols)
    return tuple(from_affine(r, dims, symbols) for r in affine.results)


def _plain(encoder: Encoder, op: ir.Operation, constructor: str) -> str:
    return f"({constructor} {' '.join(encoder.operands(op))})"


def _view(encoder: Encoder, op: ir.Operation, constructor: str) -> str:
    extents = dims_of(op.result.type)
    key = encoder.table.map(extents, read_map(op.attributes["map"], list(extents)))
    return f'({constructor} "{key}" {encoder.operands(op)[0]})'


def _iota(encoder: Encoder, op: ir.Operation, constructor: str) -> str:
    extents = dims_of(op.result.type)
    return f'({constructor} "{encoder.table.map(extents, read_map(op.attributes["map"], list(extents)))}")'


def _reduction(encoder: Encoder, op: ir.Operation, constructor: str) -> str:
    axes = tuple(int(a) for a in ir.DenseI64ArrayAttr(op.attributes["axes"]))
    operand = encoder.dims(op.operands[0])
    return f'({constructor} "{encoder.table.axes(operand, axes)}" {encoder.operands(op)[0]})'


def _cast(encoder: Encoder, op: ir.Operation, constructor: str) -> str:
    return f'({constructor} "{dtype_of(op.result.type)}" {encoder.operands(op)[0]})'


def _gather(encoder: Encoder, op: ir.Operation, constructor: str) -> str:
    count = _index_count(op, 1)
    extents = dims_of(op.result.type)
    results = read_map(op.attributes["map"], [*extents, *[None] * count])
    key = encoder.table.gather(extents, count, results, encoder.dims(op.operands[0]))
    return f'({constructor}{count} "{key}" {" ".join(encoder.operands(op))})'


def _scatter(encoder: Encoder, op: ir.Operation, constructor: str) -> str:
    count = _index_count(op, 2)
    extents = encoder.dims(op.operands[1])
    results = read_map(op.attributes["map"], [*extents, *[None] * count])
    key = encoder.table.scatter(extents, count, results)
    mode = ir.StringAttr(op.attributes["mode"]).value
    return f'({constructor}{count} "{mode}" "{key}" {" ".join(encoder.operands(op))})'


def _index_count(op: ir.Operation, others: int) -> int:
    count = len(op.operands) - others
    if count > MAX_INDICES:
        raise PassError(
            f"luminal-eqsat: '{op.name}' at {op.location} has {count} index tensors; at most {MAX_INDICES}"
        )
    return count


def _constant(encoder: Encoder, op: ir.Operation, constructor: str) -> str:
    dtype = dtype_of(op.result.type)
    dense = ir.DenseElementsAttr(op.attributes["value"])
    if dense.is_splat:
        return f'({constructor} "{dtype}" "{constant_key(dense.get_splat_value().value, dtype)}")'
    dims = dims_of(op.result.type)
    keys = [constant_key(v, dtype) for v in _elements(op, dense, dtype)]
    if len(keys) > MAX_LITERAL:
        raise PassError(
            f"luminal-eqsat: literal of {len(keys)} elements at {op.location}; "
            f"pass more than {MAX_LITERAL} as an argument"
        )
    position = sum((v * product(dims[i + 1 :]) for i, v in enumerate(dims_for(dims))), start=product(()) * 0)
    index = f'(Index "{encoder.table.map(dims, (position,))}")'
    leaf: Callable[[int], str] = lambda i: f'(Const "{dtype}" "{keys[i]}")'  # noqa: E731
    return f'(Region "{encoder.table.shape(dims)}" {_choose(index, 0, len(keys), leaf)})'


def _elements(op: ir.Operation, dense: ir.DenseElementsAttr, dtype: str) -> list[float | int]:
    text = ir.DenseFPElementsAttr if dtype[0] in "fb" else ir.DenseIntElementsAttr
    return list(text(op.attributes["value"]))


def _choose(index: str, low: int, high: int, leaf: Callable[[int], str]) -> str:
    """A balanced tree of selects over literal elements [low, high)."""
    if high - low == 1:
        return leaf(low)
    middle = (low + high) // 2
    left, right = _choose(index, low, middle, leaf), _choose(index, middle, high, leaf)
    return f'(Select (LessThan {index} (Const "i64" "{middle}")) {left} {right})'


_ENCODERS: dict[str, Callable[[Encoder, ir.Operation, str], str]] = {
    "view": _view,
    "iota": _iota,
    "sum_reduce": _reduction,
    "max_reduce": _reduction,
    "cast": _cast,
    "gather": _gather,
    "scatter": _scatter,
    "constant": _constant,
}
