"""Values of the interpreters: arrays in *compute type*, and every conversion between element types.

Compute types: float64 for f64; float32 for f32, f16 and bf16 (half values stay exactly on the half type's
grid); int64,
int32, bool. At the boundary of a program f16 is float16 and bf16, which NumPy lacks, its bits as uint16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...dialects.types import FLOATS, NUMPY_DTYPES
from ...errors import InputError

COMPUTE_DTYPES: Mapping[str, np.dtype[Any]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float32),
    "bf16": np.dtype(np.float32),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i1": np.dtype(np.bool_),
}


def decode(array: np.ndarray, dtype: str, name: str) -> np.ndarray:
    """A boundary array in compute type. InputError if its NumPy type is not the one of `dtype`."""
    found = np.asarray(array)
    if dtype == "bf16" and found.dtype.name == "bfloat16":
        found = found.view(np.uint16)
    if found.dtype != NUMPY_DTYPES[dtype]:
        raise InputError(f"{name} has NumPy type {found.dtype}, expected {NUMPY_DTYPES[dtype]} for {dtype}")
    if dtype == "bf16":
        return (found.astype(np.uint32) << 16).view(np.float32)
    return found.astype(COMPUTE_DTYPES[dtype])


def encode(values: np.ndarray, dtype: str) -> np.ndarray:
    """A compute array as a boundary array (contiguous, not shared)."""
    if dtype == "bf16":
        return (
            (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16)
            .astype(np.uint16)
            .reshape(np.shape(values))
        )
    return np.array(values, NUMPY_DTYPES[dtype], order="C")


def round_to(values: np.ndarray, dtype: str) -> np.ndarray:
    """Floats of any precision rounded once, to nearest even, onto the grid of `dtype`, in compute type."""
    with np.errstate(all="ignore"):
        if dtype == "f16":
            return np.asarray(values).astype(np.float16).astype(np.float32)
        if dtype == "bf16":
            return _round_bfloat16(np.asarray(values, np.float64))
        return np.asarray(values).astype(COMPUTE_DTYPES[dtype])


def _round_bfloat16(values: np.ndarray) -> np.ndarray:
    # To f32 rounding to odd, so that the second rounding sees whether anything was lost.
    single = np.atleast_1d(values.astype(np.float32))
    exact = np.atleast_1d(values)
    bits = single.view(np.uint32).astype(np.int64)
    overshoot = np.abs(single.astype(np.float64)) > np.abs(exact)
    inexact = single.astype(np.float64) != exact
    odd = np.where(inexact, np.where(overshoot, bits - 1, bits) | 1, bits)
    rounded = (odd + 0x7FFF + ((odd >> 16) & 1)) & 0xFFFF0000
    result = rounded.astype(np.uint32).view(np.float32)
    return np.where(np.isnan(exact), np.float32(np.nan), result).astype(np.float32).reshape(values.shape)


def convert(values: np.ndarray, source: str, target: str) -> np.ndarray:
    """`cast`: float to integer truncates (NaN and out of range: least integer), to i1 tests for not zero."""
    if source == target:
        return values
    if target == "i1":
        return np.asarray(values != 0)
    if target in FLOATS:
        return round_to(values, target)
    if source in FLOATS:
        return _float_to_integer(np.asarray(values, np.float64), COMPUTE_DTYPES[target])
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(COMPUTE_DTYPES[target])


def _float_to_integer(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    limit = 2.0 ** (dtype.itemsize * 8 - 1)
    truncated = np.trunc(values)
    # Comparisons with NaN are false, so NaN counts as out of range.
    inside = (truncated >= -limit) & (truncated < limit)
    return np.where(inside, np.where(inside, truncated, 0).astype(dtype), np.iinfo(dtype).min).astype(dtype)


def apply(function: Callable[..., np.ndarray], dtype: str, *operands: np.ndarray) -> np.ndarray:
    """An elementwise function of operands of one dtype; the result, if it is a float, rounded to that dtype.

    f32 is computed in float64 and rounded; half types are rounded to f32 first, then to the half type.
    """
    with np.errstate(all="ignore"):
        if dtype not in FLOATS:
            return np.asarray(function(*operands))
        result = np.asarray(function(*(np.asarray(operand, np.float64) for operand in operands)))
    return round_float(result, dtype) if result.dtype == np.float64 else result


def round_float(values: np.ndarray, dtype: str) -> np.ndarray:
    """A float64 result as the value of an op of type `dtype`: half types through f32."""
    if dtype in ("f16", "bf16"):
        return round_to(round_to(values, "f32"), dtype)
    return round_to(values, dtype)


def least(dtype: str) -> float | int | bool:
    """The identity of maximum."""
    if dtype in FLOATS:
        return -np.inf
    return False if dtype == "i1" else int(np.iinfo(COMPUTE_DTYPES[dtype]).min)


def greatest(dtype: str) -> float | int | bool:
    """The identity of minimum."""
    if dtype in FLOATS:
        return np.inf
    return True if dtype == "i1" else int(np.iinfo(COMPUTE_DTYPES[dtype]).max)


def reduce_axes(values: np.ndarray, kind: str, dtype: str, axes: tuple[int, ...]) -> np.ndarray:
    """Sum, prod, max or min along axes. Float sums and products accumulate in float64 and round once."""
    with np.errstate(all="ignore"):
        if kind in ("max", "min"):
            initial = least(dtype) if kind == "max" else greatest(dtype)
            extremum: Any = np.max if kind == "max" else np.min
            return np.asarray(extremum(values, axis=axes, initial=initial), COMPUTE_DTYPES[dtype])
        reducer: Any = np.sum if kind == "sum" else np.prod
        if dtype in FLOATS:
            return round_to(np.asarray(reducer(values.astype(np.float64), axis=axes)), dtype)
        return np.asarray(reducer(values, axis=axes, dtype=COMPUTE_DTYPES[dtype]))


def scatter_into(
    base: np.ndarray, values: np.ndarray, coordinates: list[np.ndarray], mode: str, dtype: str
) -> np.ndarray:
    """A copy of `base` with `values` written in row-major order; coordinates outside drop the write."""
    result = np.array(base)
    shape = np.shape(values)
    flat = [np.broadcast_to(coordinate, shape).reshape(-1) for coordinate in coordinates]
    inside = np.ones(int(np.prod(shape)), bool)
    for coordinate, size in zip(flat, result.shape, strict=True):
        inside &= (coordinate >= 0) & (coordinate < size)
    index = tuple(coordinate[inside] for coordinate in flat)
    updates = np.reshape(values, -1)[inside]
    # One write after the other: the last duplicate wins, and each addition rounds to the element type.
    for position, update in enumerate(updates):
        at = tuple(coordinate[position] for coordinate in index)
        if mode == "set":
            result[at] = update
        elif dtype == "i1":
            result[at] |= update
        else:
            result[at] = apply(np.add, dtype, result[at], update)
    return result
