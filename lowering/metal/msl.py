"""Writes kernels in the gpu dialect as Metal source: one statement per op, in structured control flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count

from luminal.errors import LoweringError

from ...dialects.mlir import ir
from ..gpu.launches import gpu_module_of
from .operations import COMPARE_FLOAT, COMPARE_INT, ERF, EXPRESSIONS, INDEX_EXPRESSIONS, PRELUDE, STATEMENTS
from .types import TYPES, UNSIGNED, literal

MAX_BUFFERS = 31
"""Metal's limit on the buffer arguments of a kernel."""


def to_msl(module: ir.Module | ir.Operation) -> str:
    """The Metal source of all kernels of a module in the gpu dialect.

    A kernel's arguments are its buffers in order, then each symbol as `constant long&`. Raises
    LoweringError naming op, target and location for what Metal does not have (f64) or an op without a
    spelling.
    """
    gpu_module = gpu_module_of(module)
    with gpu_module.context:
        functions = [view.operation for view in gpu_module.regions[0].blocks[0].operations]
        kernels = [_Kernel(op).text() for op in functions if op.name == "gpu.func"]
    helpers = ERF if any("luminal_erf(" in kernel for kernel in kernels) else ""
    return "\n".join([PRELUDE + helpers, *kernels])


class _Kernel:
    def __init__(self, function: ir.Operation) -> None:
        self.function = function
        self.name = ir.StringAttr(function.attributes["sym_name"]).value
        self.block = function.regions[0].blocks[0]
        self.names: dict[ir.Value, str] = {}
        self.lines: list[str] = []
        self.depth = 1
        self.numbers = count()

    def text(self) -> str:
        inputs = len(ir.FunctionType(ir.TypeAttr(self.function.attributes["function_type"]).value).inputs)
        arguments = list(self.block.arguments)
        if inputs > MAX_BUFFERS:
            raise LoweringError(
                f"kernel '{self.name}' takes {inputs} buffers and sizes, Metal allows {MAX_BUFFERS}, "
                f"at {self.function.location}"
            )
        parameters = [self._parameter(number, value) for number, value in enumerate(arguments[:inputs])]
        parameters += [
            "uint3 block_position [[threadgroup_position_in_grid]]",
            "uint3 thread_position [[thread_position_in_threadgroup]]",
        ]
        for number, value in enumerate(arguments[inputs:]):
            self._shared(number, value)
        self._block(self.block)
        header = f"kernel void {self.name}(\n    " + ",\n    ".join(parameters) + ") {"
        return "\n".join([header, *self.lines, "}", ""])

    def _parameter(self, number: int, value: ir.Value) -> str:
        if isinstance(value.type, ir.MemRefType):
            self.names[value] = f"buffer{number}"
            type_ = self._type(value.type.element_type, self.function)
            return f"device {type_}* buffer{number} [[buffer({number})]]"
        self.names[value] = f"size{number}"
        return f"constant long& size{number} [[buffer({number})]]"

    def _shared(self, number: int, value: ir.Value) -> None:
        type_ = ir.MemRefType(value.type)
        self.names[value] = f"shared{number}"
        self._line(
            f"threadgroup {self._type(type_.element_type, self.function)} shared{number}[{type_.shape[0]}];"
        )

    def _line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def _type(self, type_: ir.Type, op: ir.Operation) -> str:
        found = TYPES.get(str(type_))
        if found is None:
            raise LoweringError(f"'{op.name}' uses {type_}, which Metal does not have, at {op.location}")
        return found

    def _name(self, value: ir.Value) -> str:
        return self.names[value]

    def _define(self, op: ir.Operation, expression: str) -> None:
        """Name the first result of an op (others are never used)."""
        type_ = self._type(op.results[0].type, op)
        name = f"v{next(self.numbers)}"
        self.names[op.results[0]] = name
        self._line(f"const {type_} {name} = {expression};")

    def _block(self, block: ir.Block) -> ir.Operation | None:
        """Write the ops of a block; returns its `scf.yield`, if it ends in one."""
        for op in (view.operation for view in block.operations):
            if op.name == "scf.yield":
                return op
            if op.name != "gpu.return":
                self._op(op)
        return None

    def _op(self, op: ir.Operation) -> None:
        special = _SPECIAL.get(op.name)
        if special is not None:
            special(self, op)
            return
        names = [self._name(operand) for operand in op.operands]
        if op.name in STATEMENTS:
            self._line(STATEMENTS[op.name].format(*names))
            return
        wide = len(op.results) and isinstance(op.results[0].type, ir.IndexType)
        template = INDEX_EXPRESSIONS.get(op.name) if wide else None
        template = template or EXPRESSIONS.get(op.name)
        if template is None:
            raise LoweringError(f"'{op.name}' has no lowering for Metal, at {op.location}")
        result = self._type(op.results[0].type, op)
        operand = TYPES.get(str(op.operands[0].type), "") if len(op.operands) else ""
        unsigned = {"u": UNSIGNED.get(result, ""), "u0": UNSIGNED.get(operand, "")}
        self._define(op, template.format(*names, r=result, **unsigned))

    def _constant(self, op: ir.Operation) -> None:
        type_ = self._type(op.results[0].type, op)
        self.names[op.results[0]] = literal(op.attributes["value"], type_)

    def _truncate(self, op: ir.Operation) -> None:
        name, type_ = self._name(op.operands[0]), self._type(op.results[0].type, op)
        self._define(op, f"({name} & 1) != 0" if type_ == "bool" else f"({type_}){name}")

    def _compare_int(self, op: ir.Operation) -> None:
        number = ir.IntegerAttr(op.attributes["predicate"]).value
        names = [self._name(operand) for operand in op.operands]
        if number >= 6:
            unsigned = UNSIGNED[self._type(op.operands[0].type, op)]
            names = [f"({unsigned}){name}" for name in names]
        self._define(op, f"{names[0]} {COMPARE_INT[number]} {names[1]}")

    def _compare_float(self, op: ir.Operation) -> None:
        number = ir.IntegerAttr(op.attributes["predicate"]).value
        self._define(op, COMPARE_FLOAT[number].format(*(self._name(operand) for operand in op.operands)))

    def _variables(self, op: ir.Operation, initial: Sequence[str | None]) -> list[str]:
        """Declare a variable for each result of a structured op."""
        declared = []
        for result, value in zip(op.results, initial, strict=True):
            name = f"v{next(self.numbers)}"
            self._line(f"{self._type(result.type, op)} {name}{'' if value is None else f' = {value}'};")
            self.names[result] = name
            declared.append(name)
        return declared

    def _body(self, block: ir.Block, targets: Sequence[str]) -> None:
        """A block whose yielded values go to `targets`, all at once."""
        self.depth += 1
        ending = self._block(block)
        values = [self._name(operand) for operand in ending.operands] if ending is not None else []
        for position, value in enumerate(values):
            if value in targets and value != targets[position]:
                saved = f"v{next(self.numbers)}"
                self._line(f"const auto {saved} = {value};")
                values[position] = saved
        for target, value in zip(targets, values, strict=True):
            if target != value:
                self._line(f"{target} = {value};")
        self.depth -= 1

    def _for(self, op: ir.Operation) -> None:
        start, stop, step, *carried = (self._name(operand) for operand in op.operands)
        variables = self._variables(op, carried)
        block = op.regions[0].blocks[0]
        counter, *arguments = block.arguments
        self.names[counter] = f"i{next(self.numbers)}"
        self.names.update(zip(arguments, variables, strict=True))
        name = self.names[counter]
        self._line(f"for (long {name} = {start}; {name} < {stop}; {name} += {step}) {{")
        self._body(block, variables)
        self._line("}")

    def _if(self, op: ir.Operation) -> None:
        variables = self._variables(op, [None] * len(op.results))
        self._line(f"if ({self._name(op.operands[0])}) {{")
        self._body(op.regions[0].blocks[0], variables)
        if len(op.regions[1].blocks):
            self._line("} else {")
            self._body(op.regions[1].blocks[0], variables)
        self._line("}")


_SPECIAL: Mapping[str, Callable[[_Kernel, ir.Operation], None]] = {
    "arith.constant": _Kernel._constant,
    "arith.trunci": _Kernel._truncate,
    "arith.cmpi": _Kernel._compare_int,
    "arith.cmpf": _Kernel._compare_float,
    "scf.for": _Kernel._for,
    "scf.if": _Kernel._if,
}
