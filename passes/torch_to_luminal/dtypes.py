"""Element types: ATen's scalar type numbers, torch-dialect spellings and luminal's seven dtypes."""

from __future__ import annotations

from .registry import Unsupported

# c10::ScalarType numbers as they appear in `torch.constant.int` operands named dtype.
_SCALAR_TYPES = {3: "i32", 4: "i64", 5: "f16", 6: "f32", 7: "f64", 11: "i1", 15: "bf16"}
_REFUSED = {0: "uint8", 1: "int8", 2: "int16", 8: "complex32", 9: "complex64", 10: "complex128"}
# The torch dialect spells signed integers si32/si64.
_TORCH_SPELLING = {
    "si32": "i32",
    "si64": "i64",
    "i1": "i1",
    "f16": "f16",
    "bf16": "bf16",
    "f32": "f32",
    "f64": "f64",
}

_RANK = {"i1": 0, "i32": 1, "i64": 2, "f16": 3, "bf16": 3, "f32": 4, "f64": 5}


def from_scalar_type(number: int) -> str:
    """luminal dtype of an ATen scalar type number; refuses the ones luminal does not have."""
    if number in _SCALAR_TYPES:
        return _SCALAR_TYPES[number]
    raise Unsupported(f"dtype {_REFUSED.get(number, number)} is not supported")


def from_torch_spelling(text: str) -> str:
    """luminal dtype of a torch-dialect element type such as `si64` or `f32`."""
    if text in _TORCH_SPELLING:
        return _TORCH_SPELLING[text]
    plain = {"complex<f16>": "complex32", "complex<f32>": "complex64", "complex<f64>": "complex128"}.get(text)
    if plain is None and text[:2] in ("ui", "si"):
        plain = text.replace("ui", "uint").replace("si", "int")
    raise Unsupported(f"dtype {plain or text} is not supported")


def is_float(dtype: str) -> bool:
    return dtype in ("f64", "f32", "f16", "bf16")


def is_half(dtype: str) -> bool:
    return dtype in ("f16", "bf16")


def is_integer(dtype: str) -> bool:
    """True for i32 and i64 (not for bool)."""
    return dtype in ("i32", "i64")


def category(dtype: str) -> int:
    """torch's promotion category: bool 0, integer 1, float 2."""
    return 0 if dtype == "i1" else 1 if is_integer(dtype) else 2


def promote_dtypes(first: str, second: str) -> str:
    """torch.promote_types over luminal's dtypes."""
    if first == second:
        return first
    if {first, second} == {"f16", "bf16"}:
        return "f32"
    return first if _RANK[first] > _RANK[second] else second


def opmath(dtype: str) -> str:
    """The dtype in which eager computes one op on `dtype` (halves in f32)."""
    return "f32" if is_half(dtype) else dtype
