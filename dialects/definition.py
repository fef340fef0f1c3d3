"""Two additions to `ext`'s op definitions: plain trailing operand lists, and one way to create any op.

`ext` describes every variadic operand with an `operandSegmentSizes` attribute. Our ops have at most one such list,
always last, which needs no sizes: the decorator gives positional accessors instead.
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
        setattr(cls, name, property(lambda self, position=position: self.operands[position]))
    setattr(cls, names[-1], property(lambda self, start=len(names) - 1: list(self.operands)[start:]))
    return cls


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
