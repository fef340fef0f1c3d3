"""`kernel.cast` in `arith` ops: any dtype to any other."""

from __future__ import annotations

from ...dialects.mlir import ir
from ...dialects.types import FLOATS, HALVES, dtype_of, scalar_type
from .builder import Builder
from .scalars import narrow, widen

_WIDTH = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "i64": 64, "i32": 32, "i1": 1}


def emit_cast(b: Builder, value: ir.Value, target: str) -> ir.Value:
    """`value` as dtype `target`: float to int truncates (INT_MIN if out of range), to bool is x != 0."""
    source = dtype_of(value.type)
    if source == target:
        return value
    if source in FLOATS:
        if target in FLOATS:
            return _float_to_float(b, value, source, target)
        return _float_to_int(b, widen(b, value), target)
    if target in FLOATS:
        wide = scalar_type("f32" if target in HALVES else target)
        return narrow(b, b.op("arith.uitofp" if source == "i1" else "arith.sitofp", [value], wide), target)
    if target == "i1":
        return b.compare("ne", value, b.constant(0, value.type))
    if _WIDTH[source] > _WIDTH[target]:
        return b.op("arith.trunci", [value], scalar_type(target))
    return b.op("arith.extui" if source == "i1" else "arith.extsi", [value], scalar_type(target))


def _float_to_float(b: Builder, value: ir.Value, source: str, target: str) -> ir.Value:
    if _WIDTH[source] == _WIDTH[target]:
        return narrow(b, widen(b, value), target)
    if _WIDTH[source] < _WIDTH[target]:
        return b.op("arith.extf", [value], scalar_type(target))
    if source == "f64" and target in HALVES:
        value = _round_to_odd(b, value)
    return b.op("arith.truncf", [value], scalar_type(target))


def _round_to_odd(b: Builder, value: ir.Value) -> ir.Value:
    """f64 to f32 such that rounding the result to a half type rounds as if once.

    The f32 below in magnitude, with the last bit set if anything was cut off.
    """
    i32 = scalar_type("i32")
    near = b.op("arith.truncf", [value], scalar_type("f32"))
    back = b.op("arith.extf", [near], value.type)
    inexact = b.compare("une", back, value)
    too_large = b.compare("ogt", b.op("math.absf", [back]), b.op("math.absf", [value]))
    bits = b.op("arith.bitcast", [near], i32)
    below = b.select(too_large, b.op("arith.subi", [bits, b.constant(1, i32)]), bits)
    odd = b.op("arith.ori", [below, b.constant(1, i32)])
    special = b.compare("uno", value, value)
    return b.op("arith.bitcast", [b.select(special, bits, b.select(inexact, odd, below))], near.type)


def _float_to_int(b: Builder, value: ir.Value, target: str) -> ir.Value:
    if target == "i1":
        return b.compare("une", value, b.constant(0.0, value.type))
    type_ = scalar_type(target)
    limit = float(1 << (_WIDTH[target] - 1))
    # Truncation brings anything above -2^31 - 1 into range, which f32 cannot tell from -2^31.
    low = -limit - 1.0 if target == "i32" and dtype_of(value.type) == "f64" else -limit
    above = b.compare("ogt" if low < -limit else "oge", value, b.constant(low, value.type))
    inside = b.op("arith.andi", [above, b.compare("olt", value, b.constant(limit, value.type))])
    converted = b.op("arith.fptosi", [b.select(inside, value, b.constant(0.0, value.type))], type_)
    return b.select(inside, converted, b.constant(-(1 << (_WIDTH[target] - 1)), type_))
