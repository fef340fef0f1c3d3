"""Reads a module of kernels as a flat schedule: which kernel runs when, on which values.

Calls to outlined layers are inlined here, not in the IR: the same kernel op appears in many steps, so that
it is compiled once. Memory planning and the runtime both work on this.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from luminal.errors import PassError

from ..dialects.mlir import ir
from ..dialects.symbolic import Expr, Sym, product
from ..dialects.types import BYTES, dims_of, dtype_of, rule_of, symbols_of


@dataclass(frozen=True)
class Symbol:
    """A symbol's name and range (None: unbounded); `rule` if it is computed from other symbols."""

    name: str
    lo: int | None = 0
    hi: int | None = None
    rule: Expr | None = None


@dataclass(frozen=True)
class Value:
    """A tensor of the schedule: its dims, its element type, and its bytes as an expression."""

    shape: tuple[Expr, ...]
    dtype: str

    @property
    def size(self) -> Expr:
        return product((BYTES[self.dtype], *self.shape))


@dataclass(frozen=True)
class Argument:
    """An argument of the program: `kind` is input, weight or buffer."""

    name: str
    kind: str
    type: Value


@dataclass(frozen=True)
class Kernel:
    """A kernel op.

    `fixed`: no symbol influences what it computes, so equal operands give equal results in every call.
    """

    op: ir.Operation
    name: str
    fixed: bool


@dataclass(frozen=True)
class Step:
    """One launch: kernel number `kernel` of the schedule, on value numbers."""

    kernel: int
    operands: tuple[int, ...]
    result: int


@dataclass(frozen=True)
class Result:
    """A result of the program; `writes`/`alias`: the argument that it is written back to, or that it is."""

    type: Value
    writes: int | None = None
    alias: int | None = None


@dataclass
class Signature:
    """What a caller of `@main` must know."""

    symbols: list[Symbol]
    arguments: list[Argument]
    results: list[Result]

    @property
    def written(self) -> list[int]:
        """The arguments that the program writes to."""
        return sorted({result.writes for result in self.results if result.writes is not None})


@dataclass
class Schedule:
    """Values 0 ..

    len(arguments)-1 are the arguments; each step defines one value more; `returned` are value numbers.
    """

    signature: Signature
    values: list[Value] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    returned: list[int] = field(default_factory=list)

    @property
    def symbols(self) -> list[Symbol]:
        return self.signature.symbols


def read_symbols(function: ir.Operation) -> list[Symbol]:
    """The symbols of a function, from its `luminal.symbols` attribute."""
    infos = symbols_of(function)
    return [Symbol(info.name, info.minimum, info.maximum, rule_of(info, infos)) for info in infos]


def read_signature(module: ir.Operation) -> Signature:
    """The signature of `@main`. Raises PassError if there is none."""
    return _signature(_functions(module)["main"])


def _signature(main: ir.Operation) -> Signature:
    symbols = read_symbols(main)
    atoms = [Sym(k, s.lo, s.hi) for k, s in enumerate(symbols)]
    type_ = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    arguments = [
        Argument(
            _text(attributes, "luminal.name", f"argument {k}"),
            _text(attributes, "luminal.kind", "input"),
            Value(dims_of(tensor, atoms), dtype_of(tensor)),
        )
        for k, (tensor, attributes) in enumerate(
            zip(type_.inputs, _entries(main, "arg_attrs", len(type_.inputs)), strict=True)
        )
    ]
    results = [
        Result(
            Value(dims_of(tensor, atoms), dtype_of(tensor)),
            _number(attributes, "luminal.writes"),
            _number(attributes, "luminal.alias"),
        )
        for tensor, attributes in zip(
            type_.results, _entries(main, "res_attrs", len(type_.results)), strict=True
        )
    ]
    return Signature(symbols, arguments, results)


def read_schedule(module: ir.Operation) -> Schedule:
    """The schedule of `@main`. Raises PassError if an op is neither a kernel nor a call of a layer."""
    functions = _functions(module)
    reader = _Reader(functions, Schedule(_signature(functions["main"])))
    schedule = reader.schedule
    schedule.values += [argument.type for argument in schedule.signature.arguments]
    schedule.returned += reader.inline(functions["main"], list(range(len(schedule.values))))
    return schedule


def _functions(module: ir.Operation) -> dict[str, ir.Operation]:
    functions = {
        ir.StringAttr(f.attributes["sym_name"]).value: f.operation
        for f in module.regions[0].blocks[0].operations
        if f.operation.name == "func.func"
    }
    if "main" not in functions:
        raise PassError("the module has no function @main, where a program begins; rename the one meant")
    return functions


class _Reader:
    def __init__(self, functions: dict[str, ir.Operation], schedule: Schedule) -> None:
        self.functions = functions
        self.schedule = schedule
        self.atoms = [Sym(k, s.lo, s.hi) for k, s in enumerate(schedule.symbols)]
        self.numbers: dict[ir.Operation, int] = {}
        self.types: dict[ir.Type, Value] = {}

    def value(self, tensor: ir.Type) -> Value:
        if tensor not in self.types:
            self.types[tensor] = Value(dims_of(tensor, self.atoms), dtype_of(tensor))
        return self.types[tensor]

    def inline(self, function: ir.Operation, arguments: list[int]) -> list[int]:
        """Appends the steps of `function` called with value numbers; returns the value numbers of its
        results.
        """
        block = function.regions[0].blocks[0]
        numbers: dict[ir.Value, int] = dict(zip(block.arguments, arguments, strict=True))
        for item in block.operations:
            op = item.operation
            operands = [numbers[value] for value in op.operands]
            if op.name == "func.return":
                return operands
            if op.name == "func.call":
                callee = self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value]
                numbers.update(zip(op.results, self.inline(callee, operands), strict=True))
            elif op.name.startswith("kernel.") and len(op.results) == 1:
                numbers[op.results[0]] = self.launch(op, operands)
            else:
                raise PassError(f"'{op.name}' is not a kernel: run luminal-eqsat first")
        raise PassError("a function has no return")

    def launch(self, op: ir.Operation, operands: list[int]) -> int:
        schedule = self.schedule
        if op not in self.numbers:
            self.numbers[op] = len(schedule.kernels)
            schedule.kernels.append(Kernel(op, op.name, not self.atoms or not _mentions_symbols(op)))
        schedule.values.append(self.value(op.results[0].type))
        schedule.steps.append(Step(self.numbers[op], tuple(operands), len(schedule.values) - 1))
        return len(schedule.values) - 1


def _entries(function: ir.Operation, name: str, count: int) -> list[Any]:
    if name not in function.attributes:
        return [{}] * count
    return [ir.DictAttr(entry) for entry in ir.ArrayAttr(function.attributes[name])]


def _text(attributes: Any, key: str, default: str) -> str:
    return ir.StringAttr(attributes[key]).value if key in attributes else default


def _number(attributes: Any, key: str) -> int | None:
    return ir.IntegerAttr(attributes[key]).value if key in attributes else None


def _mentions_symbols(op: ir.Operation) -> bool:
    """Whether a type or an affine map of the op, or of its body, uses a symbol."""
    maps = [named.attr for named in (op.attributes[k] for k in range(len(op.attributes)))]
    maps += [
        ir.RankedTensorType(v.type).encoding
        for v in (*op.operands, *op.results)
        if isinstance(v.type, ir.RankedTensorType)
    ]
    if any(_uses_symbol(e) for m in maps if isinstance(m, ir.AffineMapAttr) for e in m.value.results):
        return True
    return any(
        _mentions_symbols(inner.operation) for region in op.regions for block in region for inner in block
    )


def _uses_symbol(expr: ir.AffineExpr) -> bool:
    if isinstance(expr, ir.AffineBinaryExpr):
        return _uses_symbol(expr.lhs) or _uses_symbol(expr.rhs)
    return isinstance(expr, ir.AffineSymbolExpr)
