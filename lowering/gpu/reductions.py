"""Reductions: how values combine, and how the threads of a block combine theirs."""

from __future__ import annotations

from collections.abc import Callable

from ...dialects.mlir import ir
from ...dialects.types import dtype_of, scalar_type
from .builder import Builder
from .function import KernelFunction, Memory
from .options import WARP
from .scalars import compute_type, emit_scalar

_COMBINE = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}
_FLOAT_IDENTITY = {"sum": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}
_BOOL_IDENTITY = {"sum": 0, "prod": 1, "max": 0, "min": 1}


class Reduction:
    """A reduction of `kind` over values of `dtype`; half types accumulate in f32."""

    def __init__(self, kind: str, dtype: str) -> None:
        self.kind, self.dtype = kind, dtype
        self.accumulator = compute_type(dtype)

    def identity(self, b: Builder) -> ir.Value:
        """The value of an empty reduction."""
        if self.accumulator.startswith("f"):
            return b.constant(_FLOAT_IDENTITY[self.kind], self.accumulator)
        if self.accumulator == "i1":
            return b.constant(_BOOL_IDENTITY[self.kind], "i1")
        greatest = (1 << (int(self.accumulator[1:]) - 1)) - 1
        value = {"sum": 0, "prod": 1, "max": -greatest - 1, "min": greatest}[self.kind]
        return b.constant(value, self.accumulator)

    def combine(self, b: Builder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        """Two partial results as one."""
        value = emit_scalar(b, _COMBINE[self.kind], [lhs, rhs], lhs.type)
        assert value is not None, "the verifier allows no other dtypes"
        return value

    def across_block(self, kernel: KernelFunction, value: ir.Value) -> ir.Value:
        """The combination of the values of all threads of the block, in every thread.

        Each warp combines by shuffles, its first lane leaves the result in shared memory, and after a
        barrier every warp combines what the warps left.
        """
        b = kernel.builder
        warps = kernel.threads // WARP
        value = self._across_warp(b, value, WARP)
        if warps == 1:
            return value
        partial = kernel.shared(self.accumulator, warps)
        lane = b.op("arith.remui", [kernel.thread, b.index(WARP)])
        warp = b.op("arith.divui", [kernel.thread, b.index(WARP)])
        b.when(b.compare("eq", lane, b.index(0)), lambda: partial.store(b, value, warp))
        kernel.barrier()
        return self._across_warp(b, self._partial(b, partial, lane, warps), WARP)

    def _partial(self, b: Builder, partial: Memory, lane: ir.Value, warps: int) -> ir.Value:
        """The result of warp number `lane`, or the identity where there is none."""
        return b.choose(
            None if warps == WARP else b.compare("slt", lane, b.index(warps)),
            lambda: partial.load(b, lane),
            lambda: self.identity(b),
            scalar_type(self.accumulator),
        )

    def _across_warp(self, b: Builder, value: ir.Value, width: int) -> ir.Value:
        distance = width // 2
        while distance:
            value = self.combine(b, value, shuffle_xor(b, value, distance))
            distance //= 2
        return value


def shuffle_xor(b: Builder, value: ir.Value, distance: int) -> ir.Value:
    """The value of the lane whose number differs in the bit `distance`; targets shuffle 32 bits at a time."""
    i32, i64 = scalar_type("i32"), scalar_type("i64")
    exchange: dict[str, Callable[[], ir.Value]] = {
        "f32": lambda: _shuffle_word(b, value, distance),
        "i32": lambda: _shuffle_word(b, value, distance),
        "i1": lambda: b.op(
            "arith.trunci", [_shuffle_word(b, b.op("arith.extui", [value], i32), distance)], value.type
        ),
        "f64": lambda: b.op(
            "arith.bitcast", [_shuffle_long(b, b.op("arith.bitcast", [value], i64), distance)], value.type
        ),
        "i64": lambda: _shuffle_long(b, value, distance),
    }
    return exchange[dtype_of(value.type)]()


def _shuffle_word(b: Builder, value: ir.Value, distance: int) -> ir.Value:
    operands = [value, b.constant(distance, "i32"), b.constant(WARP, "i32")]
    attributes = {"mode": ir.Attribute.parse("#gpu<shuffle_mode xor>")}
    types = [value.type, scalar_type("i1")]
    return ir.Operation.create("gpu.shuffle", types, operands, attributes=attributes).results[0]


def _shuffle_long(b: Builder, value: ir.Value, distance: int) -> ir.Value:
    i32, shift = scalar_type("i32"), b.constant(32, value.type)
    low = _shuffle_word(b, b.op("arith.trunci", [value], i32), distance)
    high = _shuffle_word(b, b.op("arith.trunci", [b.op("arith.shrui", [value, shift])], i32), distance)
    upper = b.op("arith.shli", [b.op("arith.extui", [high], value.type), shift])
    return b.op("arith.ori", [upper, b.op("arith.extui", [low], value.type)])
