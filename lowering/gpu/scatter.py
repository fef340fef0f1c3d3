"""`kernel.scatter` on a GPU, in the order of its semantics: of two writes to an element the later one wins.

Updates that differ in a dim which alone decides a coordinate of the target never meet: those dims run in
parallel. The others (whose coordinates come from index tensors, say) are run through by each thread in
order. That needs no atomics, and gives the same result every time.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.mlir import ir
from ...dialects.symbolic import DimVar, Expr, IndexMap, dim_vars, product
from .coordinates import ceil_divide, delinearize, linearize
from .evaluate import BodyEmitter, extents_of, tensor_memories
from .function import KernelFunction
from .launches import Grid
from .options import SimtOptions
from .placement import Placement, Scope, dependencies
from .scalars import emit_scalar


def lower_copy(op: ir.Operation, kernel: KernelFunction, options: SimtOptions) -> Grid:
    """Emit the kernel that copies the base to the result, one thread per element."""
    b, (source, target) = kernel.builder, kernel.memories
    total = product(source.dims)
    first = b.op("arith.muli", [kernel.block_number, b.index(kernel.threads)])
    element = b.op("arith.addi", [first, kernel.thread])
    inside = b.compare("slt", element, b.expression(total))
    b.when(inside, lambda: target.store(b, source.load(b, element), element))
    return Grid(ceil_divide(total, kernel.threads), kernel.threads)


def lower_scatter(op: ir.Operation, kernel: KernelFunction, options: SimtOptions) -> Grid:
    """Emit the kernel that writes the updates into the result, which holds the base."""
    return _ScatterLowering(op, kernel, options).lower()


class _ScatterLowering:
    def __init__(self, op: ir.Operation, kernel: KernelFunction, options: SimtOptions) -> None:
        self.op, self.kernel, self.options, self.b = op, kernel, options, kernel.builder
        self.block = op.regions[0].blocks[0]
        arguments = list(self.block.arguments)
        self.tensors, self.indices = arguments[: len(op.operands)], arguments[len(op.operands) :]
        self.extents = extents_of(op, "domain")
        self.terminator = self.block.operations[len(self.block.operations) - 1].operation
        parallel = self._parallel_axes()
        self.parallel = [axis for axis in range(len(self.extents)) if axis in parallel]
        self.serial = [axis for axis in range(len(self.extents)) if axis not in parallel]

    def _parallel_axes(self) -> set[int]:
        axes = set()
        for coordinate in list(self.terminator.operands)[1:]:
            owner = coordinate.owner
            op = owner.operation if not isinstance(owner, ir.Block) else None
            if op is not None and op.name == "kernel.index_value":
                axes |= self._deciding_axis(op)
        return axes

    def _deciding_axis(self, op: ir.Operation) -> set[int]:
        """The one axis of the domain that the value is strictly monotonic in, if it depends on no other."""
        dims = dim_vars([None] * len(op.operands))
        (expr,) = IndexMap.from_attr(op.attributes["map"], [None] * len(op.operands)).results
        used = [dim for dim in dims if dim in expr.atoms()]
        if len(used) != 1 or op.operands[used[0].index] not in self.indices:
            return set()
        factor = expr.coefficient(used[0])
        if factor is None or not factor.is_const or factor.value == 0:
            return set()
        return {self.indices.index(op.operands[used[0].index])}

    def lower(self) -> Grid:
        b, kernel = self.b, self.kernel
        outer = Scope(tuple(self.indices[axis] for axis in self.parallel))
        inner = Scope(tuple(self.indices[axis] for axis in self.serial))
        known = dependencies(self.block, self.indices)
        emitter = BodyEmitter(kernel, Placement(self.block, [outer, inner], known), self.options)
        tensor_memories(emitter, self.tensors, kernel.memories[:-1])
        total = product(self.extents[axis] for axis in self.parallel)
        first = b.op("arith.muli", [kernel.block_number, b.index(kernel.threads)])
        number = b.op("arith.addi", [first, kernel.thread])

        def body() -> None:
            at = delinearize(b.coordinate(number, total), [self.extents[axis] for axis in self.parallel])
            emitter.bind_indices(outer.arguments, at)
            emitter.emit_scope(outer)
            self._run_serial(emitter, inner, [])

        b.when(b.compare("slt", number, b.expression(total)), body)
        return Grid(ceil_divide(total, kernel.threads), kernel.threads)

    def _run_serial(self, emitter: BodyEmitter, scope: Scope, at: list[DimVar]) -> None:
        b = self.b
        if len(at) == len(self.serial):
            emitter.bind_indices(scope.arguments, at)
            emitter.emit_scope(scope)
            self._write(emitter)
            return
        extent = self.extents[self.serial[len(at)]]

        def body(value: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
            self._run_serial(emitter, scope, [*at, b.coordinate(value, extent)])
            return []

        b.loop(b.index(0), b.expression(extent), b.index(1), [], body)

    def _write(self, emitter: BodyEmitter) -> None:
        b, target = self.b, self.kernel.memories[-1]
        value, *coordinates = emitter.yielded(self.terminator)
        point = [b.coordinate(b.cast_index(at, ir.IndexType.get()), None) for at in coordinates]
        inside = [
            check for at, extent in zip(point, target.dims, strict=True) for check in b.in_range(at, extent)
        ]
        mode = ir.StringAttr(self.op.attributes["mode"]).value
        b.when(b.all_of(inside), lambda: self._store(value, point, add=mode == "add"))

    def _store(self, value: ir.Value, point: Sequence[Expr], add: bool) -> None:
        b, target = self.b, self.kernel.memories[-1]
        place = b.expression(linearize(point, target.dims))
        if add:
            total = emit_scalar(b, "add", [target.load(b, place), value], value.type)
            assert total is not None, "every dtype can be added"
            value = total
        target.store(b, value, place)
