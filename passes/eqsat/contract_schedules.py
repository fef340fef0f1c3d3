"""The schedules of a contraction that are worth measuring: what the search offers beside the default.

They speak of sizes only, as plain data for `dialects.kernel.schedule_of`; which of them is fastest depends on
the machine's caches and vector width, and is measured, not guessed.
"""

from __future__ import annotations

from typing import Any

from ...dialects.types import HALVES

_FEW_ROWS = 3
"""Up to this many rows the right operand is read once, and only its streams matter."""

_BLOCK_ROWS = 192
"""Rows of the CPU lowering's usual row block."""


def contract_schedules(
    batch: int, m: int, n: int, k: int, dtype: str = "f32", packed: int | None = None
) -> list[dict[str, Any]]:
    """At most eight schedules for `batch` products (m, k) x (k, n); the first one is the default, {}.

    `packed`: the width of the right operand's panels, None if it is not in panels. Sizes are those that the
    program is tuned for.
    """
    found: list[dict[str, Any]] = [{}]
    if min(batch, m, n, k) < 1:
        return found
    found += _few_rows(m, n) if m <= _FEW_ROWS else _blocks(m, n, k, packed)
    if dtype in HALVES:
        # Copied rows are widened once instead of for every column tile.
        found = [schedule for schedule in found if schedule.get("pack_lhs") is not False]
    return [schedule for at, schedule in enumerate(found) if schedule not in found[:at]]


def _few_rows(m: int, n: int) -> list[dict[str, Any]]:
    """Columns in flight against how evenly they divide among threads."""
    return [{"tile": (m, vectors)} for vectors in (8, 4, 2) if n >= 8 * vectors]


def _blocks(m: int, n: int, k: int, packed: int | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"pack_lhs": True}, {"pack_lhs": False}]
    if packed is None:
        found += [{"pack_rhs": False}, {"pack_rhs": True, "order": "nm", "pack_lhs": False}]
    if m > _BLOCK_ROWS and n > m:
        found.append({"order": "nm", "pack_lhs": False})
    if m > _BLOCK_ROWS // 2:
        found.append({"row_block": _BLOCK_ROWS // 2})
    if k > 256:
        found += [{"k_block": 512}, {"k_block": 128}]
    return found[:7]
