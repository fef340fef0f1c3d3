"""How a contraction is cut up: register tiles, row blocks, and which operands are copied into scratch memory
first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...dialects.symbolic import ONE, ZERO, Expr, as_expr
from .contract_spec import ContractSpec
from .contract_tile import DOT_COLUMNS, TileShape
from .emit import BYTES
from .target import Target

_CACHE_BYTES = 256 * 1024
"""Rows of the left operand that are reused for every column tile should stay in half of a common L2 cache."""

_PAGE_BYTES = 2048
"""Rows of the left operand that lie a multiple of this apart fall into few sets of the L1 cache."""


@dataclass(frozen=True)
class Plan:
    """One way to run a contraction.

    condition: a number of rows that this plan is for, None for any. tile: the register tile. block: row tiles
    whose rows stay in
    cache together. pack_lhs / pack_rhs: copy that operand's block in tile order.
    dot: the lanes run along k (`emit_dot_tile`).
    """

    condition: int | None
    tile: TileShape
    block: int
    pack_lhs: bool
    pack_rhs: bool
    dot: bool


def make_plans(spec: ContractSpec, target: Target) -> tuple[Plan, ...]:
    """The plans for a contraction; where rows may be one or many, one each, the last without condition."""
    least, most = spec.rows.size.bounds()
    if most is not None and most <= 3:
        return (_plan(spec, target, None, max(most, 1)),)
    if least is not None and least >= 2:
        return (_plan(spec, target, None, None),)
    return (_plan(spec, target, 1, 1), _plan(spec, target, None, None))


def _plan(spec: ContractSpec, target: Target, condition: int | None, few: int | None) -> Plan:
    lanes = target.lanes(8 * BYTES[spec.accumulator])
    dot = few is not None and _can_dot(spec)
    shape = _tile(spec, target.registers, lanes, few, dot)
    pack_lhs = _packs_lhs(spec, few, dot)
    pack_rhs = spec.rhs is not None and not dot and not _streams(spec, few)
    return Plan(condition, shape, _block(spec, shape), pack_lhs, pack_rhs, dot)


def _tile(spec: ContractSpec, registers: int, lanes: int, few: int | None, dot: bool) -> TileShape:
    if dot:
        assert few is not None
        return TileShape(few, max(1, 16 // lanes), lanes)
    rows, vectors = (6, 2) if registers == 16 else (12 if lanes > 4 else 6, 2 if lanes > 4 else 4)
    if few is not None:
        # Few rows: the right operand is read once, so take long stretches of it.
        rows, vectors = few, {1: 8, 2: 6, 3: 4}[few]
    if spec.packed is not None:
        lanes = math.gcd(lanes, spec.packed)
        fitting = [count for count in range(1, vectors + 1) if spec.packed // lanes % count == 0]
        vectors = max(fitting)
    elif spec.columns.size.is_const:
        vectors = max(1, min(vectors, -(-spec.columns.size.value // lanes)))
    if spec.rows.size.is_const:
        rows = max(1, min(rows, spec.rows.size.value))
    return TileShape(rows, vectors, lanes, 4 if rows * vectors <= 12 else 2)


def _block(spec: ContractSpec, shape: TileShape) -> int:
    depth = spec.depth.size
    if not depth.is_const:
        return 8
    row_bytes = max(1, depth.value) * BYTES[spec.accumulator]
    return max(1, _CACHE_BYTES // row_bytes // shape.rows)


def strides(offset: Expr, spec: ContractSpec) -> tuple[Expr | None, Expr | None, Expr | None]:
    """The strides of an offset along rows, columns and depth; None where it is not linear."""
    rows, columns, depth = (offset.coefficient(axis.atom) for axis in (spec.rows, spec.columns, spec.depth))
    return rows, columns, depth


def _packs_lhs(spec: ContractSpec, few: int | None, dot: bool) -> bool:
    row, _, depth = strides(spec.lhs, spec)
    if row is None or depth is None:
        return True
    if dot:
        return depth is not ONE
    if spec.dtype in ("f16", "bf16"):
        return True
    if few is not None or row is ONE:
        return False
    if depth is not ONE:
        return True
    return row.is_const and row.value * BYTES[spec.dtype] % _PAGE_BYTES == 0


def _streams(spec: ContractSpec, few: int | None) -> bool:
    """Whether tiles can read the right operand where it lies."""
    assert spec.rhs is not None
    _, column, depth = strides(spec.rhs, spec)
    if column is not ONE or depth is None:
        return False
    # Lines far apart are slow to read again and again for every row tile.
    near = depth.is_const and depth.value * BYTES[spec.dtype] < 2 * _PAGE_BYTES
    return near or few is not None


def _can_dot(spec: ContractSpec) -> bool:
    if spec.rhs is None:
        return False
    _, column, depth = strides(spec.rhs, spec)
    return depth is ONE and column is not None and column is not ONE


def scratch_elements(spec: ContractSpec, plan: Plan) -> tuple[Expr, Expr, Expr]:
    """Sizes, in accumulator elements, of the tile, of the packed right tile and of the packed left block."""
    tile = as_expr(plan.tile.rows * plan.tile.columns + DOT_COLUMNS)
    depth = spec.depth.size
    block = plan.block + plan.block // 2 + 1
    if spec.rows.size.is_const:
        block = min(block, -(-spec.rows.size.value // plan.tile.rows))
    lhs = depth * (block * plan.tile.rows) if plan.pack_lhs else ZERO
    rhs = depth * plan.tile.columns if plan.pack_rhs or needs_tail(spec, plan) else ZERO
    return tile, rhs, lhs


def needs_tail(spec: ContractSpec, plan: Plan) -> bool:
    """Whether a tile read in place may reach past the last column, so that this tile is packed after all."""
    return spec.rhs is not None and not plan.dot and (spec.columns.size % plan.tile.columns) is not ZERO
