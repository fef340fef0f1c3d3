"""`kernel.contract` on a GPU: each block computes a square tile of the result from tiles in shared memory.

The m, n and k dims are each treated as one flat dim, so that any number of them, with any maps, is the same
kernel. Half types are staged and accumulated in f32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...dialects.mlir import ir
from ...dialects.symbolic import ONE, ZERO, Expr, IndexMap, const, product
from ...dialects.types import dims_of
from .builder import Builder
from .coordinates import ceil_divide, delinearize, linearize
from .evaluate import BodyEmitter, extents_of, tensor_memories
from .function import KernelFunction, Memory
from .launches import Grid
from .options import SimtOptions
from .placement import Placement, Scope, dependencies
from .scalars import compute_type, widen

SIDE = 16
"""Threads along each side of a tile."""
THREADS = SIDE * SIDE


@dataclass(frozen=True)
class _Flat:
    """Some dims of the domain as one: their extents, and where they stand in the domain."""

    extents: tuple[Expr, ...]

    @property
    def size(self) -> Expr:
        return product(self.extents)


def lower_contract(op: ir.Operation, kernel: KernelFunction, options: SimtOptions) -> Grid:
    """Emit the kernel of a contraction (for `THREADS` threads) and return how many blocks run it."""
    return _ContractLowering(op, kernel, options).lower()


class _ContractLowering:
    def __init__(self, op: ir.Operation, kernel: KernelFunction, options: SimtOptions) -> None:
        self.op, self.kernel, self.options = op, kernel, options
        self.b: Builder = kernel.builder
        self.domain = extents_of(op, "domain")
        sizes = list(ir.DenseI64ArrayAttr(op.attributes["sizes"]))
        starts = [sum(sizes[:position]) for position in range(4)]
        self.batch, self.m, self.n, self.k = (
            _Flat(self.domain[start : start + size]) for start, size in zip(starts, sizes, strict=True)
        )
        self.tile, self.depth = options.tile, options.tile_depth
        self.dtype = compute_type(kernel.memories[0].dtype)
        self.dims = [dims_of(operand.type) for operand in op.operands]

    def lower(self) -> Grid:
        b, tile = self.b, self.tile
        row_tiles, column_tiles = ceil_divide(self.m.size, tile), ceil_divide(self.n.size, tile)
        blocks = product((*self.batch.extents, row_tiles, column_tiles))
        number = b.coordinate(self.kernel.block_number, blocks)
        *batch, row_tile, column_tile = delinearize(number, (*self.batch.extents, row_tiles, column_tiles))
        self.batch_at = tuple(batch)
        self.first_row, self.first_column = row_tile * tile, column_tile * tile
        self.lhs_tile = self.kernel.shared(self.dtype, tile * self.depth)
        self.rhs_tile = self.kernel.shared(self.dtype, tile * self.depth)
        self.row = b.op("arith.divui", [self.kernel.thread, b.index(SIDE)])
        self.column = b.op("arith.remui", [self.kernel.thread, b.index(SIDE)])
        self._store(self._accumulate())
        return Grid(blocks, THREADS)

    # -- the two operands --------------------

    def _lhs_index(self, row: Expr, depth: Expr) -> Expr:
        rows, depths = delinearize(row, self.m.extents), delinearize(depth, self.k.extents)
        columns = (ZERO,) * len(self.n.extents)
        point = (*self.batch_at, *rows, *columns, *depths)
        return linearize(self._map("lhs_map").apply(point), self.dims[0])

    def _rhs_index(self, column: Expr, depth: Expr) -> Expr:
        if "packed" in self.op.attributes:
            width = ir.IntegerAttr(self.op.attributes["packed"]).value
            panel = (*self.batch_at, column // width, depth, column % width)
            return linearize(panel, self.dims[1])
        columns, depths = delinearize(column, self.n.extents), delinearize(depth, self.k.extents)
        rows = (ZERO,) * len(self.m.extents)
        point = (*self.batch_at, *rows, *columns, *depths)
        return linearize(self._map("rhs_map").apply(point), self.dims[1])

    def _map(self, name: str) -> IndexMap:
        return IndexMap.from_attr(self.op.attributes[name], self.domain)

    # -- the main loop --------------------

    def _accumulate(self) -> list[ir.Value]:
        b, count = self.b, (self.tile // SIDE) ** 2

        def step(start: ir.Value, carried: list[ir.Value]) -> Sequence[ir.Value]:
            first = b.coordinate(start, self.k.size)
            self._stage(
                self.kernel.memories[0], self.lhs_tile, self.first_row, self.m.size, first, self._lhs_index
            )
            self._stage(
                self.kernel.memories[1], self.rhs_tile, self.first_column, self.n.size, first, self._rhs_index
            )
            self.kernel.barrier()
            result = b.loop(b.index(0), b.index(self.depth), b.index(1), carried, self._multiply)
            self.kernel.barrier()
            return result

        zeros = [b.constant(0, self.dtype)] * count
        return b.loop(b.index(0), b.expression(self.k.size), b.index(self.depth), zeros, step)

    def _stage(
        self,
        source: Memory,
        target: Memory,
        first: Expr,
        size: Expr,
        first_depth: Expr,
        index: Callable[[Expr, Expr], Expr],
    ) -> None:
        """Copy a tile to shared memory, its k coordinate outermost; zero where it reaches over the edge."""
        b = self.b
        probe_position, probe_depth = b.coordinate(b.index(0), size), b.coordinate(b.index(0), self.k.size)
        depth_is_contiguous = index(probe_position, probe_depth).coefficient(probe_depth) is ONE
        for start in range(0, self.tile * self.depth, THREADS):
            flat = b.coordinate(
                b.op("arith.addi", [self.kernel.thread, b.index(start)]), const(self.tile * self.depth)
            )
            if depth_is_contiguous:
                position, depth = flat // self.depth, flat % self.depth
            else:
                depth, position = flat // self.tile, flat % self.tile
            value = self._element(source, first + position, size, first_depth + depth, index)
            target.store(b, value, b.expression(depth * self.tile + position))

    def _element(
        self, source: Memory, position: Expr, size: Expr, depth: Expr, index: Callable[[Expr, Expr], Expr]
    ) -> ir.Value:
        b = self.b
        inside = b.all_of([*b.in_range(position, size), *b.in_range(depth, self.k.size)])

        def load() -> ir.Value:
            known_position = b.coordinate(b.expression(position), size)
            known_depth = b.coordinate(b.expression(depth), self.k.size)
            return widen(b, source.load(b, b.expression(index(known_position, known_depth))))

        zero = b.constant(0, self.dtype)
        return b.choose(inside, load, lambda: b.constant(0, self.dtype), zero.type)

    def _multiply(self, depth: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        b = self.b
        base = b.op("arith.muli", [depth, b.index(self.tile)])

        def values(memory: Memory, thread: ir.Value) -> list[ir.Value]:
            start = b.op("arith.addi", [base, thread])
            return [
                memory.load(b, b.op("arith.addi", [start, b.index(offset)]))
                for offset in range(0, self.tile, SIDE)
            ]

        rows, columns = values(self.lhs_tile, self.row), values(self.rhs_tile, self.column)
        pairs = [(row, column) for row in rows for column in columns]
        return [self._multiply_add(*pair, total) for pair, total in zip(pairs, carried, strict=True)]

    def _multiply_add(self, lhs: ir.Value, rhs: ir.Value, total: ir.Value) -> ir.Value:
        if self.dtype.startswith("f"):
            return self.b.op("math.fma", [lhs, rhs, total])
        return self.b.op("arith.addi", [total, self.b.op("arith.muli", [lhs, rhs])])

    # -- epilogue --------------------

    def _store(self, totals: list[ir.Value]) -> None:
        block = self.op.regions[0].blocks[0]
        arguments = list(block.arguments)
        tensors, *indices, accumulator = (arguments[: len(self.dims)], *arguments[len(self.dims) :])
        scope = Scope((*indices, accumulator))
        known = dependencies(block, [*indices, accumulator])
        emitter = BodyEmitter(self.kernel, Placement(block, [scope], known), self.options)
        tensor_memories(emitter, tensors, self.kernel.memories[:-1])
        offsets = [(i, j) for i in range(0, self.tile, SIDE) for j in range(0, self.tile, SIDE)]
        for (i, j), total in zip(offsets, totals, strict=True):
            emitter.values[accumulator] = total
            self._store_one(emitter, scope, indices, i, j)

    def _store_one(
        self, emitter: BodyEmitter, scope: Scope, indices: Sequence[ir.Value], i: int, j: int
    ) -> None:
        b, target = self.b, self.kernel.memories[-1]
        row = self.first_row + b.coordinate(self.row, const(SIDE)) + i
        column = self.first_column + b.coordinate(self.column, const(SIDE)) + j
        inside = b.all_of([*b.in_range(row, self.m.size), *b.in_range(column, self.n.size)])

        def body() -> None:
            rows = delinearize(b.coordinate(b.expression(row), self.m.size), self.m.extents)
            columns = delinearize(b.coordinate(b.expression(column), self.n.size), self.n.extents)
            emitter.bind_indices(indices, (*self.batch_at, *rows, *columns))
            emitter.emit_scope(scope)
            (value,) = emitter.yielded(emitter.placement.terminator)
            point = (*self.batch_at, *rows, *columns, *((ZERO,) * len(self.k.extents)))
            place = linearize(self._map("out_map").apply(point), dims_of(self.op.results[0].type))
            target.store(b, value, b.expression(place))

        b.when(inside, body)
