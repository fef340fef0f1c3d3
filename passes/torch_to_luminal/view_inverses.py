"""Writes through views: what a tensor becomes when one of its views is overwritten.

A view that is injective has an op that puts new values back into the tensor it was taken of. Views that are
not in the table (or not injective, such as `expand`) have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

aten = torch.ops.aten


@dataclass(frozen=True)
class ViewCall:
    """How a view was taken: the op, its operands after the viewed tensor (nodes of the new graph), and for
    ops that return several views, which one it is and the metadata of all."""

    op: Any
    operands: tuple[Any, ...]
    element: int = 0
    values: Sequence[torch.Tensor] = ()


# (graph, view, new node of the viewed tensor, new node of the view's values) -> the viewed tensor anew.
Inverse = Callable[[fx.Graph, ViewCall, fx.Node, fx.Node], "fx.Node | None"]


def write_through(graph: fx.Graph, view: ViewCall, whole: fx.Node, part: fx.Node) -> fx.Node | None:
    """`whole` with the values of `part` where `view` reads it; None if the view has no inverse.

    `whole` and `part` have fake tensors as metadata; the result's is `whole`'s.
    """
    inverse = _INVERSES.get(view.op)
    return inverse(graph, view, whole, part) if inverse is not None else None


def sizes_of(graph: fx.Graph, node: fx.Node) -> list[Any]:
    """The sizes of a node's tensor as operands: integers, or nodes where they are not static."""
    sizes: list[Any] = []
    for axis, size in enumerate(node.meta["val"].shape):
        if isinstance(size, torch.SymInt):
            sizes.append(emit(graph, aten.sym_size.int, (node, axis), size))
        else:
            sizes.append(size)
    return sizes


def emit(graph: fx.Graph, op: Any, arguments: tuple[Any, ...], value: Any) -> fx.Node:
    """A call of `op` whose metadata is `value`."""
    node = graph.call_function(op, arguments)
    node.meta["val"] = value
    return node


def _scatter(op: Any) -> Inverse:
    """The inverse of an op whose `*_scatter` form takes the same operands after the new values."""

    def inverse(graph: fx.Graph, view: ViewCall, whole: fx.Node, part: fx.Node) -> fx.Node:
        return emit(graph, op, (whole, part, *view.operands), whole.meta["val"])

    return inverse


def _reshape(graph: fx.Graph, view: ViewCall, whole: fx.Node, part: fx.Node) -> fx.Node:
    return emit(graph, aten.reshape.default, (part, sizes_of(graph, whole)), whole.meta["val"])


def _same_again(graph: fx.Graph, view: ViewCall, whole: fx.Node, part: fx.Node) -> fx.Node:
    return emit(graph, view.op, (part, *view.operands), whole.meta["val"])


def _permute(graph: fx.Graph, view: ViewCall, whole: fx.Node, part: fx.Node) -> fx.Node:
    axes = view.operands[0]
    places = {axis % len(axes): place for place, axis in enumerate(axes)}
    order = [places[axis] for axis in range(len(axes))]
    return emit(graph, aten.permute.default, (part, order), whole.meta["val"])


def _element(graph: fx.Graph, view: ViewCall, whole: fx.Node, part: fx.Node) -> fx.Node:
    axis = view.operands[0] if view.operands else 0
    return emit(graph, aten.select_scatter.default, (whole, part, axis, view.element), whole.meta["val"])


def _piece(graph: fx.Graph, view: ViewCall, whole: fx.Node, part: fx.Node) -> fx.Node | None:
    axis = view.operands[1] if len(view.operands) > 1 else 0
    lengths = [value.shape[axis] for value in view.values[: view.element + 1]]
    if any(isinstance(length, torch.SymInt) for length in lengths):
        return None
    span = (axis, sum(lengths[:-1]), sum(lengths))
    return emit(graph, aten.slice_scatter.default, (whole, part, *span), whole.meta["val"])


_INVERSES: dict[Any, Inverse] = {
    aten.slice.Tensor: _scatter(aten.slice_scatter.default),
    aten.select.int: _scatter(aten.select_scatter.default),
    aten.diagonal.default: _scatter(aten.diagonal_scatter.default),
    aten.transpose.int: _same_again,
    aten.t.default: _same_again,
    aten.permute.default: _permute,
    aten.unsqueeze.default: _reshape,
    aten.squeeze.default: _reshape,
    aten.squeeze.dim: _reshape,
    aten.squeeze.dims: _reshape,
    aten.view.default: _reshape,
    aten.view_as.default: _reshape,
    aten.reshape.default: _reshape,
    aten.flatten.using_ints: _reshape,
    aten.unflatten.int: _reshape,
    aten.unbind.int: _element,
    aten.split.Tensor: _piece,
    aten.split.sizes: _piece,
    aten.split_with_sizes.default: _piece,
    aten.chunk.default: _piece,
}
