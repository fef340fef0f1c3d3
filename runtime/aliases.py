"""Outputs that are views of inputs or of other outputs, made by torch itself at call time.

The compiled program computes values only, each in memory of its own. Where eager returns a view, the caller
may rely on shared memory (and AOTAutograd on the view's strides), so the view ops that lead there are
replayed on the actual tensor.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind


class ViewOutputs:
    """The outputs of `nodes` (a graph's outputs) that are views of `inputs` (placeholders by name) or of
    other outputs.
    """

    def __init__(self, inputs: Mapping[str, int], nodes: Sequence[Any]) -> None:
        self._inputs = inputs
        origins: dict[torch.fx.Node, int] = {}
        for number, node in enumerate(nodes):
            if isinstance(node, torch.fx.Node) and node.op == "call_function" and _source(node) is None:
                origins.setdefault(node, number)
        self._origins = origins
        self._views = {
            number: node
            for number, node in enumerate(nodes)
            if isinstance(node, torch.fx.Node) and node.op == "call_function" and self._replayable(node)
        }

    @classmethod
    def of_export(cls, program: torch.export.ExportedProgram) -> ViewOutputs:
        """Those of an exported program: user inputs and outputs, numbered as in the signature."""
        signature = program.graph_signature
        users = [spec for spec in signature.input_specs if spec.kind == InputKind.USER_INPUT]
        nodes = {node.name: node for node in program.graph.nodes}
        outputs = [spec for spec in signature.output_specs if spec.kind == OutputKind.USER_OUTPUT]
        names = [getattr(spec.arg, "name", None) for spec in outputs]
        return cls(
            {spec.arg.name: k for k, spec in enumerate(users)}, [nodes.get(name or "") for name in names]
        )

    @classmethod
    def of_graph(cls, graph: torch.fx.Graph) -> ViewOutputs:
        """Those of a graph whose placeholders are the inputs."""
        placeholders = [node.name for node in graph.nodes if node.op == "placeholder"]
        returned = next(node for node in graph.nodes if node.op == "output").args[0]
        return cls({name: k for k, name in enumerate(placeholders)}, list(returned))

    def apply(self, inputs: Sequence[Any], outputs: list[Any]) -> list[Any]:
        """Replaces the outputs in question, in place, by views of the actual tensors."""
        known: dict[torch.fx.Node, Any] = {}
        for number, node in self._views.items():
            outputs[number] = self._replay(node, inputs, outputs, known)
        return outputs

    def _replayable(self, node: torch.fx.Node) -> bool:
        """Whether a chain of views leads from the node to a known tensor, all sizes on the way being known
        at a call.
        """
        views = 0
        while node.op == "call_function" and node not in self._origins:
            source = _source(node)
            if source is None:
                return False
            others = [other for other in node.all_input_nodes if other is not source]
            if not _writes(node):
                views += 1
                if not all(self._is_size(other) for other in others):
                    return False
            node = source
        return views > 0 and (
            node in self._origins or (node.op == "placeholder" and node.name in self._inputs)
        )

    def _is_size(self, node: torch.fx.Node) -> bool:
        """Whether the node is a number that follows from inputs and their shapes."""
        if not isinstance(node.meta.get("val"), (int, float, bool, torch.SymInt)):
            return False
        if node.op == "placeholder":
            return node.name in self._inputs
        return all(other.name in self._inputs or self._is_size(other) for other in node.all_input_nodes)

    def _replay(
        self, node: torch.fx.Node, inputs: Sequence[Any], outputs: list[Any], known: dict[torch.fx.Node, Any]
    ) -> Any:
        """The node's value: views on actual tensors; an in-place op has happened already and is its
        operand.
        """
        if node in known:
            return known[node]
        if node in self._origins:
            return outputs[self._origins[node]]
        if node.op == "placeholder":
            return inputs[self._inputs[node.name]]
        source = _source(node)
        if _writes(node) and source is not None:
            return self._replay(source, inputs, outputs, known)

        def value(item: torch.fx.Node) -> Any:
            return self._replay(item, inputs, outputs, known)

        arguments = torch.fx.node.map_arg(node.args, value)
        known[node] = node.target(*arguments, **torch.fx.node.map_arg(node.kwargs, value))  # type: ignore[operator]
        return known[node]


def _source(node: torch.fx.Node) -> torch.fx.Node | None:
    """The node whose memory this node's result shares, None if it has its own."""
    if node.target is operator.getitem:
        base = node.args[0]
        return base if isinstance(base, torch.fx.Node) and _source(base) is not None else None
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.returns or schema.returns[0].alias_info is None:
        return None
    names = schema.returns[0].alias_info.before_set  # empty where the op returns a list of views
    for argument, value in zip(schema.arguments, node.args, strict=False):
        if argument.alias_info is not None and (not names or argument.alias_info.before_set & names):
            return value if isinstance(value, torch.fx.Node) else None
    return None


def _writes(node: torch.fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable
