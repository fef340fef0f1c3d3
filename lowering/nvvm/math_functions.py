"""Elementary functions for NVIDIA GPUs, without a device library: one table from `math` op and dtype to code.

f32 results are within 1e-6 relative of the exact ones (NaN and infinities as in C's libm); f64 has the
exponentials and logarithms, to about 1e-15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ...dialects.mlir import ir
from ...dialects.types import dtype_of, scalar_type
from ..gpu.builder import Builder
from .arguments import reduce_to_quadrant

Function = Callable[..., ir.Value]

LN2 = math.log(2.0)
LOG2E = 1.0 / LN2


def intrinsic(b: Builder, name: str, *operands: ir.Value) -> ir.Value:
    """A call of the LLVM intrinsic `llvm.<name>.<type>`, which NVPTX has an instruction for."""
    suffix = {"f32": "f32", "f64": "f64"}[dtype_of(operands[0].type)]
    attributes = {
        "intrin": ir.StringAttr.get(f"llvm.{name}.{suffix}"),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
    }
    return b.op("llvm.call_intrinsic", operands, operands[0].type, attributes)


def fma(b: Builder, x: ir.Value, y: ir.Value, z: ir.Value | float) -> ir.Value:
    """x * y + z with one rounding."""
    return intrinsic(b, "fma", x, y, z if isinstance(z, ir.Value) else b.constant(z, x.type))


def multiply(b: Builder, x: ir.Value, y: ir.Value | float) -> ir.Value:
    """x * y."""
    return b.op("arith.mulf", [x, y if isinstance(y, ir.Value) else b.constant(y, x.type)])


def polynomial(b: Builder, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """The polynomial with these coefficients, the constant one first (Horner's scheme)."""
    total = b.constant(coefficients[-1], x.type)
    for coefficient in reversed(coefficients[:-1]):
        total = fma(b, total, x, coefficient)
    return total


def clamp(b: Builder, x: ir.Value, limit: float) -> ir.Value:
    """x brought into [-limit, limit]; NaN stays."""
    high, low = b.constant(limit, x.type), b.constant(-limit, x.type)
    x = b.select(b.compare("ogt", x, high), high, x)
    return b.select(b.compare("olt", x, low), low, x)


# -- exponentials --------------------


def _exp2_f32(b: Builder, x: ir.Value) -> ir.Value:
    return intrinsic(b, "nvvm.ex2.approx", x)


def _exp_f32(b: Builder, x: ir.Value) -> ir.Value:
    """2^(x log2 e), with what the product loses put back."""
    high = 1.44269502162933349609375
    x = clamp(b, x, 200.0)
    product = multiply(b, x, high)
    lost = fma(b, x, b.constant(high, x.type), b.op("arith.negf", [product]))
    lost = fma(b, x, b.constant(LOG2E - high, x.type), lost)
    return multiply(b, _exp2_f32(b, product), fma(b, lost, b.constant(LN2, x.type), 1.0))


_ROUNDING = 1.5 * 2.0**52
"""Added to a double below 2^51 it rounds it to an integer, which stands in the low bits."""


def _round(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """A small f64 rounded to an integer: as f64 and as i64."""
    shifted = b.op("arith.addf", [x, b.constant(_ROUNDING, x.type)])
    rounded = b.op("arith.subf", [shifted, b.constant(_ROUNDING, x.type)])
    bits = b.op("arith.bitcast", [shifted], scalar_type("i64"))
    low = b.op("arith.shli", [bits, b.constant(32, bits.type)])
    return rounded, b.op("arith.shrsi", [low, b.constant(32, bits.type)])


def _scale(b: Builder, x: ir.Value, exponent: ir.Value) -> ir.Value:
    """x * 2^exponent for |exponent| < 2000, in two steps so that each factor is a normal number."""
    i64 = exponent.type

    def power(value: ir.Value) -> ir.Value:
        biased = b.op("arith.addi", [value, b.constant(1023, i64)])
        return b.op("arith.bitcast", [b.op("arith.shli", [biased, b.constant(52, i64)])], x.type)

    half = b.op("arith.shrsi", [exponent, b.constant(1, i64)])
    rest = b.op("arith.subi", [exponent, half])
    return multiply(b, multiply(b, x, power(half)), power(rest))


_TAYLOR_EXP = [1.0 / math.factorial(n) for n in range(14)]


def _exp2_f64(b: Builder, x: ir.Value) -> ir.Value:
    x = clamp(b, x, 1200.0)
    rounded, exponent = _round(b, x)
    rest = multiply(b, b.op("arith.subf", [x, rounded]), LN2)
    return _scale(b, polynomial(b, rest, _TAYLOR_EXP), exponent)


def _exp_f64(b: Builder, x: ir.Value) -> ir.Value:
    x = clamp(b, x, 800.0)
    rounded, exponent = _round(b, multiply(b, x, LOG2E))
    negative = b.op("arith.negf", [rounded])
    rest = fma(b, negative, b.constant(0.693147180369123816490, x.type), x)
    rest = fma(b, negative, b.constant(1.90821492927058770002e-10, x.type), rest)
    return _scale(b, polynomial(b, rest, _TAYLOR_EXP), exponent)


# -- logarithms --------------------


def _logarithm(b: Builder, x: ir.Value, unit: float) -> ir.Value:
    """log(x) * unit for unit 1 or log2 e: x = 2^e m with m near 1, log m = 2 atanh((m - 1) / (m + 1))."""
    single = dtype_of(x.type) == "f32"
    fraction, terms, smallest = (23, 6, 2.0**-126) if single else (52, 13, 2.0**-1022)
    bits = scalar_type("i32" if single else "i64")
    subnormal = b.compare("olt", x, b.constant(smallest, x.type))
    scaled = b.select(subnormal, multiply(b, x, 2.0**60), x)
    pattern = b.op("arith.bitcast", [scaled], bits)
    root = b.op("arith.bitcast", [b.constant(math.sqrt(0.5), x.type)], bits)
    shift = b.constant(fraction, bits)
    exponent = b.op("arith.shrsi", [b.op("arith.subi", [pattern, root]), shift])
    mantissa = b.op("arith.subi", [pattern, b.op("arith.shli", [exponent, shift])])
    near_one = b.op("arith.bitcast", [mantissa], x.type)
    exponent = b.op("arith.subi", [exponent, b.select(subnormal, b.constant(60, bits), b.constant(0, bits))])
    one = b.constant(1.0, x.type)
    ratio = b.op("arith.divf", [b.op("arith.subf", [near_one, one]), b.op("arith.addf", [near_one, one])])
    square = multiply(b, ratio, ratio)
    series = polynomial(b, square, [2.0 * unit / (2 * n + 1) for n in range(terms)])
    whole = multiply(b, b.op("arith.sitofp", [exponent], x.type), LN2 * unit)
    value = fma(b, ratio, series, whole)
    return _logarithm_specials(b, x, value)


def _logarithm_specials(b: Builder, x: ir.Value, value: ir.Value) -> ir.Value:
    zero, infinity = b.constant(0.0, x.type), b.constant(math.inf, x.type)
    value = b.select(b.compare("oeq", x, infinity), infinity, value)
    value = b.select(b.compare("oeq", x, zero), b.constant(-math.inf, x.type), value)
    invalid = b.op("arith.ori", [b.compare("olt", x, zero), b.compare("uno", x, x)])
    return b.select(invalid, b.constant(math.nan, x.type), value)


def _log(b: Builder, x: ir.Value) -> ir.Value:
    return _logarithm(b, x, 1.0)


def _log2(b: Builder, x: ir.Value) -> ir.Value:
    return _logarithm(b, x, LOG2E)


# -- trigonometry --------------------

_SIN = [(-1.0) ** n / math.factorial(2 * n + 1) for n in range(6)]
_COS = [(-1.0) ** n / math.factorial(2 * n) for n in range(6)]


def _sine(b: Builder, x: ir.Value, quarter_turns: int) -> ir.Value:
    """sin(x + quarter_turns * pi / 2)."""
    i32 = scalar_type("i32")
    rest, quadrant = reduce_to_quadrant(b, x)
    quadrant = b.op("arith.addi", [quadrant, b.constant(quarter_turns, i32)])
    square = multiply(b, rest, rest)
    sine, cosine = multiply(b, rest, polynomial(b, square, _SIN)), polynomial(b, square, _COS)
    odd = b.compare("ne", b.op("arith.andi", [quadrant, b.constant(1, i32)]), b.constant(0, i32))
    value = b.select(odd, cosine, sine)
    lower = b.compare("ne", b.op("arith.andi", [quadrant, b.constant(2, i32)]), b.constant(0, i32))
    return b.select(lower, b.op("arith.negf", [value]), value)


# -- hyperbolic tangent and error function --------------------

_TANH = [1.0, -1 / 3, 2 / 15, -17 / 315, 62 / 2835, -1382 / 155925, 21844 / 6081075, -929569 / 638512875]
_ERF = [2.0 / math.sqrt(math.pi) * (-1.0) ** n / (math.factorial(n) * (2 * n + 1)) for n in range(12)]
# 1 - erf(x) = t p(t) exp(-x^2), t = 1 / (1 + _ERFC_RATE x): Abramowitz and Stegun 7.1.26.
_ERFC_RATE = 0.3275911
_ERFC = [0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429]


def _odd(b: Builder, x: ir.Value, limit: float, coefficients: Sequence[float], large: ir.Value) -> ir.Value:
    """An odd function: x times a polynomial of x^2 up to `limit`, beyond it `large` with x's sign."""
    small = multiply(b, x, polynomial(b, multiply(b, x, x), coefficients))
    signed = b.select(b.compare("olt", x, b.constant(0.0, x.type)), b.op("arith.negf", [large]), large)
    beyond = b.compare("ogt", intrinsic(b, "fabs", x), b.constant(limit, x.type))
    return b.select(beyond, signed, small)


def _tanh_f32(b: Builder, x: ir.Value) -> ir.Value:
    one = b.constant(1.0, x.type)
    grown = b.op("arith.addf", [_exp_f32(b, multiply(b, intrinsic(b, "fabs", x), 2.0)), one])
    large = b.op("arith.subf", [one, b.op("arith.divf", [b.constant(2.0, x.type), grown])])
    return _odd(b, x, 0.5, _TANH, large)


def _erf_f32(b: Builder, x: ir.Value) -> ir.Value:
    one, size = b.constant(1.0, x.type), intrinsic(b, "fabs", x)
    t = b.op("arith.divf", [one, fma(b, size, b.constant(_ERFC_RATE, x.type), one)])
    decay = _exp_f32(b, b.op("arith.negf", [multiply(b, size, size)]))
    rest = multiply(b, multiply(b, t, polynomial(b, t, _ERFC)), decay)
    return _odd(b, x, 1.0, _ERF, b.op("arith.subf", [one, rest]))


def _native(name: str) -> Function:
    return lambda b, *operands: intrinsic(b, name, *operands)


_NATIVE: Mapping[str, Function] = {
    "math.sqrt": _native("sqrt"),
    "math.floor": _native("floor"),
    "math.absf": _native("fabs"),
    "math.fma": _native("fma"),
}

FUNCTIONS: Mapping[str, Mapping[str, Function]] = {
    "f32": {
        **_NATIVE,
        "math.exp": _exp_f32,
        "math.exp2": _exp2_f32,
        "math.log": _log,
        "math.log2": _log2,
        "math.sin": lambda b, x: _sine(b, x, 0),
        "math.cos": lambda b, x: _sine(b, x, 1),
        "math.tanh": _tanh_f32,
        "math.erf": _erf_f32,
    },
    "f64": {
        **_NATIVE,
        "math.exp": _exp_f64,
        "math.exp2": _exp2_f64,
        "math.log": _log,
        "math.log2": _log2,
    },
}
"""By dtype and op name: the code that computes it."""
