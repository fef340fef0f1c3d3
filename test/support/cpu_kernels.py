"""Builds single contractions, runs them as CPU kernels, and computes them with NumPy in float64 for
comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from luminal.dialects import kernel
from luminal.dialects.mlir import context, func, ir
from luminal.dialects.symbol_list import SymbolInfo, set_symbols
from luminal.dialects.symbolic import DimVar, Expr, IndexMap, as_expr, dim_vars, symbols_in_scope
from luminal.dialects.types import tensor_type
from luminal.lowering.cpu import CompiledKernel, CpuOptions, compile_module
from luminal.runtime.native.jit import load_objects
from luminal.runtime.native.team import LAUNCH, Team, aligned_bytes

Coordinates = Callable[..., Sequence[Expr | int]]
BodyBuilder = Callable[[list[ir.Value], list[ir.Value], ir.Value], ir.Value]

_NUMPY = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "bf16": np.uint16,
}


def to_dtype(values: np.ndarray, dtype: str) -> np.ndarray:
    """`values` rounded to a dtype, in its memory form (bf16 as uint16 bits)."""
    if dtype != "bf16":
        return values.astype(_NUMPY[dtype])
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def to_float64(values: np.ndarray, dtype: str) -> np.ndarray:
    """Memory form to float64 (int64 stays)."""
    if dtype == "bf16":
        return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return values if dtype.startswith("i") else values.astype(np.float64)


def aligned(values: np.ndarray, offset: int = 0) -> np.ndarray:
    """A copy at an address that is a multiple of 64 plus `offset` bytes."""
    block = aligned_bytes(values.nbytes + offset)[offset:]
    copy = block.view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


@dataclass
class Contraction:
    """A contraction: extents by kind, and maps as functions of all coordinates (batch, m, n, k in order).

    `shapes`: of lhs, rhs, and extras in elements; an extent may be a symbol. `body` builds the epilogue,
    `after`
    computes it: after(extras as float64, accumulator, coordinates of the output grid).
    """

    batch: Sequence[Expr | int]
    rows: Sequence[Expr | int]
    columns: Sequence[Expr | int]
    depth: Sequence[Expr | int]
    lhs: Coordinates
    rhs: Coordinates | None
    out: Coordinates
    shapes: Sequence[Sequence[Expr | int]]
    dtype: str = "f32"
    out_dtype: str | None = None
    packed: int | None = None
    body: BodyBuilder = lambda tensors, indices, accumulator: accumulator
    after: Callable[[list[np.ndarray], np.ndarray, list[np.ndarray]], np.ndarray] = (
        lambda extras, sums, grid: sums
    )
    symbols: Sequence[SymbolInfo] = ()
    schedule: kernel.ContractSchedule | None = None
    library: str | None = None
    extents: list[Expr] = field(init=False)

    def __post_init__(self) -> None:
        self.extents = [as_expr(e) for e in (*self.batch, *self.rows, *self.columns, *self.depth)]

    def maps(self) -> tuple[IndexMap, IndexMap | None, IndexMap]:
        """The maps of lhs, rhs (None if packed) and out."""
        dims = dim_vars(self.extents)
        rhs = (
            None
            if self.packed is not None or self.rhs is None
            else IndexMap.of(self.extents, self.rhs(*dims))
        )
        return IndexMap.of(self.extents, self.lhs(*dims)), rhs, IndexMap.of(self.extents, self.out(*dims))

    def build(self) -> ir.Module:
        """A module whose @main holds the op; needs a current context."""
        with symbols_in_scope([symbol.sym for symbol in self.symbols]):
            return self._build()

    def _build(self) -> ir.Module:
        lhs_map, rhs_map, out_map = self.maps()
        sizes = (len(self.batch), len(self.rows), len(self.columns), len(self.depth))
        out_dtype = self.out_dtype or kernel.accumulator_dtype(self.dtype)
        types = [tensor_type([as_expr(d) for d in shape], self.dtype) for shape in self.shapes]
        if self.packed is not None:
            n = self.extents[sizes[0] + sizes[1] : sizes[0] + sizes[1] + sizes[2]]
            types[1] = tensor_type(
                kernel.packed_shape(self.extents[: sizes[0]], n, self.extents[-sizes[3] :], self.packed),
                self.dtype,
            )
        dims = dim_vars(self.extents)
        shape = [dims[dims.index(result)].extent for result in out_map.results]
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", (types, [tensor_type(shape, out_dtype)]))
            set_symbols(function, self.symbols)
            with ir.InsertionPoint(function.add_entry_block()):
                lhs, rhs, *extras = function.arguments
                result = kernel.contract(
                    lhs,
                    rhs,
                    extras,
                    self.extents,
                    sizes,
                    lhs_map,
                    rhs_map,
                    out_map,
                    out_dtype,
                    self.body,
                    self.packed,
                    self.schedule,
                    self.library,
                )
                func.ReturnOp([result])
        return module

    def values(self, sizes: Sequence[int]) -> dict[Expr, int]:
        """Symbol values as an assignment."""
        return {symbol.sym: size for symbol, size in zip(self.symbols, sizes, strict=True)}

    def inputs(self, sizes: Sequence[int] = (), seed: int = 0) -> list[np.ndarray]:
        """Random operands in memory form, unpacked."""
        random = np.random.default_rng(seed)
        arrays: list[np.ndarray] = []
        for shape in self.shapes:
            dims = [as_expr(d).evaluate(self.values(sizes)) for d in shape]
            if self.dtype.startswith("i"):
                arrays.append(random.integers(-(2**30), 2**30, dims).astype(_NUMPY[self.dtype]))
            else:
                arrays.append(to_dtype(random.standard_normal(dims), self.dtype))
        return arrays

    def reference(self, arrays: Sequence[np.ndarray], sizes: Sequence[int] = ()) -> np.ndarray:
        """The result in float64 (integers wrapped), by evaluating the maps on the whole grid."""
        values = self.values(sizes)
        extents = [extent.evaluate(values) for extent in self.extents]
        grid = np.meshgrid(*[np.arange(extent) for extent in extents], indexing="ij", sparse=True)
        dims = dim_vars(self.extents)
        assert self.rhs is not None
        operands = [
            _read(to_float64(array, self.dtype), coordinates(*dims), dims, grid, values)
            for array, coordinates in zip(arrays[:2], (self.lhs, self.rhs), strict=True)
        ]
        inner = tuple(range(len(extents) - len(self.depth), len(extents)))
        outer = extents[: len(extents) - len(self.depth)]
        with np.errstate(over="ignore"):
            product = np.broadcast_to(operands[0] * operands[1], extents)
            sums = product.sum(axis=inner, dtype=product.dtype)
        extras = [to_float64(array, self.dtype) for array in arrays[2:]]
        result = self.after(extras, sums, np.meshgrid(*[np.arange(e) for e in outer], indexing="ij"))
        order = [dims.index(as_expr(coordinate)) for coordinate in self.out(*dims)]
        return np.transpose(result, order)


def _read(
    array: np.ndarray,
    coordinates: Sequence[Expr | int],
    dims: Sequence[DimVar],
    grid: Sequence[np.ndarray],
    values: dict[Expr, int],
) -> np.ndarray:
    assignment = {**values, **dict(zip(dims, grid, strict=True))}
    return array[tuple(as_expr(c).evaluate(assignment) + 0 * sum(grid[:0], 0) for c in coordinates)]


def pack_panels(columns: np.ndarray, width: int) -> np.ndarray:
    """(*b, N, K) to panels (*b, ceil(N / width), K, width), zero padded."""
    *batch, count, depth = columns.shape
    panels = -(-count // width)
    padded = np.zeros((*batch, panels * width, depth), columns.dtype)
    padded[..., :count, :] = columns
    return np.ascontiguousarray(np.swapaxes(padded.reshape(*batch, panels, width, depth), -1, -2))


def compile_contraction(contraction: Contraction, cache: bool = False) -> tuple[CompiledKernel, int]:
    """The compiled kernel and its address."""
    with context(), ir.Location.unknown():
        module = contraction.build()
        module.operation.verify()
        function = module.body.operations[0]
        operations = [
            op for op in function.regions[0].blocks[0].operations if op.operation.name == "kernel.contract"
        ]
        compiled = compile_module(operations, CpuOptions(cache=cache))
    kernel_ = compiled.kernels[0]
    return kernel_, load_objects(compiled.objects)[kernel_.symbol]


def run_kernel(
    compiled: tuple[CompiledKernel, int],
    arrays: Sequence[np.ndarray],
    out: np.ndarray,
    symbols: Sequence[int] = (),
    threads: int = 2,
    scratch_values: dict[Expr, int] | None = None,
) -> None:
    """Runs a kernel once on a team of its own."""
    kernel_, address = compiled
    pointers = np.array([array.ctypes.data for array in (*arrays, out)], np.uint64)
    syms = np.array([*symbols, 0], np.int64)
    table = np.zeros(1, LAUNCH)
    table[0] = (address, pointers.ctypes.data, syms.ctypes.data, 0)
    team = Team(threads)
    team.run(table, scratch=kernel_.scratch.evaluate(scratch_values or {}))
    team.close()
