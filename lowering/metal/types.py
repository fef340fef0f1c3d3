"""MLIR types and constants in the spelling of the Metal Shading Language."""

from __future__ import annotations

import math

import numpy as np

from ...dialects.mlir import ir

TYPES = {
    "f32": "float",
    "f16": "half",
    "bf16": "bfloat",
    "i64": "long",
    "i32": "int",
    "i8": "uchar",
    "i1": "bool",
    "index": "long",
}
"""Metal has no double."""

UNSIGNED = {"long": "ulong", "int": "uint", "uchar": "uchar", "bool": "bool"}


def literal(attribute: ir.Attribute, type_: str) -> str:
    """A constant of the Metal type `type_`."""
    if isinstance(attribute, ir.FloatAttr):
        return _float_literal(attribute.value, type_)
    if isinstance(attribute, ir.BoolAttr) or type_ == "bool":
        return "true" if bool(attribute.value) else "false"
    value = ir.IntegerAttr(attribute).value
    bits = 64 if type_ == "long" else 32
    if value == -(1 << (bits - 1)):
        # The magnitude of the least integer is not an integer literal.
        return f"(-{(1 << (bits - 1)) - 1}{'L' if bits == 64 else ''} - 1)"
    return f"{value}L" if type_ == "long" else f"{value}"


def _float_literal(value: float, type_: str) -> str:
    if not math.isfinite(value):
        bits = int(np.float32(value).view(np.uint32))
        text = f"as_type<float>({bits:#010x}u)"
    else:
        text = f"{np.float32(value):.9g}"
        text += "f" if any(character in text for character in ".e") else ".0f"
    return text if type_ == "float" else f"({type_}){text}"
