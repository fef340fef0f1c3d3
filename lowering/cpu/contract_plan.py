"""How a contraction is cut up: register tiles, blocks for the caches, and which operands are copied first.

The op's `schedule` attribute decides where it says something; the rest follows from sizes and layouts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...dialects.kernel import ContractSchedule
from ...dialects.symbolic import ONE, ZERO, DimVar, Expr, as_expr, product
from .contract_spec import ContractSpec
from .contract_tile import CHAINS, DOT_COLUMNS, TileShape
from .emit import BYTES
from .target import Target

_CACHE_BYTES = 256 * 1024
"""Rows of the left operand that are reused for every column tile should stay in half of a common L2 cache."""

_SUMS_BYTES = 16 * 1024
"""The sums of a block's rows for one column tile: they go through the L1 cache once for every block of k."""

_DEPTH_BLOCK = 256
"""Length of k that is summed in registers. A column tile of that depth takes half of an L1 cache, and
rounding errors grow with this length and with the number of blocks instead of with k."""

_FEW_ROWS, _MANY_ROWS = 48, 192
"""Rows of a block at least, if there are so many: each block reads the right operand once more. The larger
number where they take no more than _LARGE_BYTES, from which the third cache serves them."""

_LARGE_BYTES = 2 << 20

_GROUP = 8
"""Most column tiles of a group; a wide product has at least so many groups."""

_DEPTH = 5_000_000

_PAGE_BYTES = 4096
"""Rows of the left operand that lie a multiple of this apart fall into few sets of the L1 cache."""


@dataclass(frozen=True)
class Plan:
    """One way to run a contraction.

    condition: a number of rows that this plan is for, None for any. tile: the register tile. block: row tiles
    whose rows stay in cache together. depth: length of k that all rows of a block sum before the next, None
    for all of it. columns_outer: a thread takes all row blocks of a column tile, not all column tiles of a
    row block. group: column tiles of a unit of work; more than one share a block of rows that is too deep for
    the second cache, one block of k after the other. pack_lhs / pack_rhs: copy that operand's block in tile
    order.
    dot: the lanes run along k (`emit_dot_tile`).
    """

    condition: int | None
    tile: TileShape
    block: int
    depth: int | None
    columns_outer: bool
    group: int
    pack_lhs: bool
    pack_rhs: bool
    dot: bool


def make_plans(spec: ContractSpec, target: Target, schedule: ContractSchedule) -> tuple[Plan, ...]:
    """The plans for a contraction; where rows may be one or many, one each, the last without condition."""
    least, most = spec.rows.size.bounds()
    if most is not None and most <= 3:
        return (_plan(spec, target, schedule, None, max(most, 1)),)
    if least is not None and least >= 2:
        return (_plan(spec, target, schedule, None, None),)
    one = ContractSchedule(k_block=schedule.k_block, order=schedule.order)
    return (_plan(spec, target, one, 1, 1), _plan(spec, target, schedule, None, None))


def _plan(
    spec: ContractSpec, target: Target, schedule: ContractSchedule, condition: int | None, few: int | None
) -> Plan:
    lanes = target.lanes(8 * BYTES[spec.accumulator])
    dot = few is not None and _can_dot(spec)
    shape = _tile(spec, target.registers, lanes, few, dot, schedule)
    pack_lhs = _must_pack_lhs(spec, dot) or _chosen(schedule.pack_lhs, _packs_lhs(spec, few, dot))
    pack_rhs = spec.rhs is not None and not dot
    if pack_rhs and _can_stream(spec):
        pack_rhs = _chosen(schedule.pack_rhs, not _streams(spec, few))
    depth = None if dot else _depth(spec, schedule)
    block = _block(spec, shape, schedule)
    group = _group(spec, shape, block) if depth is not None else 1
    return Plan(condition, shape, block, depth, schedule.order == "nm", group, pack_lhs, pack_rhs, dot)


def _group(spec: ContractSpec, shape: TileShape, block: int) -> int:
    """Column tiles that share a block of rows which is too deep for the second cache."""
    columns, depth, most = spec.columns.size, spec.depth.size, spec.rows.size.bounds()[1]
    if spec.rhs is not None or not (columns.is_const and depth.is_const):
        return 1
    rows = block * shape.rows if most is None else min(most, block * shape.rows)
    if rows * depth.value * BYTES[spec.accumulator] <= 2 * _CACHE_BYTES:
        return 1
    # Enough groups remain for threads to share evenly.
    return max(1, min(_GROUP, columns.value // (_GROUP * shape.columns)))


def _chosen(wanted: bool | None, otherwise: bool) -> bool:
    return otherwise if wanted is None else wanted


def _depth(spec: ContractSpec, schedule: ContractSchedule) -> int | None:
    """Blocks of about equal length where k is known."""
    wanted = _DEPTH_BLOCK if schedule.k_block is None else schedule.k_block
    longest = spec.depth.size.bounds()[1]
    if wanted == 0:
        return None
    if longest is None or not spec.depth.size.is_const:
        return wanted if longest is None or longest > wanted + wanted // 2 else None
    blocks = (longest + wanted // 2) // wanted
    return None if blocks <= 1 else -(-longest // blocks)


def _tile(
    spec: ContractSpec,
    registers: int,
    lanes: int,
    few: int | None,
    dot: bool,
    schedule: ContractSchedule,
) -> TileShape:
    if dot:
        assert few is not None
        return TileShape(few, max(1, 16 // lanes), lanes)
    rows, vectors = (6, 2) if registers == 16 else (12 if lanes > 4 else 6, 2 if lanes > 4 else 4)
    if few is not None:
        # Few rows: the right operand is read once, so take long stretches of it.
        rows, vectors = few, {1: 8, 2: 6, 3: 4}[few]
    elif spec.rows.size.is_const and schedule.tile is None:
        rows = _even_rows(spec.rows.size.value, rows, vectors)
    rows, vectors = schedule.tile or (rows, vectors)
    if spec.packed is not None:
        lanes = math.gcd(lanes, spec.packed)
        fitting = [count for count in range(1, vectors + 1) if spec.packed // lanes % count == 0]
        vectors = max(fitting)
    elif spec.columns.size.is_const:
        vectors = max(1, min(vectors, -(-spec.columns.size.value // lanes)))
    if spec.rows.size.is_const:
        rows = max(1, min(rows, spec.rows.size.value))
    return TileShape(rows, vectors, lanes, schedule.unroll or (4 if rows * vectors <= 12 else 2))


def _even_rows(rows: int, most: int, vectors: int) -> int:
    """The height of tiles that wastes least on the last one: few sums take as long as CHAINS of them."""

    def work(height: int) -> int:
        whole, rest = divmod(rows, height)
        return whole * max(height * vectors, CHAINS) + (max(rest * vectors, CHAINS) if rest else 0)

    return min(range(most, most // 2, -1), key=work)


def _block(spec: ContractSpec, shape: TileShape, schedule: ContractSchedule) -> int:
    if schedule.row_block is not None:
        return max(1, schedule.row_block // shape.rows)
    # Windows overlap: of what their inner coordinates read, most is shared.
    found = windows(spec)
    depth = spec.depth.size if found is None else found.extents[0]
    size = BYTES[spec.accumulator]
    rows = _FEW_ROWS
    if depth.is_const:
        row_bytes = max(1, depth.value) * size
        rows = max(_CACHE_BYTES // row_bytes, _FEW_ROWS, min(_MANY_ROWS, _LARGE_BYTES // row_bytes))
    rows = min(rows, _SUMS_BYTES // (shape.columns * size))
    return max(1, rows // shape.rows)


def strides(offset: Expr, spec: ContractSpec) -> tuple[Expr | None, Expr | None, Expr | None]:
    """The strides of an offset along rows, columns and depth; None where it is not linear."""
    rows, columns, depth = (offset.coefficient(axis.atom) for axis in (spec.rows, spec.columns, spec.depth))
    return rows, columns, depth


def _must_pack_lhs(spec: ContractSpec, dot: bool) -> bool:
    """Whether tiles can't read the left operand where it lies."""
    row, _, depth = strides(spec.lhs, spec)
    if dot:
        return row is None or depth is not ONE
    return windows(spec) is None


def _packs_lhs(spec: ContractSpec, few: int | None, dot: bool) -> bool:
    if dot:
        return False
    row, _, depth = strides(spec.lhs, spec)
    if spec.dtype in ("f16", "bf16"):
        return True
    if row is None or depth is None:
        return False
    if few is not None or row is ONE:
        return False
    if depth is not ONE:
        return True
    return row is not None and row.is_const and row.value * BYTES[spec.dtype] % _PAGE_BYTES == 0


@dataclass(frozen=True)
class Windows:
    """A left operand read in place: its offset is `rows` (over the rows' coordinate) plus a sum over k.

    k has the coordinates of `extents`, outermost first, and the operand `strides` along them. The rows of an
    unfolded image are such windows: they overlap, at any distance from each other.
    """

    rows: Expr
    extents: tuple[Expr, ...]
    strides: tuple[Expr, ...]


def windows(spec: ContractSpec) -> Windows | None:
    """How the left operand is read in place; None if its offset is no such sum."""
    along = spec.lhs.coefficient(spec.depth.atom)
    rows = spec.lhs.substitute({spec.depth.atom: ZERO})
    if along is not None:
        return None if along.atoms() & {spec.rows.atom} else Windows(rows, (spec.depth.size,), (along,))
    extents = tuple(extent for extent in spec.depth.dims if extent is not ONE)
    atoms = [DimVar(_DEPTH + index, extent) for index, extent in enumerate(extents)]
    position: Expr = ZERO
    for atom, extent in zip(atoms, extents, strict=True):
        position = position * extent + atom
    offset = spec.lhs.substitute({spec.depth.atom: position})
    found = tuple(offset.coefficient(atom) for atom in atoms)
    steps = tuple(step for step in found if step is not None and not step.atoms() & {spec.rows.atom, *atoms})
    return Windows(rows, extents, steps) if len(steps) == len(found) else None


def depth_step(plan: Plan, extents: tuple[Expr, ...]) -> int | None:
    """How many of k's outermost coordinate make a block of `plan.depth`; None: one block for all of them."""
    if plan.depth is None:
        return None
    inner = product(extents[1:])
    step = max(1, plan.depth // inner.value) if inner.is_const and inner.value else 1
    longest = extents[0].bounds()[1]
    if longest is None or not extents[0].is_const:
        return step
    return max(1, -(-longest // -(-longest // step))) if longest else None


def _can_stream(spec: ContractSpec) -> bool:
    """Whether tiles can read the right operand where it lies."""
    assert spec.rhs is not None
    _, column, depth = strides(spec.rhs, spec)
    return column is ONE and depth is not None


def _streams(spec: ContractSpec, few: int | None) -> bool:
    """Whether reading it there beats copying it: lines far apart are slow to read for every row tile."""
    assert spec.rhs is not None
    depth = strides(spec.rhs, spec)[2]
    assert depth is not None
    near = depth.is_const and depth.value * BYTES[spec.dtype] < _PAGE_BYTES
    return near or few is not None


def _can_dot(spec: ContractSpec) -> bool:
    if spec.rhs is None:
        return False
    _, column, depth = strides(spec.rhs, spec)
    return depth is ONE and column is not None and column is not ONE


def tile_sums(plan: Plan, rows: int) -> int:
    """Elements between the sums of one column tile, for blocks of at most `rows` rows, and the next's."""
    return (rows + plan.tile.lanes) * plan.tile.columns + DOT_COLUMNS


def block_rows(spec: ContractSpec, plan: Plan) -> int:
    """The most rows that a block has."""
    block = plan.block + plan.block // 2 + 1
    if spec.rows.size.is_const:
        block = min(block, -(-spec.rows.size.value // plan.tile.rows))
    return block * plan.tile.rows


def scratch_elements(spec: ContractSpec, plan: Plan) -> tuple[Expr, Expr, Expr]:
    """Sizes, in accumulator elements, of a block's sums, the packed right tile and the packed left block."""
    depth = spec.depth.size
    rows = block_rows(spec, plan)
    sums = as_expr(plan.group * tile_sums(plan, rows))
    lhs = depth * rows if plan.pack_lhs else ZERO
    rhs = depth * plan.tile.columns if plan.pack_rhs or needs_tail(spec, plan) else ZERO
    return sums, rhs, lhs


def needs_tail(spec: ContractSpec, plan: Plan) -> bool:
    """Whether a tile read in place may reach past the last column, so that this tile is packed after all."""
    return spec.rhs is not None and not plan.dot and (spec.columns.size % plan.tile.columns) is not ZERO
