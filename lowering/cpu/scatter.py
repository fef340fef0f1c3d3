"""`kernel.scatter` on the CPU: the result is cut among the threads, and each applies, in order, the writes to
its part.

So the order of writes to one element is kept, whatever the number of threads, and nothing has to wait. When
the result
does not share the base's memory, each thread first copies its part of the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.mlir import ir
from ...dialects.symbolic import ONE, DimVar, Expr, Sym, symbols_in_scope
from .abi import LoweredKernel
from .body import emit_block, emit_value, full_extent, operand
from .emit import BYTES, Kernel, Names, Scope, VectorLoop, type_text
from .index import lane_stride, scalar_index
from .loops import scalar_loops, unroll, vector_loops
from .memory import address, emit_store, lane_compare, load_scalar
from .ops import emit_op
from .region import begin, finish, share
from .schedule import simplify
from .target import Target
from .tree import Body, Node, Reader, Tensor, read_extents


def lower_scatter(
    operation: ir.Operation, symbols: Sequence[Sym], target: Target | None = None
) -> LoweredKernel:
    """The kernel of a `kernel.scatter` op; `symbols` are those of its function, with their ranges."""
    with symbols_in_scope(symbols):
        reader = Reader()
        body = reader.body(operation, read_extents(operation.attributes["domain"]))
        simplify(body, reader)
        kernel = begin(body, target)
        base = body.tensors[0]
        result = Tensor(base.dtype, base.dims)
        kernel.bind_tensor(result, kernel.load_pointer(len(body.tensors)))
        part = _own_part(kernel, base, result)
        mode = ir.StringAttr(operation.attributes["mode"]).value
        _Scatter(kernel, body, result, part, mode).emit()
        return finish(kernel)


def _own_part(kernel: Kernel, base: Tensor, result: Tensor) -> tuple[str, str]:
    """The range of elements that this thread writes, after copying the base into it if need be."""
    root = kernel.root
    low, high = share(root, scalar_index(root, result.size))
    target, source = kernel.pointers[result], kernel.pointers[base]
    numbers = [root.assign(f"llvm.ptrtoint {pointer} : !llvm.ptr to i64") for pointer in (target, source)]
    apart = root.assign(f"arith.cmpi ne, {numbers[0]}, {numbers[1]} : i64")
    copy = root.child()
    ends = [address(copy, pointer, low, result.dtype) for pointer in (target, source)]
    count = copy.assign(f"arith.subi {high}, {low} : i64")
    size = copy.assign(f"arith.muli {count}, {kernel.index_constant(BYTES[result.dtype])} : i64")
    copy.emit(
        f'"llvm.intr.memcpy"({ends[0]}, {ends[1]}, {size}) <{{isVolatile = false}}>'
        " : (!llvm.ptr, !llvm.ptr, i64) -> ()"
    )
    root.lines += [f"scf.if {apart} {{", *copy.lines, "}"]
    return low, high


@dataclass
class _Scatter:
    """The writes of a scatter into the part [part[0], part[1]) of the result."""

    kernel: Kernel
    body: Body
    result: Tensor
    part: tuple[str, str]
    mode: str

    def emit(self) -> None:
        """Loops over all updates in order."""
        root, atoms = self.kernel.root, self.body.indices
        vector = self._vector_coordinate()
        if vector is None:
            scalar_loops(root, atoms, (), "", self._write)
            return
        extent = full_extent(vector)
        lanes, count = self.kernel.target.lanes(32), unroll(self.body.block)
        high = extent.bounds()[1]
        while count > 1 and high is not None and high < lanes * count:
            count //= 2

        def row(scope: Scope, carried: Names) -> Sequence[str]:
            bounds = (self.kernel.index_constant(0), scalar_index(scope, extent))
            vector_loops(scope, vector, bounds, extent, lanes, count, (), "", self._write_vectors)
            return ()

        scalar_loops(root, atoms[:-1], (), "", row)

    @property
    def coordinates(self) -> tuple[Node, ...]:
        """The nodes of the coordinates written to."""
        return self.body.block.results[1:]

    def _vector_coordinate(self) -> DimVar | None:
        """The last coordinate of the domain, if neighbours in it are written to neighbours in memory."""
        if self.mode != "set" or not self.body.indices or not self.coordinates:
            return None
        if any(node.op in ("local", "reduce") for node in self.body.block.nodes):
            return None
        atom = self.body.indices[-1]
        *outer, last = self.coordinates
        if any(atom in node.dependences for node in outer) or last.op != "index_value":
            return None
        loop = VectorLoop(atom, self.kernel.target.lanes(32), 1, None, True)
        return atom if lane_stride(self.kernel.root, last.data, loop) is ONE else None

    def _inside(self, scope: Scope, values: Sequence[str], dims: Sequence[Expr]) -> tuple[str, str]:
        """(the offset of an element, whether these coordinates are in range)"""
        offset = self.kernel.index_constant(0)
        inside = self.kernel.constant("i1", 1)
        for value, dim in zip(values, dims, strict=True):
            limit = scalar_index(scope, dim)
            test = scope.assign(f"arith.cmpi ult, {value}, {limit} : i64")
            inside = scope.assign(f"arith.andi {inside}, {test} : i1")
            scaled = scope.assign(f"arith.muli {offset}, {limit} : i64")
            offset = scope.assign(f"arith.addi {scaled}, {value} : i64")
        return offset, inside

    def _write(self, scope: Scope, carried: Names) -> Sequence[str]:
        """One update, if it falls into this thread's part."""
        kernel = self.kernel
        values = [emit_value(kernel, node, scope)[0] for node in self.coordinates]
        offset, inside = self._inside(scope, values, self.result.dims)
        low, high = self.part
        for predicate, end in (("sge", low), ("slt", high)):
            test = scope.assign(f"arith.cmpi {predicate}, {offset}, {end} : i64")
            inside = scope.assign(f"arith.andi {inside}, {test} : i1")
        guarded = scope.child()
        emit_block(kernel, self.body.block, guarded)
        value = emit_value(kernel, self.body.result, guarded)[0]
        pointer, dtype = kernel.pointers[self.result], self.result.dtype
        if self.mode == "add":
            old = load_scalar(guarded, pointer, offset, dtype)
            value = emit_op(guarded, "add", 0, dtype, (old, value))
        emit_store(kernel, guarded, pointer, offset, (value,), dtype, 0)
        scope.lines += [f"scf.if {inside} {{", *guarded.lines, "}"]
        return ()

    def _write_vectors(self, scope: Scope, carried: Names) -> Sequence[str]:
        """Vectors of updates to neighbouring elements, masked to the result's range and to this thread's
        part.
        """
        kernel, loop = self.kernel, scope.vector
        assert loop is not None
        *outer, last = self.coordinates
        rows = [emit_value(kernel, node, scope)[0] for node in outer]
        values = operand(kernel, self.body.result, scope, loop)
        dim = self.result.dims[-1]
        kind = type_text("i1", loop.lanes)
        for u, value in enumerate(values):
            start, inside = self._inside(scope, rows, self.result.dims[:-1])
            column = scalar_index(scope, last.data, u)
            width = scalar_index(scope, dim)
            scaled = scope.assign(f"arith.muli {start}, {width} : i64")
            offset = scope.assign(f"arith.addi {scaled}, {column} : i64")
            masks = [] if loop.mask is None else [loop.mask]
            masks.append(scope.assign(f"vector.broadcast {inside} : i1 to {kind}"))
            zero = kernel.index_constant(0)
            for predicate, end, origin in (
                ("sge", zero, column),
                ("slt", width, column),
                ("sge", self.part[0], offset),
                ("slt", self.part[1], offset),
            ):
                distance = scope.assign(f"arith.subi {end}, {origin} : i64")
                masks.append(lane_compare(scope, predicate, distance, loop.lanes))
            mask = masks[0]
            for other in masks[1:]:
                mask = scope.assign(f"arith.andi {mask}, {other} : {kind}")
            pointer = kernel.pointers[self.result]
            emit_store(kernel, scope, pointer, offset, (value,), self.result.dtype, loop.lanes, mask)
        return ()
