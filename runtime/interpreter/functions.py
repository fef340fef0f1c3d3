"""What both interpreters share: functions, calls, arguments, results, symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...dialects.mlir import func as func_dialect
from ...dialects.mlir import ir
from ...dialects.symbolic import Atom, Expr, IndexMap
from ...dialects.types import dims_of, dtype_of, scope_of, solve_symbols, symbols_of
from ...errors import InputError, RuntimeFailure
from .values import decode, encode

Handler = Callable[["Frame", ir.OpView], list[np.ndarray]]


@dataclass
class Frame:
    """One running function: values of its SSA names and of the module's symbols."""

    module: ir.Operation
    symbols: Mapping[Atom, int]
    values: dict[ir.Value, np.ndarray] = field(default_factory=dict)

    def operands(self, op: ir.OpView) -> list[np.ndarray]:
        """The values of an op's operands."""
        return [self.values[operand] for operand in op.operands]

    def size(self, expr: Expr) -> int:
        """The value of an expression over symbols."""
        return int(expr.evaluate(self.symbols))

    def shape(self, dims: Sequence[Expr]) -> tuple[int, ...]:
        """The values of several dims."""
        return tuple(self.size(dim) for dim in dims)


def evaluate_map(
    index_map: IndexMap, coordinates: Sequence[np.ndarray], symbols: Mapping[Atom, int]
) -> list[np.ndarray]:
    """The results of a map at arrays of coordinates (not broadcast: constant results are scalars)."""
    values: dict[Atom, np.ndarray | int] = {**symbols, **dict(zip(index_map.dims, coordinates, strict=True))}
    with np.errstate(all="ignore"):
        return [
            np.asarray(result.evaluate(values, np.minimum, np.maximum), np.int64)
            for result in index_map.results
        ]


def entry_function(module_or_func: ir.Module | ir.Operation | ir.OpView) -> ir.OpView:
    """@main of a module, or its only function; a function as it is."""
    operation = module_or_func.operation
    if operation.name == "func.func":
        return operation.opview
    functions = [
        op for op in operation.regions[0].blocks[0].operations if isinstance(op, func_dialect.FuncOp)
    ]
    named = [function for function in functions if function.name.value == "main"]
    if not named and len(functions) != 1:
        raise InputError("the module has no function @main")
    return (named or functions)[0]


def run_entry(
    module_or_func: ir.Module | ir.Operation | ir.OpView,
    args: Sequence[np.ndarray],
    handlers: Mapping[str, Handler],
) -> list[np.ndarray]:
    """Run a function on boundary arrays. InputError if they do not fit the arguments' types."""
    function = entry_function(module_or_func)
    parameters = list(function.arguments)
    if len(args) != len(parameters):
        raise InputError(f"the function takes {len(parameters)} arguments, got {len(args)}")
    root = function.operation
    while root.parent is not None:
        root = root.parent.operation
    with function.context, scope_of(function):
        names = [f"argument {index}" for index in range(len(args))]
        arrays = [decode(a, dtype_of(p.type), n) for a, p, n in zip(args, parameters, names, strict=True)]
        shapes = [(dims_of(p.type), a.shape, n) for p, a, n in zip(parameters, arrays, names, strict=True)]
        frame = Frame(root, solve_symbols(symbols_of(function), shapes))
        results = _run_body(function, frame, arrays, handlers)
        types = function.type.results
        return [encode(result, dtype_of(type_)) for result, type_ in zip(results, types, strict=True)]


def _run_body(
    function: ir.OpView, frame: Frame, arrays: Sequence[np.ndarray], handlers: Mapping[str, Handler]
) -> list[np.ndarray]:
    block = function.regions[0].blocks[0]
    frame.values.update(zip(block.arguments, arrays, strict=True))
    for op in block.operations:
        name = op.operation.name
        if name == "func.return":
            return frame.operands(op)
        if name == "func.call":
            results = _call(op, frame, handlers)
        elif name in handlers:
            results = handlers[name](frame, op)
        else:
            raise RuntimeFailure(f"the reference interpreter does not know '{name}' at {op.location}")
        frame.values.update(zip(op.operation.results, results, strict=True))
    raise RuntimeFailure("the function does not return")


def _call(op: ir.OpView, frame: Frame, handlers: Mapping[str, Handler]) -> list[np.ndarray]:
    callee = ir.SymbolTable(frame.module)[ir.FlatSymbolRefAttr(op.operation.attributes["callee"]).value]
    return _run_body(callee, Frame(frame.module, frame.symbols), frame.operands(op), handlers)
