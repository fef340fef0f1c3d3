"""What a node of an exported graph does to memory: whether it writes, which operand, the op that computes the
same without writing, and what memory its tensors have."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx

aten = torch.ops.aten


class NotFunctional(Exception):
    """This graph's mutations can't be expressed; the message says why."""


def mutates(node: fx.Node) -> bool:
    """Whether the node writes an operand (`detach_` writes none)."""
    op = node.target
    return isinstance(op, torch._ops.OpOverload) and op._schema.is_mutable and op is not aten.detach_.default


def written_operand(node: fx.Node) -> fx.Node:
    """The one operand of an in-place op that it writes: its first. Raises NotFunctional for other ops."""
    op = node.target
    assert isinstance(op, torch._ops.OpOverload)
    aliases = [argument.alias_info for argument in op._schema.arguments]
    written = [alias is not None and alias.is_write for alias in aliases]
    target = node.args[0] if node.args else None
    first_only = written[0] and not any(written[1:])
    if not first_only or not isinstance(target, fx.Node) or storage_of_node(target) is None:
        raise NotFunctional(f"'{op}' is no op on one tensor in place")
    return target


# Augmented assignments whose functional forms have names of their own.
_OPERATORS = {
    "__iand__": "bitwise_and",
    "__ior__": "bitwise_or",
    "__ixor__": "bitwise_xor",
    "__ilshift__": "bitwise_left_shift",
    "__irshift__": "bitwise_right_shift",
}


def functional_form(op: Any) -> Any:
    """`aten.add.Tensor` for `aten.add_.Tensor`. Raises NotFunctional where there is none."""
    name = op._schema.name.removeprefix("aten::")
    name = _OPERATORS.get(name, name.removesuffix("_") if not name.endswith("__") else "")
    packet = getattr(aten, name, None) if op.namespace == "aten" else None
    found = getattr(packet, op._overloadname, None)
    unfit = {torch.Tag.inplace_view, torch.Tag.nondeterministic_seeded} & set(op.tags)
    if found is None or unfit or found._schema.is_mutable:
        raise NotFunctional(f"'{op}' has no functional form")
    names = [[argument.name for argument in schema.arguments] for schema in (op._schema, found._schema)]
    if names[0] != names[1]:
        raise NotFunctional(f"'{op}' has no functional form of the same operands")
    return found


def may_alias(op: torch._ops.OpOverload) -> bool:
    """Whether the result can be a view of an operand."""
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    return (
        composite in op.py_kernels
        or op._can_decompose()
        or any(returned.alias_info is not None for returned in op._schema.returns)
    )


def list_source(node: fx.Node) -> fx.Node | None:
    """The node whose list of results this one takes from."""
    source = node.args[0] if node.target is operator.getitem else None
    return source if isinstance(source, fx.Node) else None


def fake_value(node: fx.Node) -> Any:
    """The fake tensor, number or list that stands for the node's result."""
    return node.meta.get("val")


def storage_of_node(node: fx.Node) -> int | None:
    """`storage_of` the node's result."""
    return storage_of(node.meta.get("val"))


def storage_of(value: Any) -> int | None:
    """What identifies a tensor's memory (of a list, its first tensor's); None for other values."""
    if isinstance(value, (list, tuple)):
        return next((storage_of(item) for item in value), None)
    if not isinstance(value, torch.Tensor):
        return None
    return value.untyped_storage()._cdata if value.layout == torch.strided else None


def same_layout(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether views of the same memory are known to show the same."""
    layouts = [(*value.shape, *value.stride(), value.storage_offset()) for value in (one, other)]
    return one.dtype == other.dtype and one.dim() == other.dim() and same_sizes(*layouts)


def same_sizes(one: Any, other: Any) -> bool:
    """Whether the sizes are known to be equal; adds no guard."""
    return _expressions(one) == _expressions(other)


def _expressions(sizes: Any) -> list[Any]:
    return [size.node.expr if isinstance(size, torch.SymInt) else size for size in sizes]
