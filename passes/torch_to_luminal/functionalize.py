"""In-place ops of an exported graph rewritten into functional ones, node by node, without tracing it again.

`ExportedProgram.run_decompositions` does the same by retracing everything, which takes half a minute on a
language model that writes its cache. Here the fake tensors that tracing left in the graph say which nodes
share memory: an in-place op becomes its functional form, its result is written back through the views that
lead to the memory's first owner, and other views of the memory are taken anew where they are read later.

    before:  %v = slice(%buffer, 2, %a, %b);  copy_(%v, %x);  return slice(%buffer, 2, 0, %b)
    after:   %n = slice_scatter(%buffer, %x, 2, %a, %b);  %r = slice(%n, 2, 0, %b);  copy_(%buffer, %n)
             return %r
"""

from __future__ import annotations

import operator
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

from .graph_cleanup import is_assertion
from .in_place import (
    NotFunctional,
    fake_value,
    functional_form,
    list_source,
    may_alias,
    mutates,
    same_layout,
    same_sizes,
    storage_of,
    storage_of_node,
    written_operand,
)
from .view_inverses import ViewCall, aten, emit, sizes_of, write_through


@dataclass
class _Holder:
    """A node (of the original graph) that reads written memory: its value in the new graph, good for the
    memory's `version`. parent: the node it is a view of, None for the memory's first owner. same: the view
    shows all of the parent as it is."""

    storage: int
    value: fx.Node
    version: int
    parent: fx.Node | None = None
    same: bool = False


def functional_graph(graph: fx.Graph, writable: Collection[str]) -> tuple[fx.Graph, list[str]]:
    """`graph` without in-place ops, and the placeholders that it writes to.

    The new graph ends in one `copy_(placeholder, value)` for each of these; `writable` names those that may
    be among them. All nodes need their metadata. Raises NotFunctional.
    """
    try:
        return _Functionalizer(graph, writable).run()
    except NotFunctional:
        raise
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:  # from fake tensors
        raise NotFunctional(str(error)) from error


_DROPOUTS = {aten.dropout.default, aten.feature_dropout.default, aten.alpha_dropout.default}


class _Functionalizer:
    def __init__(self, graph: fx.Graph, writable: Collection[str]) -> None:
        self._source = graph
        self._writable = writable
        self._graph = fx.Graph()
        self._values: dict[fx.Node, fx.Node] = {}
        self._holders: dict[fx.Node, _Holder] = {}
        self._owners: dict[int, fx.Node] = {}
        self._versions: dict[int, int] = {}
        self._joined: dict[int, int] = {}
        for node in graph.nodes:
            self._join(node)
        self._written: set[int | None] = {
            self._memory(written_operand(node)) for node in graph.nodes if mutates(node)
        }

    def run(self) -> tuple[fx.Graph, list[str]]:
        output = self._source.output_node()
        for node in self._source.nodes:
            if node is not output:
                self._visit(node)
        results = fx.map_arg(output.args, self._read)
        targets: list[str] = []
        for owner in self._owners.values():
            value = self._read(owner)
            if owner.op == "placeholder" and value is not self._values[owner]:
                emit(self._graph, aten.copy_.default, (self._values[owner], value), owner.meta["val"])
                targets.append(owner.name)
        self._graph.output(results[0])
        return self._graph, targets

    def _memory(self, node: fx.Node) -> int | None:
        """What identifies the memory of a node's tensor."""
        storage = storage_of_node(node)
        return storage if storage is None else self._joined.get(storage, storage)

    def _join(self, node: fx.Node) -> None:
        """Dropout outside of training is its operand, but tracing takes it for a copy."""
        if node.target in _DROPOUTS and node.args[2] is False and isinstance(node.args[0], fx.Node):
            storage, memory = storage_of_node(node), self._memory(node.args[0])
            if storage is not None and memory is not None and storage != memory:
                self._joined[storage] = memory

    def _visit(self, node: fx.Node) -> None:
        if is_assertion(node):
            return
        if mutates(node):
            self._write_in_place(node)
            return
        self._verify(node)
        parent = self._viewed(node)
        # An element of a list of views is taken of the list anew: the memory may have been written since.
        self._values[node] = self._copy(node) if parent is None else self._view_again(node)
        storage = self._memory(node)
        if storage is None or storage not in self._written or not isinstance(node.meta["val"], torch.Tensor):
            return
        if parent is None:
            self._own(node, storage)
        same = parent is not None and same_layout(node.meta["val"], parent.meta["val"])
        if node.target in _DROPOUTS and not same:
            raise NotFunctional("dropout of memory that is written")
        self._holders[node] = _Holder(storage, self._values[node], self._versions[storage], parent, same)

    def _own(self, node: fx.Node, storage: int) -> None:
        if storage in self._owners:
            raise NotFunctional(f"'{node.name}' shares memory with '{self._owners[storage].name}'")
        if node.op == "get_attr" or (node.op == "placeholder" and node.name not in self._writable):
            raise NotFunctional(f"'{node.name}' is constant and written to")
        if any("val" not in other.meta for other in node.all_input_nodes):
            raise NotFunctional(f"the operands of '{node.name}' are unknown")
        self._owners[storage] = node
        self._versions[storage] = 0

    def _viewed(self, node: fx.Node) -> fx.Node | None:
        """The node of written memory that this one is a view of."""
        storage = self._memory(node)
        source = list_source(node) or node
        if storage is None or storage not in self._written or source.op != "call_function":
            return None
        tensors = [other for other in source.all_input_nodes if self._memory(other) is not None]
        parents = [other for other in tensors if self._memory(other) == storage]
        if not parents:
            return None
        one = len(tensors) == 1 or source.target is aten.view_as.default
        if not one or parents[0] is not source.args[0] or source.target is aten.as_strided.default:
            raise NotFunctional(f"'{source.target}' shares the memory of an operand")
        return parents[0]

    def _verify(self, node: fx.Node) -> None:
        """Run ops that may or may not return a view: the metadata of a program that was read from a file, or
        of an op that tracing has seen as one, shares nothing."""
        op = node.target
        if not isinstance(op, torch._ops.OpOverload):
            tracked = any(self._memory(other) in self._written for other in node.all_input_nodes)
            if tracked and op is not operator.getitem:
                raise NotFunctional(f"'{op}' reads memory that is written")
            return
        inputs = [other for other in node.all_input_nodes if self._memory(other) is not None]
        concerned = self._memory(node) in self._written or any(
            self._memory(n) in self._written for n in inputs
        )
        shared = self._memory(node) in {self._memory(other) for other in inputs}
        if not concerned or shared or not may_alias(op) or self._memory(node) is None:
            return
        fresh = self._evaluate(op, node.args, node.kwargs)
        values = {storage_of(other.meta["val"]) for other in inputs}
        if storage_of(fresh) in values:
            raise NotFunctional(f"the metadata of '{node.name}' doesn't say what memory it shares")

    def _evaluate(self, op: Any, args: Any, kwargs: Any) -> Any:
        """`op` on fake tensors."""
        modes = (getattr(node.meta.get("val"), "fake_mode", None) for node in self._source.nodes)
        mode = next((mode for mode in modes if mode is not None), None)
        if mode is None:
            raise NotFunctional("the graph has no fake tensors")
        with mode, torch.no_grad():
            return op(*fx.map_arg(args, fake_value), **fx.map_arg(kwargs, fake_value))

    def _copy(self, node: fx.Node) -> fx.Node:
        copy = self._graph.node_copy(node, self._read)
        if node.op == "placeholder":
            copy.name = node.name
        if node.target is aten.detach_.default:  # writes nothing
            copy.target = aten.detach.default
        return copy

    def _read(self, node: fx.Node) -> fx.Node:
        """The node's value now."""
        holder = self._holders.get(node)
        if holder is None:
            return self._values[node]
        if holder.version != self._versions[holder.storage]:
            assert holder.parent is not None
            holder.value = self._read(holder.parent) if holder.same else self._view_again(node)
            holder.version = self._versions[holder.storage]
        return holder.value

    def _view_again(self, node: fx.Node) -> fx.Node:
        source = list_source(node)
        if source is None:
            return self._copy(node)
        operands = (self._copy(source), node.args[1])
        return emit(self._graph, operator.getitem, operands, node.meta["val"])

    def _view_call(self, node: fx.Node) -> ViewCall:
        source = list_source(node) or node
        if source.kwargs:
            raise NotFunctional(f"a write through '{source.target}' with keywords")
        operands = fx.map_arg(source.args[1:], self._read)
        if source is node:
            return ViewCall(node.target, operands)
        values, element = source.meta["val"], node.args[1]
        assert isinstance(element, int)
        return ViewCall(source.target, operands, element % len(values), values)

    def _write_in_place(self, node: fx.Node) -> None:
        target = written_operand(node)
        if target not in self._holders:
            raise NotFunctional(f"'{target.name}' has no known owner")
        last = next(iter(reversed(self._graph.nodes)), None)
        value = self._copied(node) if node.target is aten.copy_.default else self._computed(node)
        self._write(target, value)
        storage = self._holders[target].storage
        self._values[node] = value
        self._holders[node] = _Holder(storage, value, self._versions[storage], target, True)
        for new in reversed(self._graph.nodes):
            if new is last:
                break
            if node.stack_trace:  # for error messages
                new.meta.setdefault("stack_trace", node.stack_trace)

    def _write(self, node: fx.Node, value: fx.Node) -> None:
        """`value` becomes what `node` reads, and so do its parents'."""
        holder = self._holders[node]
        if holder.parent is None:
            self._versions[holder.storage] += 1
        elif holder.same:
            self._write(holder.parent, value)
        else:
            view = self._view_call(node)
            whole = write_through(self._graph, view, self._read(holder.parent), value)
            if whole is None:
                raise NotFunctional(f"a write through '{node.target}'")
            self._write(holder.parent, whole)
        holder.value, holder.version = value, self._versions[holder.storage]

    def _copied(self, node: fx.Node) -> fx.Node:
        """What `copy_(target, source)` leaves in the target."""
        target, source = node.args[0], node.args[1]
        assert isinstance(target, fx.Node) and isinstance(source, fx.Node)
        return self._fitted(self._read(source), target)

    def _computed(self, node: fx.Node) -> fx.Node:
        """The functional form of an in-place op."""
        op = functional_form(node.target)
        value = self._graph.call_function(
            op, fx.map_arg(node.args, self._read), fx.map_arg(node.kwargs, self._read)
        )
        value.meta = {**node.meta, "val": self._evaluate(op, node.args, node.kwargs)}
        target = written_operand(node)
        if not same_sizes(value.meta["val"].shape, target.meta["val"].shape):
            raise NotFunctional(f"'{node.target}' changes the shape")
        return self._fitted(value, target)

    def _fitted(self, value: fx.Node, target: fx.Node) -> fx.Node:
        """The value with the dtype and the sizes of the node it is written to."""
        wanted, given = target.meta["val"], value.meta["val"]
        if wanted.device != given.device:
            raise NotFunctional("a copy between devices")
        if given.dtype != wanted.dtype:
            fake = self._evaluate(aten.to.dtype, (given, wanted.dtype), {})
            value = emit(self._graph, aten.to.dtype, (value, wanted.dtype), fake)
        if not same_sizes(given.shape, wanted.shape):
            sizes = sizes_of(self._graph, self._read(target))
            fake = self._evaluate(aten.expand.default, (value.meta["val"], list(wanted.shape)), {})
            value = emit(self._graph, aten.expand.default, (value, sizes), fake)
        return value
