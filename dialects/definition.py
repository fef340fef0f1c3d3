"""Two additions to `ext`'s op definitions: plain trailing operand lists, and one way to create any op.

`ext` describes every variadic operand with an `operandSegmentSizes` attribute. Our ops have at most one such
list,
always last, which needs no sizes: the decorators give positional accessors instead.

MLIR's dynamic ops (IRDL) match all elements of a variadic operand with one constraint variable, so they would
all
need one type. An op whose list mixes types is therefore defined with many optional operands; the segment
sizes that
this definition asks for are attached while the op is verified, and only then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from .mlir import ext, ir

OpClass = TypeVar("OpClass", bound=type[ir.OpView])


def trailing_operands(cls: OpClass) -> OpClass:
    """Class decorator: the last operand field takes all remaining operands, without segment sizes."""
    names = [field.name for field in cls._fields if isinstance(field, ext.OperandDef)]
    cls._ODS_OPERAND_SEGMENTS = None
    for position, name in enumerate(names[:-1]):
        setattr(cls, name, _operand_at(position))
    setattr(cls, names[-1], _operands_from(len(names) - 1))
    return cls


def _operand_at(position: int) -> property:
    return property(lambda op: op.operands[position])


def _operands_from(start: int) -> property:
    return property(lambda op: list(op.operands)[start:])


_MIXED_LIMIT = 128
_SEGMENTS = "operandSegmentSizes"


def mixed_trailing_operands(cls: OpClass) -> OpClass:
    """As `trailing_operands`, for a list of operands of different types (at most 128 operands in all)."""
    trailing_operands(cls)
    variadic = next(
        field for field in cls._fields if isinstance(field, ext.OperandDef) and _is_variadic(field)
    )
    slots = [
        ext.OperandDef(f"{variadic.name}_{position}", ext.Variadicity.optional, Any)
        for position in range(_MIXED_LIMIT)
    ]
    cls._fields = [*(field for field in cls._fields if field is not variadic), *slots]
    check = cls.verify_invariants

    def verify(op: ir.OpView) -> bool:
        single = sum(isinstance(field, ext.OperandDef) and not _is_variadic(field) for field in cls._fields)
        used = max(len(op.operands) - single, 0)
        if used > _MIXED_LIMIT:
            op.location.emit_error(f"'{op.operation.name}' op has more than {_MIXED_LIMIT} operands")
            return False
        sizes = [1] * (single + used) + [0] * (_MIXED_LIMIT - used)
        op.attributes[_SEGMENTS] = ir.DenseI32ArrayAttr.get(sizes, op.context)
        if check(op):
            return True
        del op.attributes[_SEGMENTS]
        return False

    def finish(op: ir.OpView) -> bool:
        if _SEGMENTS in op.attributes:
            del op.attributes[_SEGMENTS]
        return True

    cls.verify_invariants = staticmethod(verify)
    cls.verify_region_invariants = staticmethod(finish)
    return cls


def _is_variadic(field: ext.OperandDef) -> bool:
    return field.variadicity != ext.Variadicity.single


def create(
    cls: type[ir.OpView],
    operands: Sequence[ir.Value],
    results: Sequence[ir.Type],
    attributes: Mapping[str, ir.Attribute] | None = None,
    regions: int = 0,
) -> ir.Operation:
    """A new op at the current insertion point and location. It is verified with the module, not here."""
    return ir.Operation.create(
        cls.OPERATION_NAME,
        results=list(results),
        operands=list(operands),
        attributes=dict(attributes or {}),
        regions=regions,
    )


def view_of(operation: Any) -> ir.OpView:
    """The typed view of an operation or view."""
    return operation.opview if isinstance(operation, ir.Operation) else operation
