"""Sizes and spelling of LLVM IR types in text."""

from __future__ import annotations

import re

from .errors import Unsupported

_SCALARS = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "bfloat": 2, "float": 4, "double": 8}
_AGGREGATE = re.compile(r"[<\[]\s*(\d+) x (.*)[>\]]$")


def size_of(text: str) -> int:
    """Bytes of an LLVM type; Unsupported for structs and scalable vectors."""
    text = text.strip()
    if text.startswith("ptr"):
        return 8
    if text in _SCALARS:
        return _SCALARS[text]
    match = _AGGREGATE.match(text)
    if match is None:
        raise Unsupported(f"type '{text}' is not modelled")
    return int(match[1]) * size_of(match[2])


def split_list(text: str) -> list[str]:
    """Split at the commas that stand outside all brackets."""
    parts: list[str] = []
    depth, current = 0, ""
    for character in text:
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    return [*parts, current.strip()] if current.strip() else parts


def leading_type(text: str) -> str:
    """The type that `text` begins with."""
    text = text.lstrip()
    if text[0] in "<[":
        depth = 0
        for position, character in enumerate(text):
            depth += (character in "<[") - (character in ">]")
            if depth == 0:
                return text[: position + 1]
    match = re.match(r"ptr(?: addrspace\(\d+\))?|[\w.]+", text)
    if match is None:
        raise Unsupported(f"no type at '{text}'")
    return match[0]
