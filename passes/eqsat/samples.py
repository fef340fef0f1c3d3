"""Single kernels as modules of their own, to be compiled and timed."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.mlir import ir
from ...dialects.types import tensor_type
from .egraph import FrozenGraph
from .emit_kernel import KernelWriter
from .kernels import Kernel, ScatterKernel


@dataclass(frozen=True)
class KernelSample:
    """A module whose `@main` runs one kernel; `cold` are the operands that a program streams from memory
    (weights); the others were just computed."""

    module: ir.Operation
    cold: frozenset[int]

    @property
    def text(self) -> str:
        """What tells one sample from another."""
        return f"{self.module}{sorted(self.cold)}"


def kernel_sample(graph: FrozenGraph, kernel: Kernel, symbols: ir.Attribute | None) -> KernelSample:
    """The kernel of a function with the symbol list `symbols` alone in a module. A location and a context
    must be current."""
    types = [tensor_type(graph.types[t].dims, graph.types[t].dtype) for t in kernel.needs]
    kind = graph.types[kernel.tensor]
    result = tensor_type(kind.dims, kind.dtype)
    module = ir.Module.create()
    attributes = {
        "sym_name": ir.StringAttr.get("main"),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [result])),
    }
    if symbols is not None:
        attributes["luminal.symbols"] = symbols
    function = ir.Operation.create(
        "func.func", attributes=attributes, regions=1, ip=ir.InsertionPoint(module.body)
    )
    block = ir.Block.create_at_start(function.regions[0], types, [ir.Location.unknown()] * len(types))
    end = ir.Operation.create("func.return", operands=[], ip=ir.InsertionPoint(block))
    operands = dict(zip(kernel.needs, block.arguments, strict=True))
    value = KernelWriter(graph, block).write(kernel, operands)
    if isinstance(kernel, ScatterKernel):
        value.owner.attributes["in_place"] = ir.UnitAttr.get()
    end.erase()
    ir.Operation.create("func.return", operands=[value], ip=ir.InsertionPoint(block))
    cold = frozenset(i for i, t in enumerate(kernel.needs) if t in graph.static)
    return KernelSample(module.operation, cold)
