"""Where each value of a kernel's body is computed: in the outermost scope that knows all its indices.

A scope is a set of iteration coordinates: those that a block shares, those of one element, those of a
reduction or local tensor. The body is a DAG without side effects, so an op inside a reduction that does not
depend on the reduction's coordinates moves out of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...dialects.mlir import ir

ITERATING = ("kernel.reduce", "kernel.local")


@dataclass(eq=False)
class Scope:
    """Coordinates that are bound together, and the ops (in dependency order) that are computed there."""

    arguments: tuple[ir.Value, ...]
    uniform: bool = False
    """Whether all threads of a block are in this scope together, with the same coordinates."""
    ops: list[ir.Operation] = field(default_factory=list)


def nested_ops(block: ir.Block) -> Iterator[ir.Operation]:
    """All ops of a block and of the regions in it, inner ones first."""
    for op in block.operations:
        for region in op.operation.regions:
            yield from nested_ops(region.blocks[0])
        yield op.operation


def dependencies(block: ir.Block, free: Sequence[ir.Value]) -> dict[ir.Value, frozenset[ir.Value]]:
    """For each value in `block`, the coordinates that it depends on; `free` are the block's own ones."""
    known: dict[ir.Value, frozenset[ir.Value]] = {value: frozenset({value}) for value in free}
    _visit(block, known)
    return known


def _visit(block: ir.Block, known: dict[ir.Value, frozenset[ir.Value]]) -> frozenset[ir.Value]:
    everything: frozenset[ir.Value] = frozenset()
    for op in (view.operation for view in block.operations):
        needs = frozenset().union(*(known.get(operand, frozenset()) for operand in op.operands))
        for region in op.regions:
            inner = region.blocks[0]
            own = frozenset(inner.arguments)
            known.update({argument: frozenset({argument}) for argument in inner.arguments})
            needs |= _visit(inner, known) - own
        known.update({result: needs for result in op.results})
        everything |= needs
    return everything


class Placement:
    """The scopes of a body. `levels` are the scopes that enclose it, outermost first."""

    def __init__(
        self, block: ir.Block, levels: Sequence[Scope], known: dict[ir.Value, frozenset[ir.Value]]
    ) -> None:
        self._known = known
        self.inner: dict[ir.Operation, Scope] = {}
        """The scope of the region of each reduction and local tensor."""
        self.terminator = block.operations[len(block.operations) - 1].operation
        self._place(block, list(levels))

    def _place(self, block: ir.Block, chain: list[Scope]) -> None:
        for op in (view.operation for view in block.operations):
            for region in op.regions:
                scope = Scope(tuple(region.blocks[0].arguments))
                self.inner[op] = scope
                self._place(region.blocks[0], [*chain, scope])
            if op.name != "kernel.yield":
                self._home(op, chain).ops.append(op)

    def _home(self, op: ir.Operation, chain: list[Scope]) -> Scope:
        needs = self._known[op.results[0]]
        for scope in reversed(chain):
            if not needs.isdisjoint(scope.arguments):
                return scope
        return chain[0]
