"""The exact remainder of floats, with the divisor's sign (torch.remainder), in integer arithmetic.

Targets divide with rounding, or round `x - trunc(x / y) * y`: neither is exact for large quotients. Here the
significands are reduced bit by bit, as a C library's fmod does.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.mlir import ir
from ...dialects.types import dtype_of, scalar_type
from .builder import Builder


@dataclass(frozen=True)
class _Format:
    bits: str
    fraction: int
    """Bits of the fraction field."""
    bias: int


_FORMATS = {"f32": _Format("i32", 23, 127), "f64": _Format("i64", 52, 1023)}


def float_remainder(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    """`x mod y` on f32 or f64: NaN for NaN operands, infinite x and y = 0; `x mod inf` is x or y, by sign."""
    format_ = _FORMATS[dtype_of(x.type)]
    rest = _truncated_remainder(b, x, y, format_)
    zero = b.constant(0.0, x.type)
    differ = b.op("arith.xori", [b.compare("olt", rest, zero), b.compare("olt", y, zero)])
    wrong = b.op("arith.andi", [differ, b.compare("une", rest, zero)])
    return b.select(wrong, b.op("arith.addf", [rest, y]), rest)


def _truncated_remainder(b: Builder, x: ir.Value, y: ir.Value, format_: _Format) -> ir.Value:
    """C's fmod."""
    bits = scalar_type(format_.bits)
    sign_mask = b.constant(-(1 << (format_.fraction + 8 if format_.bits == "i32" else 63)), bits)
    x_bits, y_bits = b.op("arith.bitcast", [x], bits), b.op("arith.bitcast", [y], bits)
    magnitude_mask = b.op("arith.xori", [sign_mask, b.constant(-1, bits)])
    x_abs, y_abs = b.op("arith.andi", [x_bits, magnitude_mask]), b.op("arith.andi", [y_bits, magnitude_mask])
    rest = _reduce(b, x_abs, y_abs, format_)
    signed = b.op("arith.ori", [rest, b.op("arith.andi", [x_bits, sign_mask])])
    value = b.op("arith.bitcast", [signed], x.type)
    infinity = b.constant(((1 << (format_.bias.bit_length() + 1)) - 1) << format_.fraction, bits)
    finite = b.select(b.compare("slt", x_abs, y_abs), x, value)
    bad = b.op("arith.ori", [b.compare("sge", x_abs, infinity), b.compare("eq", y_abs, b.constant(0, bits))])
    bad = b.op("arith.ori", [bad, b.compare("sgt", y_abs, infinity)])
    return b.select(bad, b.constant(float("nan"), x.type), finite)


def _reduce(b: Builder, x: ir.Value, y: ir.Value, format_: _Format) -> ir.Value:
    """Bits of the remainder of two magnitudes (as bits), both finite and y not 0; anything otherwise."""
    bits, index = x.type, ir.IndexType.get()
    one = b.constant(1, bits)
    x_exponent, x_significand = _unpack(b, x, format_)
    y_exponent, y_significand = _unpack(b, y, format_)
    y_significand = b.op("arith.maxsi", [y_significand, one])
    steps = b.op("arith.maxsi", [b.op("arith.subi", [x_exponent, y_exponent]), b.constant(0, bits)])

    def halve(_: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        doubled = b.op("arith.addi", [carried[0], carried[0]])
        less = b.op("arith.subi", [doubled, y_significand])
        return [b.select(b.compare("sge", doubled, y_significand), less, doubled)]

    start = b.op("arith.remui", [x_significand, y_significand])
    rest = b.loop(b.index(0), b.op("arith.index_cast", [steps], index), b.index(1), [start], halve)[0]
    return _pack(b, rest, y_exponent, format_)


def _unpack(b: Builder, magnitude: ir.Value, format_: _Format) -> tuple[ir.Value, ir.Value]:
    """(exponent, significand): the value is significand * 2^exponent up to a constant factor."""
    bits = magnitude.type
    exponent = b.op("arith.shrui", [magnitude, b.constant(format_.fraction, bits)])
    fraction = b.op("arith.andi", [magnitude, b.constant((1 << format_.fraction) - 1, bits)])
    normal = b.compare("ne", exponent, b.constant(0, bits))
    hidden = b.op("arith.ori", [fraction, b.constant(1 << format_.fraction, bits)])
    return b.op("arith.maxsi", [exponent, b.constant(1, bits)]), b.select(normal, hidden, fraction)


def _pack(b: Builder, significand: ir.Value, exponent: ir.Value, format_: _Format) -> ir.Value:
    """Bits of significand * 2^exponent, which is representable."""
    bits = significand.type
    float_type = scalar_type("f32" if format_.bits == "i32" else "f64")
    offset = b.op("arith.subi", [exponent, b.constant(format_.bias + format_.fraction, bits)])
    as_float = b.op("arith.bitcast", [b.op("arith.uitofp", [significand], float_type)], bits)
    shift = b.constant(format_.fraction, bits)
    moved = b.op("arith.addi", [as_float, b.op("arith.shli", [offset, shift])])
    new_exponent = b.op("arith.addi", [b.op("arith.shrui", [as_float, shift]), offset])
    left = b.op("arith.minsi", [b.op("arith.subi", [exponent, b.constant(1, bits)]), shift])
    subnormal = b.op("arith.shli", [significand, left])
    packed = b.select(b.compare("sge", new_exponent, b.constant(1, bits)), moved, subnormal)
    return b.select(b.compare("eq", significand, b.constant(0, bits)), b.constant(0, bits), packed)
