"""Float literals of LLVM IR text in the spelling that every LLVM reads.

MLIR's LLVM prints `+inf`, `f0x3FB8AA3B` and decimals that are exact only after rounding; the older LLVM of
llvmlite reads hexadecimal bit patterns.
"""

from __future__ import annotations

import re
import struct

import numpy as np

_TOKEN = re.compile(
    r"\b(?P<type>half|bfloat|float|double)\b"
    r"|(?<=[\s\[(])(?:f0x(?P<bits>[0-9A-F]+)|(?P<special>[+-](?:inf|qnan))|(?P<number>-?\d+\.\d+(?:e[+-]?\d+)?))(?=[\s,\])]|$)"
)
_SPECIAL = {"+inf": np.inf, "-inf": -np.inf, "+qnan": np.nan, "-qnan": np.nan}


def rewrite_float_literals(text: str) -> str:
    """Spell every float literal in `text` as its bits. A literal has the type that stands last before it."""
    return "\n".join(_rewrite_line(line) if line.startswith("  ") else line for line in text.splitlines())


def _rewrite_line(line: str) -> str:
    result, position, type_ = "", 0, ""
    for match in _TOKEN.finditer(line):
        if match["type"]:
            type_ = match["type"]
            continue
        result += line[position : match.start()] + _spell(match, type_)
        position = match.end()
    return result + line[position:]


def _spell(match: re.Match[str], type_: str) -> str:
    if match["bits"]:
        return _from_bits(int(match["bits"], 16), type_)
    value = float(match["number"]) if match["number"] else _SPECIAL[match["special"]]
    if type_ == "half":
        return _from_bits(int(np.float16(value).view(np.uint16)), type_)
    if type_ == "bfloat":
        # Printed bfloat values are exact in f32, so that only the upper half holds bits after rounding.
        bits = int(np.float32(value).view(np.uint32))
        return _from_bits((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 if value == value else 0x7FC0, type_)
    if type_ == "float":
        return _from_bits(int(np.float32(value).view(np.uint32)), type_)
    return _from_bits(struct.unpack("<Q", struct.pack("<d", value))[0], "double")


def _from_bits(bits: int, type_: str) -> str:
    if type_ in ("half", "bfloat"):
        return f"0x{'H' if type_ == 'half' else 'R'}{bits:04X}"
    if type_ == "float":
        # LLVM spells a float as the double of the same value.
        value = float(np.uint32(bits).view(np.float32))
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return f"0x{bits:016X}"
