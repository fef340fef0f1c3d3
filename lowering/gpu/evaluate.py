"""Emits the ops of a kernel's body, scope by scope, for one thread or for the threads of a block together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from luminal.errors import LoweringError

from ...dialects.mlir import ir
from ...dialects.symbolic import Expr, IndexMap, in_range, is_positive, product
from ...dialects.types import BYTES, dims_of, dtype_of, scalar_type
from .casts import emit_cast
from .coordinates import delinearize, linearize
from .function import KernelFunction, Memory
from .options import SimtOptions
from .placement import Placement, Scope
from .reductions import Reduction
from .scalars import emit_scalar, narrow, widen


def extents_of(op: ir.Operation, attribute: str) -> tuple[Expr, ...]:
    """The results of an affine map of symbols, such as a domain."""
    return IndexMap.from_attr(op.attributes[attribute], ()).results


class BodyEmitter:
    """Emits one body into `kernel`; `memories`, `values` and `indices` bind tensors, scalars and indices."""

    def __init__(self, kernel: KernelFunction, placement: Placement, options: SimtOptions) -> None:
        self.kernel = kernel
        self.b = kernel.builder
        self.placement = placement
        self.options = options
        self.memories: dict[ir.Value, Memory] = {}
        self.values: dict[ir.Value, ir.Value] = {}
        self.indices: dict[ir.Value, Expr] = {}
        self._recomputed: dict[ir.Value, ir.Operation] = {}

    def bind_indices(self, arguments: Sequence[ir.Value], coordinates: Sequence[Expr]) -> None:
        """Give index arguments their coordinates."""
        self.indices.update(zip(arguments, coordinates, strict=True))

    def emit_scope(self, scope: Scope) -> None:
        """Compute everything that belongs to `scope`, whose coordinates are bound."""
        for op in scope.ops:
            emit = _EMITTERS.get(op.name)
            if emit is not None:
                emit(self, op, scope)
            else:
                self._scalar(op)

    def yielded(self, terminator: ir.Operation) -> list[ir.Value]:
        """The values that a region ends with."""
        return [self.values[operand] for operand in terminator.operands]

    # -- scalars --------------------

    def _scalar(self, op: ir.Operation) -> None:
        operands = [self.values[operand] for operand in op.operands]
        value = emit_scalar(self.b, op.name.removeprefix("kernel."), operands, op.results[0].type)
        if value is None:
            types = ", ".join(str(operand.type) for operand in op.operands)
            raise LoweringError(f"'{op.name}' on ({types}) has no lowering for GPUs, at {op.location}")
        self.values[op.results[0]] = value

    def _constant(self, op: ir.Operation, scope: Scope) -> None:
        value = self.b.op("arith.constant", [], op.results[0].type, {"value": op.attributes["value"]})
        self.values[op.results[0]] = value

    def _cast(self, op: ir.Operation, scope: Scope) -> None:
        value = emit_cast(self.b, self.values[op.operands[0]], dtype_of(op.results[0].type))
        self.values[op.results[0]] = value

    def _to_index(self, op: ir.Operation, scope: Scope) -> None:
        """Clamp an integer to [0, extent)."""
        b, index = self.b, ir.IndexType.get()
        (extent,) = extents_of(op, "extent")
        value = b.cast_index(self.values[op.operands[0]], index)
        last = b.expression(extent - 1)
        clamped = b.op("arith.minsi", [b.op("arith.maxsi", [value, b.index(0)]), last])
        # Of an empty tensor no index is in range: a masked load must still see that.
        self.indices[op.results[0]] = b.coordinate(clamped, extent if is_positive(extent) else None)

    def _index_value(self, op: ir.Operation, scope: Scope) -> None:
        (expr,) = self._apply(op)
        self.values[op.results[0]] = self.b.cast_index(self.b.expression(expr), scalar_type("i64"))

    def _apply(self, op: ir.Operation, skip: int = 0) -> tuple[Expr, ...]:
        """The results of an op's map at its index operands."""
        coordinates = [self.indices[operand] for operand in list(op.operands)[skip:]]
        return IndexMap.from_attr(op.attributes["map"], [None] * len(coordinates)).apply(coordinates)

    # -- loads --------------------

    def _load(self, op: ir.Operation, scope: Scope) -> None:
        source = op.operands[0]
        coordinates = self._apply(op, skip=1)
        conditions: list[ir.Value] = []
        if "masked" in op.attributes:
            for coordinate, extent in zip(coordinates, self._dims(source), strict=True):
                if not in_range(coordinate, extent):
                    conditions += self.b.in_range(coordinate, extent)
        type_ = op.results[0].type
        self.values[op.results[0]] = self.b.choose(
            self.b.all_of(conditions),
            lambda: self._element(source, coordinates),
            lambda: self.b.constant(0, type_),
            type_,
        )

    def _dims(self, source: ir.Value) -> tuple[Expr, ...]:
        recomputed = self._recomputed.get(source)
        return self.memories[source].dims if recomputed is None else extents_of(recomputed, "extents")

    def _element(self, source: ir.Value, coordinates: Sequence[Expr]) -> ir.Value:
        recomputed = self._recomputed.get(source)
        if recomputed is not None:
            return self._local_element(recomputed, coordinates)
        memory = self.memories[source]
        return memory.load(self.b, self.b.expression(linearize(coordinates, memory.dims)))

    # -- reductions and local tensors --------------------

    def _reduce(self, op: ir.Operation, scope: Scope) -> None:
        dtype = dtype_of(op.results[0].type)
        reduction = Reduction(ir.StringAttr(op.attributes["kind"]).value, dtype)
        value = self._reduce_together(op, reduction) if scope.uniform else self._reduce_alone(op, reduction)
        self.values[op.results[0]] = narrow(self.b, value, dtype)

    def _reduce_alone(self, op: ir.Operation, reduction: Reduction) -> ir.Value:
        """One thread runs over all elements."""
        extents = extents_of(op, "extents")

        def nest(axis: int, coordinates: list[Expr], accumulator: ir.Value) -> ir.Value:
            if axis == len(extents):
                return self._accumulate(op, reduction, coordinates, accumulator)
            return self.b.loop(
                self.b.index(0),
                self.b.expression(extents[axis]),
                self.b.index(1),
                [accumulator],
                lambda at, carried: [
                    nest(axis + 1, [*coordinates, self.b.coordinate(at, extents[axis])], carried[0])
                ],
            )[0]

        return nest(0, [], reduction.identity(self.b))

    def _reduce_together(self, op: ir.Operation, reduction: Reduction) -> ir.Value:
        """The threads of the block take turns at the elements, then combine."""
        extents = extents_of(op, "extents")
        total = product(extents)
        partial = self.b.loop(
            self.kernel.thread,
            self.b.expression(total),
            self.b.index(self.kernel.threads),
            [reduction.identity(self.b)],
            lambda at, carried: [
                self._accumulate(
                    op, reduction, delinearize(self.b.coordinate(at, total), extents), carried[0]
                )
            ],
        )[0]
        return reduction.across_block(self.kernel, partial)

    def _accumulate(
        self, op: ir.Operation, reduction: Reduction, coordinates: Sequence[Expr], accumulator: ir.Value
    ) -> ir.Value:
        element = widen(self.b, self._region_value(op, coordinates))
        return reduction.combine(self.b, accumulator, element)

    def _region_value(self, op: ir.Operation, coordinates: Sequence[Expr]) -> ir.Value:
        """The scalar that an op's region yields at `coordinates`."""
        block = op.regions[0].blocks[0]
        self.bind_indices(list(block.arguments), coordinates)
        self.emit_scope(self.placement.inner[op])
        return self.yielded(block.operations[len(block.operations) - 1].operation)[0]

    def _local(self, op: ir.Operation, scope: Scope) -> None:
        """In shared memory if the whole block needs it and it fits, else computed again by each load."""
        extents = extents_of(op, "extents")
        dtype = dtype_of(op.results[0].type)
        bound = product(extents).bounds()[1]
        free = self.options.shared_bytes - self.kernel.shared_bytes
        if not scope.uniform or bound is None or bound * BYTES[dtype] > free:
            self._recomputed[op.results[0]] = op
            return
        memory = self.kernel.shared(dtype, max(bound, 1), extents)
        self.memories[op.results[0]] = memory
        b, total = self.b, product(extents)

        def fill(at: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            memory.store(b, self._region_value(op, delinearize(b.coordinate(at, total), extents)), at)
            return []

        b.loop(self.kernel.thread, b.expression(total), b.index(self.kernel.threads), [], fill)
        self.kernel.barrier()

    def _local_element(self, op: ir.Operation, coordinates: Sequence[Expr]) -> ir.Value:
        # The coordinates are expressions over values that exist: emitting the region again loses nothing.
        return self._region_value(op, coordinates)


_EMITTERS: Mapping[str, Callable[[BodyEmitter, ir.Operation, Scope], None]] = {
    "kernel.constant": BodyEmitter._constant,
    "kernel.cast": BodyEmitter._cast,
    "kernel.to_index": BodyEmitter._to_index,
    "kernel.index_value": BodyEmitter._index_value,
    "kernel.load": BodyEmitter._load,
    "kernel.reduce": BodyEmitter._reduce,
    "kernel.local": BodyEmitter._local,
}


def tensor_memories(emitter: BodyEmitter, arguments: Sequence[ir.Value], memories: Sequence[Memory]) -> None:
    """Bind the tensor arguments of a body to the kernel's buffers."""
    for argument, memory in zip(arguments, memories, strict=True):
        emitter.memories[argument] = Memory(memory.reference, memory.dtype, dims_of(argument.type))
