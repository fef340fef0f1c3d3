"""Writes the chosen kernels of a function as L2 IR."""

from __future__ import annotations

from ...dialects.mlir import ir
from .egraph import FrozenGraph
from .emit_kernel import KernelWriter
from .encode import Encoded
from .state import Choice


class Rebuilder:
    """Fills a new function with the kernels of `choice`, in the order in which the source function needed
    their results.
    """

    def __init__(self, graph: FrozenGraph, encoded: Encoded, choice: Choice, block: ir.Block) -> None:
        self.graph, self.encoded, self.choice, self.block = graph, encoded, choice, block
        self._writer = KernelWriter(graph, block)
        self.made: dict[int, ir.Value] = {}
        for number, value in enumerate(encoded.values):
            if isinstance(value, ir.BlockArgument):
                self.made.setdefault(graph.values[number], block.arguments[value.arg_number])
        self._numbers = {value: number for number, value in enumerate(encoded.values)}

    def run(self, terminator: ir.Operation) -> None:
        """Emit calls in program order, each after what it reads, then let the terminator return the new
        values.
        """
        for call in self.encoded.calls:
            operands = [self._value(v) for v in call.operands]
            op = ir.Operation.create(
                "func.call",
                results=[r.type for r in call.results],
                operands=operands,
                attributes={name: call.attributes[name] for name in call.attributes},
                loc=call.location,
                ip=ir.InsertionPoint.at_block_terminator(self.block),
            )
            for old, new in zip(call.results, op.results, strict=True):
                self.made[self.graph.values[self._numbers[old]]] = new
        for i, value in enumerate(list(terminator.operands)):
            terminator.operands[i] = self._value(value)

    def _value(self, value: ir.Value) -> ir.Value:
        return self.tensor(self.graph.values[self._numbers[value]])

    def tensor(self, cls: int) -> ir.Value:
        """The SSA value of a tensor class, its kernel emitted first if need be."""
        if cls not in self.made:
            kernel = self.choice.kernels[cls]
            operands = {need: self.tensor(need) for need in kernel.needs}
            with self._location(cls):
                self.made[cls] = self._writer.write(kernel, operands)
        return self.made[cls]

    def _location(self, cls: int) -> ir.Location:
        """The source location of the last op that became this tensor."""
        for number in reversed(range(len(self.encoded.values))):
            value = self.encoded.values[number]
            if self.graph.values[number] == cls and not isinstance(value, ir.BlockArgument):
                return value.owner.location
        return ir.Location.unknown()
