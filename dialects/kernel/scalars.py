"""Scalar ops of the `kernel` dialect: one per entry of the scalar table, cast, constant, index values."""

# mypy: disable-error-code="call-arg,name-defined,misc,attr-defined,type-var"
# `ext` builds op classes at run time, from annotations that no static checker understands.

from collections.abc import Sequence
from typing import Any

from ..definition import trailing_operands
from ..mlir import ext, ir
from ..scalar_ops import SCALAR_FUNCTIONS, ScalarFunction
from ..types import DTYPES, INTEGERS, is_tensor
from ..verify import require, require_dtype, require_map, verifier


class Kernel(ext.Dialect, name="kernel"):
    """The target-neutral level that saturation chooses and every lowering consumes (L2)."""


def require_scalar(type_: ir.Type, allowed: Sequence[str], what: str) -> str:
    """The dtype of a scalar type, which must be one of `allowed`."""
    require(not is_tensor(type_), f"{what} must be a scalar, got '{type_}'")
    return require_dtype(type_, allowed, what)


def require_index_operands(operands: Sequence[ir.Value]) -> None:
    """All operands must be of index type."""
    for operand in operands:
        require(
            isinstance(operand.type, ir.IndexType), f"coordinates must be of index type, got '{operand.type}'"
        )


def _verify_function(function: ScalarFunction, op: ir.OpView) -> None:
    values = list(op.operands)
    if function.name == "select":
        require_scalar(values[0].type, ("i1",), "condition")
        values = values[1:]
    dtype = require_scalar(values[0].type, function.operands, "operand")
    for value in values[1:]:
        require(value.type == values[0].type, f"operand types differ: '{values[0].type}' and '{value.type}'")
    expected = dtype if function.result == "same" else function.result
    require_scalar(op.results[0].type, (expected,), "result")


class UnaryScalarOp(Kernel.Operation):
    """A scalar function of one operand."""

    x: ext.Operand[Any]
    result: ext.Result[Any]


class BinaryScalarOp(Kernel.Operation):
    """A scalar function of two operands of one type."""

    a: ext.Operand[Any]
    b: ext.Operand[Any]
    result: ext.Result[Any]


class TernaryScalarOp(Kernel.Operation):
    """A scalar function of a condition and two operands of one type."""

    c: ext.Operand[Any]
    a: ext.Operand[Any]
    b: ext.Operand[Any]
    result: ext.Result[Any]


def _define(function: ScalarFunction) -> type[ir.OpView]:
    base = {1: UnaryScalarOp, 2: BinaryScalarOp, 3: TernaryScalarOp}[function.arity]
    check = verifier(lambda op: _verify_function(function, op))
    members = {"__doc__": function.summary, "__annotations__": {}, "verify_invariants": check}
    title = "".join(part.capitalize() for part in function.name.split("_"))
    return type(f"{title}Op", (base,), members, name=function.name, traits=[ext.Pure])


SCALAR_OPS: dict[str, type[ir.OpView]] = {name: _define(entry) for name, entry in SCALAR_FUNCTIONS.items()}
"""Op class of each scalar function, by the function's name."""


def _verify_cast(op: ir.OpView) -> None:
    require_scalar(op.operands[0].type, DTYPES, "operand")
    require_scalar(op.results[0].type, DTYPES, "result")


class CastOp(Kernel.Operation, name="cast", traits=[ext.Pure]):
    """Convert a scalar, as `luminal.cast` does."""

    x: ext.Operand[Any]
    result: ext.Result[Any]

    verify_invariants = verifier(_verify_cast)


def _verify_constant(op: ir.OpView) -> None:
    require_scalar(op.results[0].type, DTYPES, "result")
    value = op.value
    require(
        isinstance(value, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr),
        f"value must be a number, got '{value}'",
    )
    require(value.type == op.results[0].type, f"value has type '{value.type}', result '{op.results[0].type}'")


class ConstantOp(Kernel.Operation, name="constant", traits=[ext.Pure]):
    """A scalar literal."""

    result: ext.Result[Any]

    REQUIRED = {"value": ir.Attribute}
    verify_invariants = verifier(_verify_constant)

    @property
    def value(self) -> ir.Attribute:
        """A float, integer or bool attribute of the result's type."""
        return self.attributes["value"]


def _verify_to_index(op: ir.OpView) -> None:
    require_scalar(op.operands[0].type, INTEGERS, "operand")
    require(
        isinstance(op.results[0].type, ir.IndexType),
        f"result must be of index type, got '{op.results[0].type}'",
    )
    require_map(op.extent, 0, 1, "extent")


class ToIndexOp(Kernel.Operation, name="to_index", traits=[ext.Pure]):
    """An integer as a coordinate, clamped to [0, extent)."""

    x: ext.Operand[Any]
    extent: ir.AffineMapAttr
    result: ext.Result[Any]

    verify_invariants = verifier(_verify_to_index)


def _verify_index_value(op: ir.OpView) -> None:
    require_index_operands(list(op.operands))
    require_scalar(op.results[0].type, ("i64",), "result")
    require_map(op.map, len(op.operands), 1)


@trailing_operands
class IndexValueOp(Kernel.Operation, name="index_value", traits=[ext.Pure]):
    """The value of an index expression over coordinates and symbols, as i64."""

    indices: Sequence[ext.Operand[Any]]
    map: ir.AffineMapAttr
    result: ext.Result[Any]

    verify_invariants = verifier(_verify_index_value)


def scalar_function_of(op: ir.OpView) -> ScalarFunction | None:
    """The table entry of a scalar op, None for any other op."""
    dialect, _, name = op.operation.name.partition(".")
    return SCALAR_FUNCTIONS.get(name) if dialect == "kernel" else None


__all__ = [
    "SCALAR_OPS",
    "CastOp",
    "ConstantOp",
    "IndexValueOp",
    "Kernel",
    "ToIndexOp",
    "require_index_operands",
    "require_scalar",
    "scalar_function_of",
]
