"""Outputs of an exported program that are views of its inputs, made by torch itself at call time.

The compiled program computes values only. Where eager returns a view of an input, the caller may rely on shared memory, so
the view ops that lead there are replayed on the caller's tensor.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind

View = Callable[[Sequence[Any]], Any]


def view_outputs(program: torch.export.ExportedProgram) -> dict[int, View]:
    """For each user output that is a view of a user input: a function from the flat inputs to that view."""
    signature = program.graph_signature
    positions: dict[str, int] = {}
    for spec in signature.input_specs:
        if spec.kind == InputKind.USER_INPUT:
            positions[spec.arg.name] = len(positions)
    nodes = {node.name: node for node in program.graph.nodes}
    outputs = [spec for spec in signature.output_specs if spec.kind == OutputKind.USER_OUTPUT]
    views: dict[int, View] = {}
    for number, spec in enumerate(outputs):
        node = nodes.get(getattr(spec.arg, "name", None) or "")
        if node is not None and node.op == "call_function" and _replayable(node, positions):
            views[number] = lambda inputs, node=node: _replay(node, positions, inputs, {})
    return views


def _source(node: torch.fx.Node) -> torch.fx.Node | None:
    """The node whose memory this node's first result shares, None if it has its own."""
    if node.target is operator.getitem:
        return node.args[0] if isinstance(node.args[0], torch.fx.Node) else None
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.returns or schema.returns[0].alias_info is None:
        return None
    names = schema.returns[0].alias_info.before_set
    for argument, value in zip(schema.arguments, node.args, strict=False):
        if argument.alias_info is not None and argument.alias_info.before_set & names:
            return value if isinstance(value, torch.fx.Node) else None
    return None


def _writes(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


def _replayable(node: torch.fx.Node, positions: Mapping[str, int]) -> bool:
    """Whether a chain of views leads from the node to an input, all sizes on the way being known at a call."""
    while node.op == "call_function":
        source = _source(node)
        if source is None:
            return False
        others = [other for other in node.all_input_nodes if other is not source]
        if not _writes(node) and not all(_is_size(other) for other in others):
            return False
        node = source
    return node.op == "placeholder" and node.name in positions


def _is_size(node: torch.fx.Node) -> bool:
    return isinstance(node.meta.get("val"), (int, float, bool, torch.SymInt))


def _replay(
    node: torch.fx.Node, positions: Mapping[str, int], inputs: Sequence[Any], known: dict[torch.fx.Node, Any]
) -> Any:
    """The node's value: views on the caller's tensors; an in-place op has happened already and is its operand."""
    if node in known:
        return known[node]
    if node.op == "placeholder":
        return inputs[positions[node.name]]
    if _writes(node):
        source = _source(node)
        assert source is not None
        return _replay(source, positions, inputs, known)

    def value(item: torch.fx.Node) -> Any:
        return _replay(item, positions, inputs, known)

    arguments = torch.fx.node.map_arg(node.args, value)
    known[node] = node.target(*arguments, **torch.fx.node.map_arg(node.kwargs, value))  # type: ignore[operator]
    return known[node]
