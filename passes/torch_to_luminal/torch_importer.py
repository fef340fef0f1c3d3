"""torch-mlir's FX importer as luminal uses it: optional indices stay optional, and whatever the importer
cannot do is reported like any other op that can't be imported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import torch
from torch import fx
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.extras.fx_importer import FxImporter, GraphNodeImporter

from luminal.errors import ImportFailure

from ...dialects.mlir import ir
from .conversion import Failure, failure_message, own_frame

# Ops that torch-mlir would rename to overloads that take fewer kinds of operands.
_KEPT = {
    torch.ops.aten._unsafe_index_put.default,
    torch.ops.aten._embedding_bag_forward_only.default,
}


class _NodeImporter(GraphNodeImporter):
    """Adds each node to `seen` before it is imported."""

    def __init__(self, seen: list[fx.Node], *context: Any) -> None:
        super().__init__(*context)
        self._seen = seen

    def import_nodes(self, nodes: Iterable[fx.Node], **options: Any) -> None:
        super().import_nodes(self._watched(nodes), **options)

    def _watched(self, nodes: Iterable[fx.Node]) -> Iterator[fx.Node]:
        for node in nodes:
            self._seen.append(node)
            yield node

    def _import_torch_op_overload(self, loc: ir.Location, node: fx.Node, concrete_target: Any = None) -> None:
        if concrete_target is None and node.target in _KEPT:
            concrete_target = node.target
        super()._import_torch_op_overload(loc, node, concrete_target)


def import_graph(graph: fx.Graph, context: ir.Context) -> tuple[ir.Module, ir.Operation]:
    """`graph` as the function `main` over torch types, in a module of its own.

    Raises ImportFailure naming the op and the user's line where the importer gives up.
    """
    torch_dialect.register_dialect(context)
    seen: list[fx.Node] = []
    create: Any = partial(_NodeImporter, seen)
    importer = FxImporter(context=context, config_check=False, graph_node_importer_cls=create)
    try:
        function = importer.import_stateless_graph(graph, func_name="main").operation
    except Exception as error:
        name = str(seen[-1].target) if seen else "the program's inputs or results"
        reason = _reason(seen[-1], error) if seen else f"torch-mlir's importer fails on {error}"
        place = own_frame(_frames(seen[-1])) if seen else ""
        raise ImportFailure(failure_message([Failure(name, place, reason)])) from error
    return importer.module, function


def _reason(node: fx.Node, error: Exception) -> str:
    if isinstance(node.target, torch._ops.HigherOrderOperator):
        return "no converter"
    detail = str(error).splitlines()[0] if str(error) else ""
    return f"torch-mlir's importer fails: {type(error).__name__}: {detail}"


def _frames(node: fx.Node) -> list[tuple[str, str]]:
    """(file, line) of the node's Python stack, innermost first."""
    return re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")[::-1]
