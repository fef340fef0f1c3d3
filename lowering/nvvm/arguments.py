"""Argument reduction of sine and cosine: x = q pi/2 + r with |r| <= pi/4, for every finite f32.

Moderate arguments use f64 arithmetic; large ones multiply x by as many bits of 1/(2 pi) as matter (Payne
and Hanek).
"""

from __future__ import annotations

import math

from ...dialects.mlir import ir
from ...dialects.types import scalar_type
from ..gpu.builder import Builder

_LIMIT = 2.0**20
_ROUNDING = 1.5 * 2.0**52
_HALF_PI = (1.57079632679489655800, 6.12323399573676603587e-17)
# 224 bits of 1/(2 pi) after the binary point, 32 a word.
_TURN = (0x28BE60DB, 0x9391054A, 0x7F09D5F4, 0x7D4D3770, 0x36D8A566, 0x4F10E410, 0x7F9458EA)
_WORD = (1 << 32) - 1


def reduce_to_quadrant(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """(r as f32, q as i32 modulo 4) of an f32; r is NaN for infinities and NaN."""
    i32, i64 = scalar_type("i32"), scalar_type("i64")
    bits = b.op("arith.bitcast", [x], i32)
    size = b.op("arith.bitcast", [b.op("arith.andi", [bits, b.constant(0x7FFFFFFF, i32)])], x.type)
    # r's bits and q travel through the branch in one integer.
    packed = b.choose(
        b.compare("olt", size, b.constant(_LIMIT, x.type)),
        lambda: _pack(b, *_moderate(b, x)),
        lambda: _pack(b, *_large(b, x, bits)),
        i64,
    )
    rest = b.op("arith.bitcast", [b.op("arith.trunci", [packed], i32)], x.type)
    quadrant = b.op("arith.trunci", [b.op("arith.shrui", [packed, b.constant(32, i64)])], i32)
    finite = b.compare("olt", size, b.constant(math.inf, x.type))
    return b.select(finite, rest, b.constant(math.nan, x.type)), quadrant


def _pack(b: Builder, rest: ir.Value, quadrant: ir.Value) -> ir.Value:
    i32, i64 = scalar_type("i32"), scalar_type("i64")
    low = b.op("arith.extui", [b.op("arith.bitcast", [rest], i32)], i64)
    high = b.op("arith.shli", [b.op("arith.extui", [quadrant], i64), b.constant(32, i64)])
    return b.op("arith.ori", [high, low])


def _moderate(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    f64, i64, i32 = scalar_type("f64"), scalar_type("i64"), scalar_type("i32")
    wide = b.op("arith.extf", [x], f64)
    turns = b.op("arith.mulf", [wide, b.constant(2.0 / math.pi, f64)])
    shifted = b.op("arith.addf", [turns, b.constant(_ROUNDING, f64)])
    quarter = b.op("arith.subf", [shifted, b.constant(_ROUNDING, f64)])
    # quarter has at most 20 bits: its product with the first 33 bits of pi/2 is exact.
    head = math.ldexp(math.floor(math.ldexp(_HALF_PI[0], 32)), -32)
    rest = b.op("arith.subf", [wide, b.op("arith.mulf", [quarter, b.constant(head, f64)])])
    tail = (_HALF_PI[0] - head) + _HALF_PI[1]
    rest = b.op("arith.subf", [rest, b.op("arith.mulf", [quarter, b.constant(tail, f64)])])
    quadrant = b.op("arith.trunci", [b.op("arith.bitcast", [shifted], i64)], i32)
    return b.op("arith.truncf", [rest], x.type), quadrant


def _large(b: Builder, x: ir.Value, bits: ir.Value) -> tuple[ir.Value, ir.Value]:
    """x / (2 pi) modulo 1 as a 64-bit fraction, from the significand times 96 bits of 1/(2 pi)."""
    i64, i32, f64 = scalar_type("i64"), scalar_type("i32"), scalar_type("f64")
    fraction = b.op(
        "arith.ori", [b.op("arith.andi", [bits, b.constant(0x7FFFFF, i32)]), b.constant(0x800000, i32)]
    )
    significand = b.op("arith.extui", [b.op("arith.shli", [fraction, b.constant(8, i32)])], i64)
    exponent = b.op("arith.andi", [b.op("arith.shrui", [bits, b.constant(23, i32)]), b.constant(255, i32)])
    skipped = b.op("arith.subi", [exponent, b.constant(126, i32)])
    word = b.op("arith.shrsi", [skipped, b.constant(5, i32)])
    shift = b.op("arith.extui", [b.op("arith.andi", [skipped, b.constant(31, i32)])], i64)
    high, middle, low = (_shifted_word(b, word, offset, shift) for offset in (-1, 0, 1))
    thirty_two = b.constant(32, i64)
    product = b.op("arith.shrui", [b.op("arith.muli", [significand, low]), thirty_two])
    product = b.op("arith.addi", [b.op("arith.muli", [significand, middle]), product])
    product = b.op(
        "arith.addi", [b.op("arith.shli", [b.op("arith.muli", [significand, high]), thirty_two]), product]
    )
    # The top two bits, rounded, count quarter turns; what is left over, as a signed number, is r.
    rounded = b.op("arith.addi", [product, b.constant(1 << 61, i64)])
    quadrant = b.op("arith.shrui", [rounded, b.constant(62, i64)])
    rest = b.op("arith.subi", [product, b.op("arith.shli", [quadrant, b.constant(62, i64)])])
    angle = b.op("arith.mulf", [b.op("arith.sitofp", [rest], f64), b.constant(math.pi * 2.0**-63, f64)])
    value = b.op("arith.truncf", [angle], x.type)
    turns = b.op("arith.trunci", [quadrant], i32)
    negative = b.compare("slt", bits, b.constant(0, i32))
    opposite = b.op("arith.subi", [b.constant(0, i32), turns])
    return b.select(negative, b.op("arith.negf", [value]), value), b.select(negative, opposite, turns)


def _shifted_word(b: Builder, word: ir.Value, offset: int, shift: ir.Value) -> ir.Value:
    """The 32 bits of 1/(2 pi) that begin `shift` bits into word number `word + offset`."""
    i64 = shift.type
    pair = b.constant(0, i64)
    # Finite arguments above the limit have word 0 to 4.
    for number in range(5):
        first, second = number + offset, number + offset + 1
        bits = (_TURN[first] if first >= 0 else 0) << 32 | _TURN[second]
        chosen = b.compare("eq", word, b.constant(number, word.type))
        pair = b.select(chosen, b.constant(bits - (1 << 64) if bits >> 63 else bits, i64), pair)
    moved = b.op("arith.shrui", [b.op("arith.shli", [pair, shift]), b.constant(32, i64)])
    return b.op("arith.andi", [moved, b.constant(_WORD, i64)])
