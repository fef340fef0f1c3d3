"""One `gpu.func`: its buffers, its symbols, its shared memory, and the thread that runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.mlir import ir
from ...dialects.symbolic import Expr, Sym
from ...dialects.types import BYTES, dims_of, dtype_of, scalar_type
from .builder import Builder


def storage_type(dtype: str) -> ir.Type:
    """The element type in memory: booleans take a byte."""
    return scalar_type(dtype) if dtype != "i1" else ir.IntegerType.get_signless(8)


@dataclass(frozen=True)
class Memory:
    """A flat buffer: `reference` is a one-dimensional memref of `dtype` in row-major order of `dims`."""

    reference: ir.Value
    dtype: str
    dims: tuple[Expr, ...]

    def load(self, b: Builder, index: ir.Value) -> ir.Value:
        """The element at a flat index."""
        value = b.op("memref.load", [self.reference, index], storage_type(self.dtype))
        return b.op("arith.trunci", [value], scalar_type("i1")) if self.dtype == "i1" else value

    def store(self, b: Builder, value: ir.Value, index: ir.Value) -> None:
        """Write the element at a flat index."""
        if self.dtype == "i1":
            value = b.op("arith.extui", [value], storage_type("i1"))
        b.effect("memref.store", [value, self.reference, index])


def _memory_space(name: str) -> ir.Attribute:
    return ir.Attribute.parse(f"#gpu.address_space<{name}>")


class KernelFunction:
    """A kernel under construction; `with kernel.entry:` emits into its body.

    Its arguments are the tensors of `types` as flat buffers, then all symbols of the module as index values.
    """

    def __init__(
        self, module: ir.Block, name: str, types: Sequence[ir.Type], symbols: Sequence[Sym], threads: int
    ) -> None:
        self.builder = Builder()
        self.threads = threads
        self._shared_bytes = 0
        buffers = [_buffer_type(dtype_of(type_)) for type_ in types]
        inputs = [*buffers, *([ir.IndexType.get()] * len(symbols))]
        self.operation = _function(module, name, inputs, threads)
        self.block = self.operation.regions[0].blocks[0]
        arguments = list(self.block.arguments)
        self.memories = [
            Memory(value, dtype_of(type_), dims_of(type_))
            for value, type_ in zip(arguments, types, strict=False)
        ]
        self.builder.atoms.update(zip(symbols, arguments[len(types) :], strict=True))
        with self.entry:
            self.thread = self._position("gpu.thread_id")
            self.block_number = self._position("gpu.block_id")

    @property
    def entry(self) -> ir.InsertionPoint:
        """The end of the body."""
        return ir.InsertionPoint(self.block)

    def finish(self) -> None:
        """Close the body."""
        with self.entry:
            self.builder.effect("gpu.return", [])

    def _position(self, op: str) -> ir.Value:
        return self.builder.op(op, [], ir.IndexType.get(), {"dimension": ir.Attribute.parse("#gpu<dim x>")})

    def shared(self, dtype: str, count: int, dims: tuple[Expr, ...] = ()) -> Memory:
        """An array of `count` elements in shared memory."""
        self._shared_bytes += count * BYTES[dtype]
        type_ = ir.MemRefType.get([count], storage_type(dtype), memory_space=_memory_space("workgroup"))
        value = self.block.add_argument(type_, ir.Location.current)
        attributes = self.operation.attributes
        number = (
            ir.IntegerAttr(attributes["workgroup_attributions"]).value
            if "workgroup_attributions" in attributes
            else 0
        )
        attributes["workgroup_attributions"] = ir.IntegerAttr.get(scalar_type("i64"), number + 1)
        return Memory(value, dtype, dims)

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory taken so far."""
        return self._shared_bytes

    def barrier(self) -> None:
        """Wait for all threads of the block; their writes to shared memory are visible afterwards."""
        self.builder.effect("gpu.barrier", [])


def _buffer_type(dtype: str) -> ir.Type:
    dynamic = ir.ShapedType.get_dynamic_size()
    return ir.MemRefType.get([dynamic], storage_type(dtype), memory_space=_memory_space("global"))


def _function(module: ir.Block, name: str, inputs: list[ir.Type], threads: int) -> ir.Operation:
    type_ = ir.FunctionType.get(inputs, [])
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(type_),
        "gpu.kernel": ir.UnitAttr.get(),
        "known_block_size": ir.DenseI32ArrayAttr.get([threads, 1, 1]),
    }
    with ir.InsertionPoint(module):
        function = ir.Operation.create("gpu.func", [], [], attributes=attributes, regions=1)
    function.regions[0].blocks.append(*inputs)
    return function
