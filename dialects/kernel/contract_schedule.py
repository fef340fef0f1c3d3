"""How a contraction is cut up: the optional attribute `schedule` of `kernel.contract`, as data and as text.

    schedule = {tile = array<i64: 6, 2>, k_block = 256 : i64, row_block = 96 : i64, order = "mn"}

Every field is optional; what is absent is the lowering's own choice for the sizes at hand. A schedule never
changes what is computed, only the order in which sums are added up. Only the CPU lowering reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..mlir import ir
from ..verify import require

ORDERS = ("mn", "nm")

MOST_ROWS, MOST_VECTORS, MOST_UNROLL = 16, 8, 16
"""Limits of a register tile: no machine has registers for more."""


@dataclass(frozen=True)
class ContractSchedule:
    """The fields of a `schedule` attribute; None: the lowering's choice.

    tile: rows of the register tile, and its columns in vector registers. A lowering takes fewer where the
        result, or the panels of the right operand, are narrower.
    k_block: products that are added up over all rows of a block before the next ones; that much of a column
        tile stays in the first cache. 0: all of them.
    row_block: rows of the left operand that all column tiles are multiplied with before the next rows; they
        stay in the second cache.
    order: "mn" takes one row block after another and all column tiles for each, "nm" the other way round.
        Threads take equal contiguous shares in that order: of rows, or of columns.
    unroll: products that one round of the innermost loop adds.
    pack_lhs, pack_rhs: copy that operand into the order of the tiles first. Where a lowering can't read an
        operand in place, it copies anyway.
    """

    tile: tuple[int, int] | None = None
    k_block: int | None = None
    row_block: int | None = None
    order: str | None = None
    unroll: int | None = None
    pack_lhs: bool | None = None
    pack_rhs: bool | None = None

    def to_attr(self) -> ir.DictAttr:
        """The attribute; needs a current context."""
        named = {f.name: getattr(self, f.name) for f in fields(self)}
        return ir.DictAttr.get({k: _WRITE[k](v) for k, v in named.items() if v is not None})


def _integer(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


_WRITE: dict[str, Callable[[Any], ir.Attribute]] = {
    "tile": lambda tile: ir.DenseI64ArrayAttr.get(list(tile)),
    "k_block": _integer,
    "row_block": _integer,
    "order": ir.StringAttr.get,
    "unroll": _integer,
    "pack_lhs": ir.BoolAttr.get,
    "pack_rhs": ir.BoolAttr.get,
}


def schedule_of(values: Mapping[str, Any]) -> ContractSchedule:
    """The schedule with these fields. VerifyError if one is unknown or out of range."""
    unknown = sorted(set(values) - set(_WRITE))
    require(not unknown, f"schedule has no field {', '.join(map(repr, unknown))}; it may have {_FIELDS}")
    schedule = ContractSchedule(**values)
    for name, low, high in (
        ("k_block", 0, None),
        ("row_block", 1, None),
        ("unroll", 1, MOST_UNROLL),
    ):
        _require_between(f"schedule's {name}", getattr(schedule, name), low, high)
    if schedule.tile is not None:
        require(len(schedule.tile) == 2, "schedule's tile must be [rows, vectors]")
        _require_between("rows of the schedule's tile", schedule.tile[0], 1, MOST_ROWS)
        _require_between("vectors of the schedule's tile", schedule.tile[1], 1, MOST_VECTORS)
    require(
        schedule.order in (None, *ORDERS),
        f'schedule\'s order must be {" or ".join(ORDERS)}, got "{schedule.order}"',
    )
    return schedule


_FIELDS = ", ".join(_WRITE)


def _require_between(what: str, value: int | None, low: int, high: int | None) -> None:
    if value is None:
        return
    limit = f"at least {low}" if high is None else f"between {low} and {high}"
    require(low <= value and (high is None or value <= high), f"{what} must be {limit}, got {value}")


def read_schedule(attr: ir.Attribute | None) -> ContractSchedule:
    """The schedule that an attribute stands for; the empty one for None. VerifyError if it is not valid."""
    if attr is None:
        return ContractSchedule()
    values: dict[str, Any] = {}
    for named in ir.DictAttr(attr):
        values[named.name] = _read(named.name, named.attr)
    return schedule_of(values)


def _read(name: str, attr: ir.Attribute) -> Any:
    if name == "tile":
        require(
            isinstance(attr, ir.DenseI64ArrayAttr), f"schedule's tile must be array<i64: ...>, got {attr}"
        )
        return tuple(ir.DenseI64ArrayAttr(attr))
    if name == "order":
        require(isinstance(attr, ir.StringAttr), f"schedule's order must be a string, got {attr}")
        return ir.StringAttr(attr).value
    if name in ("pack_lhs", "pack_rhs"):
        require(isinstance(attr, ir.BoolAttr), f"schedule's {name} must be true or false, got {attr}")
        return ir.BoolAttr(attr).value
    require(
        name not in _WRITE or isinstance(attr, ir.IntegerAttr),
        f"schedule's {name} must be an integer, got {attr}",
    )
    return ir.IntegerAttr(attr).value if name in _WRITE else None
