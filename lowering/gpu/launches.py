"""The launches of a program, kept as attributes of the `gpu.module` so that printed IR says everything.

`luminal.buffers` lists the types of all buffers (the program's arguments come first), `luminal.launches`
the kernels in order with the numbers of the buffers that they get, the number of blocks (an affine map of
the symbols) and the threads per block. Every kernel takes all symbols after its buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from luminal.errors import LoweringError

from ...dialects.mlir import ir
from ...dialects.symbolic import Expr, IndexMap, symbols_in_scope
from ...dialects.types import SymbolInfo, dims_of, dtype_of, scalar_type, set_symbols, symbols_of


@dataclass(frozen=True)
class Grid:
    """`blocks` (of symbols) blocks of `threads` threads, both one-dimensional."""

    blocks: Expr
    threads: int


@dataclass(frozen=True)
class Launch:
    """Run `kernel` on the buffers with these numbers."""

    kernel: str
    buffers: tuple[int, ...]
    grid: Grid


@dataclass(frozen=True)
class Buffer:
    """A dense row-major array in device memory."""

    dtype: str
    dims: tuple[Expr, ...]


@dataclass(frozen=True)
class GpuProgram:
    """What a runtime needs beside the kernels. Each launch runs after the one before has finished."""

    symbols: tuple[SymbolInfo, ...]
    arguments: int
    buffers: tuple[Buffer, ...]
    launches: tuple[Launch, ...]
    results: tuple[int, ...]


def gpu_module_of(module: ir.Module | ir.Operation) -> ir.Operation:
    """The `gpu.module` of a lowered module. LoweringError if there is none."""
    root = module.operation if isinstance(module, ir.Module) else module
    for op in root.regions[0].blocks[0].operations:
        if op.operation.name == "gpu.module":
            return op.operation
    raise LoweringError("the module has no gpu.module: run lower-to-gpu first")


def write_program(
    module: ir.Operation,
    symbols: Sequence[SymbolInfo],
    arguments: int,
    types: Sequence[ir.Type],
    launches: Sequence[Launch],
    results: Sequence[int],
) -> None:
    """Attach the program to a `gpu.module`. `types` are the tensor types of the buffers."""
    i64 = scalar_type("i64")
    set_symbols(module, symbols)
    module.attributes["luminal.arguments"] = ir.IntegerAttr.get(i64, arguments)
    module.attributes["luminal.buffers"] = ir.ArrayAttr.get([ir.TypeAttr.get(type_) for type_ in types])
    module.attributes["luminal.results"] = ir.DenseI64ArrayAttr.get(list(results))
    entries = [
        ir.DictAttr.get(
            {
                "kernel": ir.FlatSymbolRefAttr.get(launch.kernel),
                "buffers": ir.DenseI64ArrayAttr.get(list(launch.buffers)),
                "blocks": IndexMap.of((), [launch.grid.blocks]).to_attr(),
                "threads": ir.IntegerAttr.get(i64, launch.grid.threads),
            }
        )
        for launch in launches
    ]
    module.attributes["luminal.launches"] = ir.ArrayAttr.get(entries)


def read_program(module: ir.Module | ir.Operation) -> GpuProgram:
    """The program of a lowered module. LoweringError if it has none."""
    gpu_module = gpu_module_of(module)
    attributes = gpu_module.attributes
    if "luminal.launches" not in attributes:
        raise LoweringError("the gpu.module has no 'luminal.launches': it was not made by lower-to-gpu")
    symbols = tuple(symbols_of(gpu_module))
    with gpu_module.context, symbols_in_scope([symbol.sym for symbol in symbols]):
        types = [ir.TypeAttr(attribute).value for attribute in attributes["luminal.buffers"]]
        return GpuProgram(
            symbols,
            ir.IntegerAttr(attributes["luminal.arguments"]).value,
            tuple(Buffer(dtype_of(type_), dims_of(type_)) for type_ in types),
            tuple(_read_launch(ir.DictAttr(entry)) for entry in attributes["luminal.launches"]),
            tuple(ir.DenseI64ArrayAttr(attributes["luminal.results"])),
        )


def _read_launch(entry: ir.DictAttr) -> Launch:
    (blocks,) = IndexMap.from_attr(entry["blocks"], ()).results
    return Launch(
        ir.FlatSymbolRefAttr(entry["kernel"]).value,
        tuple(ir.DenseI64ArrayAttr(entry["buffers"])),
        Grid(blocks, ir.IntegerAttr(entry["threads"]).value),
    )
