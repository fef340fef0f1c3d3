"""FX-level preparation: lift constants to placeholders, drop assertions, turn trailing `copy_` into
mutations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes
from torch_mlir.extras.fx_as_strided import rewrite_as_strided

_ASSERTIONS = {
    "_assert_scalar",
    "_assert_async",
    "_assert_tensor_metadata",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
}


@dataclass(frozen=True)
class Mutation:
    """The graph's last results are written back: this one to placeholder `target`."""

    target: str


def prepare_graph(
    module: fx.GraphModule, fixed: Mapping[str, Any]
) -> tuple[fx.Graph, dict[str, torch.Tensor], list[Mutation]]:
    """A copy of the graph that only reads placeholders, the lifted tensors by placeholder name, and the
    mutations (appended to the outputs in this order). `fixed` gives Python constants that placeholders
    stand for."""
    owner = fx.GraphModule(module, _copy(module.graph))
    graph = owner.graph
    rewrite_as_strided(graph)
    _drop_assertions(graph)
    for node in list(graph.nodes):
        if node.op == "placeholder" and node.name in fixed:
            _replace_by_constant(node, fixed[node.name])
            graph.erase_node(node)
    lifted = _lift_attributes(owner, graph)
    mutations = _collect_mutations(graph)
    graph.eliminate_dead_code()
    return graph, lifted, mutations


def _copy(graph: fx.Graph) -> fx.Graph:
    copy = fx.Graph()
    result = copy.graph_copy(graph, {}, return_output_node=True)
    assert isinstance(result, tuple)
    copy.output(result[0])
    # graph_copy may rename (a placeholder called `input`, say); callers know placeholders by their names.
    for old, new in zip(graph.find_nodes(op="placeholder"), copy.find_nodes(op="placeholder"), strict=True):
        new.name = old.name
    return copy


def _drop_assertions(graph: fx.Graph) -> None:
    for node in reversed(list(graph.nodes)):
        if is_assertion(node) and not node.users:
            graph.erase_node(node)


def is_assertion(node: fx.Node) -> bool:
    """Whether the node only checks something that tracing has established."""
    return node.op == "call_function" and getattr(node.target, "_opname", "") in _ASSERTIONS


def _replace_by_constant(node: fx.Node, value: Any) -> None:
    for user in list(node.users):
        user.args = fx.map_arg(user.args, lambda item: value if item is node else item)
        user.kwargs = fx.map_arg(user.kwargs, lambda item: value if item is node else item)


def _lift_attributes(owner: fx.GraphModule, graph: fx.Graph) -> dict[str, torch.Tensor]:
    """Tensor attributes become placeholders; a single element becomes `aten.full`."""
    lifted: dict[str, torch.Tensor] = {}
    last = [node for node in graph.nodes if node.op == "placeholder"][-1:]
    for node in [node for node in graph.nodes if node.op == "get_attr"]:
        tensor = _attribute(owner, node.target)
        if not isinstance(tensor, torch.Tensor) or not node.users:
            continue
        anchor = last[0] if last else next(iter(graph.nodes))
        inserting = graph.inserting_after(anchor) if last else graph.inserting_before(anchor)
        with inserting:
            if tensor.numel() == 1 and not tensor.is_complex():
                new = _full(graph, node, tensor)
            else:
                new = graph.placeholder(f"constant_{str(node.target).replace('.', '_')}")
                last = [new]
                lifted[new.name] = tensor
        new.meta.update(node.meta)
        new.meta["val"] = _fake(tensor, graph)
        new.meta.pop("tensor_meta", None)
        node.replace_all_uses_with(new)
        graph.erase_node(node)
    return lifted


def _full(graph: fx.Graph, node: fx.Node, tensor: torch.Tensor) -> fx.Node:
    with _disable_current_modes():
        value = tensor.detach().item()
    with graph.inserting_before(node):
        arguments = (list(tensor.shape), value)
        return graph.call_function(torch.ops.aten.full.default, arguments, {"dtype": tensor.dtype})


def _attribute(owner: torch.nn.Module, target: Any) -> Any:
    value: Any = owner
    for part in str(target).split("."):
        value = getattr(value, part)
    return value


def _fake(tensor: torch.Tensor, graph: fx.Graph) -> torch.Tensor:
    if isinstance(tensor, FakeTensor):
        return tensor
    modes = (
        node.meta["val"].fake_mode for node in graph.nodes if isinstance(node.meta.get("val"), FakeTensor)
    )
    return next(modes, FakeTensorMode()).from_tensor(tensor, static_shapes=True)


def _collect_mutations(graph: fx.Graph) -> list[Mutation]:
    """Remove `copy_(placeholder, value)` nodes and return their values as further outputs."""
    output = next(node for node in graph.nodes if node.op == "output")
    written: dict[fx.Node, fx.Node] = {}
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is torch.ops.aten.copy_.default:
            target, value = node.args[0], node.args[1]
            assert isinstance(target, fx.Node) and isinstance(value, fx.Node)
            if target.op != "placeholder":
                continue
            written[target] = value
            node.replace_all_uses_with(value)
            graph.erase_node(node)
    returned = output.args[0] if isinstance(output.args[0], (tuple, list)) else (output.args[0],)
    output.args = ((*returned, *written.values()),)
    return [Mutation(target.name) for target in written]
