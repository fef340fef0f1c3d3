"""The one table of scalar functions of the `kernel` dialect: name, operand types, result, NumPy meaning.

The dialect's ops, the e-graph's sorts, the interpreter and every lowering are made from this table. The NumPy
functions get arrays in the *compute type* (float64 for f64, float32 for f32, f16 and bf16, the integer types,
bool)
and return the same kind; whoever stores a half type rounds afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
"""A NumPy array or scalar in compute type."""

FLOAT = ("f64", "f32", "f16", "bf16")
INTEGER = ("i64", "i32")
BOOL = ("i1",)
NUMBER = FLOAT + INTEGER
BITS = INTEGER + BOOL
ANY = NUMBER + BOOL


@dataclass(frozen=True)
class ScalarFunction:
    """One scalar function. `result` is "same" (the operands' type) or "i1"."""

    name: str
    arity: int
    operands: tuple[str, ...]
    result: str
    evaluate: Callable[..., Array]
    summary: str


def _erf(x: Array) -> Array:
    values = np.asarray(x)
    return np.vectorize(math.erf, otypes=[np.float64])(values.astype(np.float64)).astype(values.dtype)


def _sigmoid(x: Array) -> Array:
    # exp of a negative number only, so that nothing overflows.
    small = np.exp(-np.abs(x))
    return np.where(np.signbit(x), small / (1 + small), 1 / (1 + small)).astype(np.asarray(x).dtype)


def remainder(a: Array, b: Array) -> Array:
    """a mod b with the divisor's sign; for b = 0 NaN of floats, 0 of integers."""
    if np.issubdtype(np.asarray(a).dtype, np.floating):
        rest = np.fmod(a, b)
        return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest).astype(np.asarray(a).dtype)
    special = (np.asarray(b) == 0) | (np.asarray(b) == -1)
    return np.where(special, 0, np.mod(a, np.where(special, 1, b))).astype(np.asarray(a).dtype)


def floor_quotient(a: Array, b: Array) -> Array:
    """Integer a / b rounded down; 0 for b = 0; INT_MIN / -1 wraps to INT_MIN."""
    b = np.asarray(b)
    safe = np.where((b == 0) | (b == -1), 1, b)
    quotient = np.floor_divide(a, safe)
    return np.where(b == 0, 0, np.where(b == -1, np.negative(a), quotient)).astype(b.dtype)


def _unary(
    name: str, operands: tuple[str, ...], evaluate: Callable[..., Array], summary: str
) -> ScalarFunction:
    return ScalarFunction(name, 1, operands, "same", evaluate, summary)


def _binary(
    name: str, operands: tuple[str, ...], evaluate: Callable[..., Array], summary: str, result: str = "same"
) -> ScalarFunction:
    return ScalarFunction(name, 2, operands, result, evaluate, summary)


_TABLE = (
    _unary("neg", NUMBER, np.negative, "-x; flips the sign of zero and NaN; integers wrap"),
    _unary("abs", NUMBER, np.abs, "magnitude; integers wrap"),
    _unary("recip", FLOAT, lambda x: 1 / x, "1 / x"),
    _unary("sqrt", FLOAT, np.sqrt, "square root, NaN below zero"),
    _unary("rsqrt", FLOAT, lambda x: 1 / np.sqrt(x), "1 / sqrt(x)"),
    _unary("exp", FLOAT, np.exp, "e to the power x"),
    _unary("exp2", FLOAT, np.exp2, "2 to the power x"),
    _unary("log", FLOAT, np.log, "natural logarithm, -inf at 0, NaN below"),
    _unary("log2", FLOAT, np.log2, "base-2 logarithm, -inf at 0, NaN below"),
    _unary("sin", FLOAT, np.sin, "sine, NaN at infinities"),
    _unary("cos", FLOAT, np.cos, "cosine, NaN at infinities"),
    _unary("tanh", FLOAT, np.tanh, "hyperbolic tangent"),
    _unary("erf", FLOAT, _erf, "error function"),
    _unary("sigmoid", FLOAT, _sigmoid, "1 / (1 + exp(-x))"),
    _unary("floor", FLOAT, np.floor, "greatest integer not above x"),
    _unary("not", BITS, np.invert, "bitwise (logical for i1) not"),
    _binary("add", NUMBER, np.add, "a + b; integers wrap"),
    _binary("sub", NUMBER, np.subtract, "a - b; integers wrap"),
    _binary("mul", NUMBER, np.multiply, "a * b; integers wrap"),
    _binary("div", FLOAT, np.divide, "a / b"),
    _binary("mod", NUMBER, remainder, "remainder with the divisor's sign"),
    _binary("floor_div", INTEGER, floor_quotient, "integer quotient rounded down, 0 for b = 0"),
    _binary("minimum", NUMBER, np.minimum, "the smaller; NaN wins"),
    _binary("maximum", NUMBER, np.maximum, "the greater; NaN wins"),
    _binary("less_than", ANY, np.less, "a < b; false for NaN; false < true", "i1"),
    _binary("less_equal", ANY, np.less_equal, "a <= b; false for NaN", "i1"),
    _binary("equal", ANY, np.equal, "a == b; false for NaN", "i1"),
    _binary("not_equal", ANY, np.not_equal, "a != b; true for NaN", "i1"),
    _binary("and", BITS, np.bitwise_and, "bitwise (logical for i1) and"),
    _binary("or", BITS, np.bitwise_or, "bitwise (logical for i1) or"),
    _binary("xor", BITS, np.bitwise_xor, "bitwise (logical for i1) exclusive or"),
    ScalarFunction(
        "select",
        3,
        ANY,
        "same",
        lambda c, a, b: np.where(c, a, b),
        "a where the i1 operand c is true, else b",
    ),
)

SCALAR_FUNCTIONS: Mapping[str, ScalarFunction] = {function.name: function for function in _TABLE}
"""All scalar functions by name, each also the op `kernel.<name>`."""
