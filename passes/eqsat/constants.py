"""Scalar constants as text keys, exact for every dtype, and the numbers that the recognition rules know by
name.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from ...dialects.types import FLOATS, INTEGERS, NUMPY_DTYPES

_NAMED = {
    "-2": -2.0,
    "-1": -1.0,
    "0": 0.0,
    "1": 1.0,
    "2": 2.0,
    "inf": math.inf,
    "-inf": -math.inf,
    "log2e": math.log2(math.e),
    "ln2": math.log(2),
    "pi/2": math.pi / 2,
    "erf-p": 0.3275911,
    "erf-0": 0.254829592,
    "erf-1": -0.284496736,
    "erf-2": 1.421413741,
    "erf-3": -1.453152027,
    "erf-4": 1.061405429,
}


def round_to(value: float, dtype: str) -> float:
    """A number rounded to a float dtype, ties to even."""
    if not math.isfinite(value):
        return value
    if dtype != "bf16":
        with np.errstate(over="ignore"):
            return float(np.asarray(value).astype(NUMPY_DTYPES[dtype]))
    bits = int(np.float32(value).view(np.uint32))
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return float(np.uint32(bits).view(np.float32))


def constant_key(value: float | int | bool, dtype: str) -> str:
    """Text of a constant already rounded to its dtype: equal text means equal bits (`-0.0`, `inf`, `nan`
    included).
    """
    return repr(float(value)) if dtype in FLOATS else str(int(value))


def constant_value(key: str, dtype: str) -> float | int:
    """The number a key stands for."""
    return float(key) if dtype in FLOATS else int(key)


@cache
def number_facts() -> tuple[str, ...]:
    """`(number name dtype key)` for every named number and dtype that can hold it."""
    facts = []
    for name, value in _NAMED.items():
        facts += [f'(number "{name}" "{d}" "{constant_key(round_to(value, d), d)}")' for d in FLOATS]
        if math.isfinite(value) and value == int(value):
            facts += [f'(number "{name}" "{d}" "{int(value)}")' for d in INTEGERS]
    return tuple(facts)


def reciprocal_key(dtype: str, key: str) -> str | None:
    """1 / the constant, rounded to the float dtype; None where that is no finite number other than zero."""
    value = constant_value(key, dtype)
    if dtype not in FLOATS or not math.isfinite(value) or value == 0:
        return None
    inverse = round_to(float(np.divide(1.0, value)), dtype)
    return constant_key(inverse, dtype) if math.isfinite(inverse) and inverse else None


def exact_reciprocal_key(dtype: str, key: str) -> str | None:
    """1 / the constant where it is a power of two whose inverse the float dtype holds, else None."""
    inverse = reciprocal_key(dtype, key)
    exact = inverse is not None and abs(math.frexp(constant_value(key, dtype))[0]) == 0.5
    exact = exact and inverse is not None and float(inverse) * constant_value(key, dtype) == 1.0
    return inverse if exact else None
