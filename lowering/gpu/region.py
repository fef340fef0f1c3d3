"""`kernel.region` on a GPU: a thread per element, or a block per row where the body reduces."""

from __future__ import annotations

from ...dialects.mlir import ir
from ...dialects.symbolic import Expr, product
from .coordinates import ceil_divide, delinearize, linearize
from .evaluate import BodyEmitter, extents_of, tensor_memories
from .function import KernelFunction
from .launches import Grid
from .options import SimtOptions
from .placement import ITERATING, Placement, Scope, dependencies, nested_ops


def lower_region(op: ir.Operation, kernel: KernelFunction, options: SimtOptions) -> Grid:
    """Emit the kernel of a region and return how many blocks run it."""
    return _RegionLowering(op, kernel, options).lower()


class _RegionLowering:
    def __init__(self, op: ir.Operation, kernel: KernelFunction, options: SimtOptions) -> None:
        self.op, self.kernel, self.options = op, kernel, options
        self.block = op.regions[0].blocks[0]
        arguments = list(self.block.arguments)
        self.tensors, self.indices = arguments[: len(op.operands)], arguments[len(op.operands) :]
        self.extents = extents_of(op, "domain")
        self.known = dependencies(self.block, self.indices)

    def lower(self) -> Grid:
        shared_axes = self._shared_axes()
        if shared_axes is None:
            return self._thread_per_element()
        return self._block_per_row(shared_axes)

    def _shared_axes(self) -> int | None:
        """How many outer axes make a row, whose block computes the reductions together; None for no such row.

        The outermost reduction decides: the ones that depend on further axes are done by single threads.
        """
        iterating = [op for op in nested_ops(self.block) if op.name in ITERATING]
        if not iterating:
            return None
        position = {value: axis + 1 for axis, value in enumerate(self.indices)}
        depths = [
            max((position.get(value, 0) for value in self.known[op.results[0]]), default=0)
            for op in iterating
            # A reduction inside another one, on its coordinates, is part of that one.
            if all(value in position for value in self.known[op.results[0]])
        ]
        axes = min(depths)
        work = sum((product(extents_of(op, "extents")) for op in iterating), start=product(()) * 0)
        limit = work.bounds()[1]
        if axes == len(self.indices) and limit is not None and limit <= self.options.serial_reduction:
            return None
        return axes

    def _emitter(self, *levels: Scope) -> BodyEmitter:
        emitter = BodyEmitter(self.kernel, Placement(self.block, levels, self.known), self.options)
        tensor_memories(emitter, self.tensors, self.kernel.memories[:-1])
        return emitter

    def _store(self, emitter: BodyEmitter, coordinates: tuple[Expr, ...]) -> None:
        b = self.kernel.builder
        (value,) = emitter.yielded(emitter.placement.terminator)
        self.kernel.memories[-1].store(b, value, b.expression(linearize(coordinates, self.extents)))

    def _thread_per_element(self) -> Grid:
        b, kernel, total = self.kernel.builder, self.kernel, product(self.extents)
        first = b.op("arith.muli", [kernel.block_number, b.index(kernel.threads)])
        element = b.op("arith.addi", [first, kernel.thread])
        scope = Scope(tuple(self.indices))
        emitter = self._emitter(scope)

        def body() -> None:
            coordinates = delinearize(b.coordinate(element, total), self.extents)
            emitter.bind_indices(self.indices, coordinates)
            emitter.emit_scope(scope)
            self._store(emitter, coordinates)

        b.when(b.compare("slt", element, b.expression(total)), body)
        return Grid(ceil_divide(total, kernel.threads), kernel.threads)

    def _block_per_row(self, axes: int) -> Grid:
        b, kernel = self.kernel.builder, self.kernel
        outer, inner = self.extents[:axes], self.extents[axes:]
        row_scope = Scope(tuple(self.indices[:axes]), uniform=True)
        element_scope = Scope(tuple(self.indices[axes:]))
        emitter = self._emitter(row_scope, element_scope)
        rows, columns = product(outer), product(inner)
        row = delinearize(b.coordinate(kernel.block_number, rows), outer)
        emitter.bind_indices(self.indices[:axes], row)
        emitter.emit_scope(row_scope)

        def body(at: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            column = delinearize(b.coordinate(at, columns), inner)
            emitter.bind_indices(self.indices[axes:], column)
            emitter.emit_scope(element_scope)
            self._store(emitter, (*row, *column))
            return []

        # Where a row is a single value, the first thread writes it.
        b.loop(kernel.thread, b.expression(columns), b.index(kernel.threads), [], body)
        return Grid(rows, kernel.threads)
