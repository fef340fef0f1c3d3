"""`kernel.region` on the CPU: one function that computes its thread's share of the domain.

The domain's coordinates but the last make rows, shared out evenly among the threads; vectors run along the
last one.
If there are few rows, each row is cut into one piece per thread as well. Results too large for the cache are
stored around it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.mlir import ir
from ...dialects.symbolic import ONE, ZERO, Expr, Sym, as_expr, product, symbols_in_scope
from ...dialects.types import dtype_of
from .abi import LoweredKernel
from .body import full_extent
from .emit import BYTES, Kernel, Names, Scope, VectorLoop
from .index import lane_stride, scalar_index
from .loops import block_end, store_result, unroll, vector_loops, vector_tail
from .schedule import fetch_next_rows, loads, simplify, vector_coordinate
from .target import Target, host_target
from .tree import Body, Reader, Tensor, read_extents

STREAM_BYTES = 24 << 20
"""Results of at least this size are stored around the cache."""


def lower_region(
    operation: ir.Operation, symbols: Sequence[Sym], target: Target | None = None
) -> LoweredKernel:
    """The kernel of a `kernel.region` op; `symbols` are those of its function, with their ranges."""
    with symbols_in_scope(symbols):
        reader = Reader()
        extents = read_extents(operation.attributes["domain"])
        body = reader.body(operation, extents)
        result = Tensor(dtype_of(operation.results[0].type), extents)
        simplify(body, reader)
        kernel = begin(body, target)
        kernel.bind_tensor(result, kernel.load_pointer(len(body.tensors)))
        _Domain(kernel, body, reader, result).emit()
        return finish(kernel)


def begin(body: Body, target: Target | None = None) -> Kernel:
    """A kernel whose tensors are the op's operands."""
    kernel = Kernel(target or host_target())
    kernel.index_nodes.update(body.index_nodes)
    for position, tensor in enumerate(body.tensors):
        kernel.bind_tensor(tensor, kernel.load_pointer(position))
    return kernel


def finish(kernel: Kernel, serial: bool = False) -> LoweredKernel:
    """The finished kernel."""
    scratch: Expr = ZERO
    for size in kernel.scratch:
        scratch = scratch + size
    return LoweredKernel(kernel.render(), scratch, serial, loops_as_written=True)


def share(scope: Scope, count: str) -> tuple[str, str]:
    """The range of this thread when `count` items are shared out evenly."""
    low = scope.assign(f"arith.muli {count}, %tid : i64")
    high = scope.assign(f"arith.addi {low}, {count} : i64")
    return tuple(scope.assign(f"arith.divui {x}, %nthreads : i64") for x in (low, high))  # type: ignore[return-value]


class _Domain:
    """The loops over the domain of a region."""

    def __init__(self, kernel: Kernel, body: Body, reader: Reader, result: Tensor) -> None:
        self.kernel = kernel
        self.body = body
        self.result = result
        self.vector = vector_coordinate(body, kernel.root)
        self.rows = body.indices if self.vector is None else body.indices[:-1]
        self.row_count = product([full_extent(atom) for atom in self.rows])
        self.row = reader.atom(self.row_count)
        self.lanes = kernel.target.lanes(32)
        self.count = self._unrolling()
        if self.vector is not None and self.rows and self._has_row_values():
            fetch_next_rows(body, self.rows[-1])

    def _unrolling(self) -> int:
        count = unroll(self.body.block)
        if self.vector is not None:
            high = full_extent(self.vector).bounds()[1]
            while count > 1 and high is not None and high < self.lanes * count:
                count //= 2
        return count

    def emit(self) -> None:
        """The whole function."""
        root = self.kernel.root
        if self.vector is None:
            low, high = share(root, scalar_index(root, self.row_count))
            loop = root.loop(low, high, self.kernel.index_constant(1))
            self._bind_row(loop, loop.index)
            store_result(self.kernel, loop, self.body.block, self.result, self.row, None)
            loop.close_loop()
            return
        extent = scalar_index(root, full_extent(self.vector))
        if self.row_count is ONE:
            scope = root.child()
            scope.bind(self.row, self.kernel.index_constant(0))
            block = self._block_count(scope, extent)
            self._row(scope, self._piece(scope, extent, block, "%tid", "%nthreads"), extent)
            scope.close()
        elif self._is_transposed():
            self._emit_column_blocks(extent)
        elif self._never_cut():
            low, high = share(root, scalar_index(root, self.row_count))
            loop = root.loop(low, high, self.kernel.index_constant(1))
            self._bind_row(loop, loop.index)
            self._row(loop, (self.kernel.index_constant(0), extent), extent)
            loop.close_loop()
        else:
            self._emit_cut_rows(extent)
        if self._streams():
            root.emit("llvm.fence seq_cst")

    def _never_cut(self) -> bool:
        low = self.row_count.bounds()[0]
        return low is not None and low >= 1024

    def _emit_cut_rows(self, extent: str) -> None:
        """Rows in `pieces` pieces each: one piece per thread if there are few rows, one in all otherwise."""
        root, kernel = self.kernel.root, self.kernel
        count = scalar_index(root, self.row_count)
        per_row = self._has_row_values()
        limit = "%nthreads"
        if not per_row:
            limit = root.assign(f"arith.muli %nthreads, {kernel.index_constant(8)} : i64")
        few = root.assign(f"arith.cmpi slt, {count}, {limit} : i64")
        pieces = root.assign(f"arith.select {few}, %nthreads, {kernel.index_constant(1)} : i64")
        items = root.assign(f"arith.muli {count}, {pieces} : i64")
        blocks = self._block_count(root, extent)
        low, high = share(root, items)
        loop = root.loop(low, high, kernel.index_constant(1))
        row = loop.assign(f"arith.divui {loop.index}, {pieces} : i64")
        piece = loop.assign(f"arith.remui {loop.index}, {pieces} : i64")
        self._bind_row(loop, row)
        self._row(loop, self._piece(loop, extent, blocks, piece, pieces), extent)
        loop.close_loop()

    def _is_transposed(self) -> bool:
        """Whether a load strides along vectors and is contiguous from row to row."""
        vector = VectorLoop(self.body.indices[-1], self.lanes, 1, None, True)
        if self._has_row_values():
            return False
        for access in loads(self.body.block):
            stride = lane_stride(self.kernel.root, access.offset, vector)
            if stride is not ZERO and stride is not ONE:
                if any(access.offset.coefficient(atom) is ONE for atom in self.rows):
                    return True
        return False

    def _emit_column_blocks(self, extent: str) -> None:
        """Blocks of columns outermost: a cache line read for one row serves the next rows too."""
        root, kernel = self.kernel.root, self.kernel
        count = scalar_index(root, self.row_count)
        blocks = self._block_count(root, extent)
        items = root.assign(f"arith.muli {count}, {blocks} : i64")
        low, high = share(root, items)
        loop = root.loop(low, high, kernel.index_constant(1))
        row = loop.assign(f"arith.remui {loop.index}, {count} : i64")
        block = loop.assign(f"arith.divui {loop.index}, {count} : i64")
        self._bind_row(loop, row)
        self._row(loop, self._piece(loop, extent, blocks, block, blocks), extent)
        loop.close_loop()

    def _has_row_values(self) -> bool:
        """Whether a reduction or a local belongs to a row as a whole."""
        nodes = self.body.block.nodes
        return any(node.op in ("reduce", "local") and self.vector not in node.dependences for node in nodes)

    def _block_count(self, scope: Scope, extent: str) -> str:
        size = self.lanes * self.count
        padded = scope.assign(f"arith.addi {extent}, {self.kernel.index_constant(size - 1)} : i64")
        return scope.assign(f"arith.divui {padded}, {self.kernel.index_constant(size)} : i64")

    def _piece(self, scope: Scope, extent: str, blocks: str, number: str, pieces: str) -> tuple[str, str]:
        """The range of one of `pieces` equal pieces of a row, in whole blocks of vectors."""
        size = self.kernel.index_constant(self.lanes * self.count)
        one = self.kernel.index_constant(1)
        ends: list[str] = []
        for index in (number, scope.assign(f"arith.addi {number}, {one} : i64")):
            blocks_before = scope.assign(f"arith.muli {blocks}, {index} : i64")
            blocks_before = scope.assign(f"arith.divui {blocks_before}, {pieces} : i64")
            end = scope.assign(f"arith.muli {blocks_before}, {size} : i64")
            ends.append(scope.assign(f"arith.minsi {end}, {extent} : i64"))
        return ends[0], ends[1]

    def _bind_row(self, scope: Scope, row: str) -> None:
        """Give the row's number and each of its coordinates their values."""
        scope.bind(self.row, row)
        for position in reversed(range(len(self.rows))):
            atom = self.rows[position]
            if position == 0:
                scope.bind(atom, row)
                return
            extent = scalar_index(scope, full_extent(atom))
            scope.bind(atom, scope.assign(f"arith.remui {row}, {extent} : i64"))
            row = scope.assign(f"arith.divui {row}, {extent} : i64")

    def _row(self, scope: Scope, bounds: tuple[str, str], extent_name: str) -> None:
        """One row, or the piece of it in `bounds`, vector by vector."""
        assert self.vector is not None
        extent = full_extent(self.vector)
        offset = self.row * extent + self.vector

        def step(inner: Scope, carried: Names) -> Sequence[str]:
            store_result(
                self.kernel, inner, self.body.block, self.result, offset, inner.vector, self._streaming
            )
            return ()

        self._streaming = self._streams()
        if self._streaming:
            bounds = self._stream(scope, bounds, step)
            self._streaming = False
            if self._always_streams():
                vector_tail(scope, self.vector, bounds, extent, self.lanes, (), "", step)
                return
        vector_loops(scope, self.vector, bounds, extent, self.lanes, self.count, (), "", step)

    def _stream(self, scope: Scope, bounds: tuple[str, str], step: object) -> tuple[str, str]:
        """The loop that stores around the cache, if the result is large and aligned; returns what is left."""
        assert self.vector is not None
        lower, upper = bounds
        middle = block_end(scope, lower, upper, self.lanes * self.count)
        end = scope.assign(f"arith.select {self._stream_condition()}, {middle}, {lower} : i64")
        size = as_expr(self.lanes * self.count)
        vector_loops(
            scope,
            self.vector,
            (lower, end),
            size,
            self.lanes,
            self.count,
            (),
            "",
            step,  # type: ignore[arg-type]
        )
        return end, upper

    def _stream_condition(self) -> str:
        root, kernel = self.kernel.root, self.kernel
        pointer = kernel.pointers[self.result]
        number = root.assign(f"llvm.ptrtoint {pointer} : !llvm.ptr to i64")
        size = BYTES[self.result.dtype]
        low = root.assign(f"arith.andi {number}, {kernel.index_constant(self.lanes * size - 1)} : i64")
        aligned = root.assign(f"arith.cmpi eq, {low}, {kernel.index_constant(0)} : i64")
        total = scalar_index(root, self.result.size * size)
        large = root.assign(f"arith.cmpi sge, {total}, {kernel.index_constant(STREAM_BYTES)} : i64")
        return root.assign(f"arith.andi {aligned}, {large} : i1")

    def _streams(self) -> bool:
        """Whether the result can be large enough to be stored around the cache, in whole vectors."""
        if self.vector is None or self.lanes * BYTES[self.result.dtype] < 16:
            return False
        extent = full_extent(self.vector)
        whole_rows = self.row_count is ONE or (extent % self.lanes).bounds() == (0, 0)
        high = (self.result.size * BYTES[self.result.dtype]).bounds()[1]
        return whole_rows and (high is None or high >= STREAM_BYTES)

    def _always_streams(self) -> bool:
        low = (self.result.size * BYTES[self.result.dtype]).bounds()[0]
        return low is not None and low >= STREAM_BYTES
