"""`kernel.contract` on the CPU: matrix products of every layout, from matrix-vector to batched, with a fused
epilogue.

The result is cut into column tiles and row blocks; a thread takes a contiguous range of them and runs
register tiles
(contract_tile.py) over each. The sums of a tile go to scratch memory, which stays in the L1 cache, and the
epilogue reads
them from there: it exists once, whatever the number of rows. Choices stand in contract_plan.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.mlir import ir
from ...dialects.symbolic import ZERO, DimVar, Expr, Sym, as_expr, maximum, symbols_in_scope
from ...errors import LoweringError
from .abi import LoweredKernel
from .contract_address import Columns, Rows, offset_pointer, scaled, stride_of
from .contract_epilogue import Epilogue, bind_axis, emit_epilogue, read_epilogue
from .contract_pack import Source, pack_columns, pack_rows, whole_tile
from .contract_plan import Plan, make_plans, needs_tail, scratch_elements, strides
from .contract_spec import ContractSpec, read_contract
from .contract_tile import TileShape, emit_dot_tile, emit_tile
from .emit import BYTES, Kernel, LoopScope, Scope
from .index import scalar_index
from .target import Target, host_target

_TILE_ROW, _TILE_COLUMN, _TILE = 4_000_000, 4_000_001, 4_000_002
_LINE = 64


def lower_contract(
    operation: ir.Operation, symbols: Sequence[Sym], target: Target | None = None
) -> LoweredKernel:
    """The kernel of a `kernel.contract` op; LoweringError if its dtypes or epilogue have no CPU form."""
    with symbols_in_scope(symbols):
        spec = read_contract(operation)
        epilogue = read_epilogue(operation, spec)
        target = target or host_target()
        if _swaps(spec, target):
            spec, epilogue = spec.transposed(), epilogue.transposed()
        return _Emitter(spec, epilogue, target, len(list(operation.operands))).lower()


def _swaps(spec: ContractSpec, target: Target) -> bool:
    """Whether few columns and more rows should change places: lanes are columns."""
    columns = spec.columns.size
    if spec.rhs is None or not columns.is_const or columns.value >= target.lanes(8 * BYTES[spec.accumulator]):
        return False
    most = spec.rows.size.bounds()[1]
    return most is None or most > columns.value


@dataclass(frozen=True)
class _Block:
    """What the tiles of one unit of work share: SSA names of rows [first, last), columns from `column` on."""

    first: str
    last: str
    column: str


class _Emitter:
    def __init__(self, spec: ContractSpec, epilogue: Epilogue, target: Target, operands: int) -> None:
        self.spec = spec
        self.epilogue = epilogue
        self.target = target
        self.kernel = Kernel(target)
        self.kernel.index_nodes.update(epilogue.body.index_nodes)
        self.lhs = self.kernel.load_pointer(1 if spec.swapped else 0)
        self.rhs = self.kernel.load_pointer(0 if spec.swapped else 1)
        self.out = self.kernel.load_pointer(operands)
        for position, tensor in enumerate(epilogue.body.tensors):
            self.kernel.bind_tensor(tensor, self.kernel.load_pointer(position))

    def lower(self) -> LoweredKernel:
        spec, root = self.spec, self.kernel.root
        scratch: Expr = ZERO
        if not any(axis.size is ZERO for axis in (spec.batch, spec.rows, spec.columns)):
            *special, general = make_plans(spec, self.target)
            scratch = maximum(*(_layout(spec, plan)[-1] for plan in (*special, general)))
            body = self.variant(root, general)
            for plan in special:
                body = self.choose(root, plan, body)
            root.lines += body
        if self.kernel.scratch:
            raise LoweringError(
                "the epilogue of a kernel.contract holds loops; the CPU lowering has none there"
            )
        return LoweredKernel(self.kernel.render(), scratch, loops_as_written=True)

    def choose(self, root: Scope, plan: Plan, otherwise: list[str]) -> list[str]:
        rows = scalar_index(root, self.spec.rows.size)
        number = self.kernel.index_constant(plan.condition or 0)
        test = root.assign(f"arith.cmpi eq, {rows}, {number} : i64")
        return [f"scf.if {test} {{", *self.variant(root, plan), "} else {", *otherwise, "}"]

    def variant(self, root: Scope, plan: Plan) -> list[str]:
        """The whole contraction by one plan, as lines; what it needs from outside is put into `root`."""
        spec, constant = self.spec, self.kernel.index_constant
        scope = root.child()
        tiles = scalar_index(scope, (spec.columns.size + plan.tile.columns - 1) // plan.tile.columns)
        heights, blocks = self.row_blocks(scope, plan, tiles)
        per_batch = scope.assign(f"arith.muli {blocks}, {tiles} : i64")
        units = scope.assign(f"arith.muli {scalar_index(scope, spec.batch.size)}, {per_batch} : i64")
        low, high = (self.share(scope, units, tid) for tid in ("%tid", None))
        unit = scope.loop(low, high, constant(1))
        batch = unit.assign(f"arith.divui {unit.index}, {per_batch} : i64")
        rest = unit.assign(f"arith.remui {unit.index}, {per_batch} : i64")
        number = unit.assign(f"arith.divui {rest}, {tiles} : i64")
        tile = unit.assign(f"arith.remui {rest}, {tiles} : i64")
        unit.bind(spec.batch.atom, batch)
        bind_axis(unit, spec.batch, self.epilogue.batch)
        first = self.block_start(unit, plan, number, heights, blocks)
        following = unit.assign(f"arith.addi {number}, {constant(1)} : i64")
        end = self.block_start(unit, plan, following, heights, blocks)
        last = unit.assign(f"arith.minsi {end}, {scalar_index(unit, spec.rows.size)} : i64")
        where = _Block(first, last, scaled(unit, tile, plan.tile.columns))
        buffers = self.buffers(scope, plan)
        if plan.pack_lhs:
            self.pack_block(unit, plan, where, tile, low, buffers[2])
        columns = self.columns(unit, plan, where, tile, buffers[1])
        self.row_tiles(unit, plan, where, columns, buffers)
        unit.close_loop()
        return scope.lines

    def share(self, scope: Scope, units: str, tid: str | None) -> str:
        """The first unit of thread `tid`, or of the thread after this one."""
        if tid is None:
            tid = scope.assign(f"arith.addi %tid, {self.kernel.index_constant(1)} : i64")
        product = scope.assign(f"arith.muli {tid}, {units} : i64")
        return scope.assign(f"arith.divui {product}, %nthreads : i64")

    def block_start(self, scope: Scope, plan: Plan, number: str, tiles: str, blocks: str) -> str:
        """The first row of a block: blocks differ by one row tile at most."""
        product = scope.assign(f"arith.muli {number}, {tiles} : i64")
        tile = scope.assign(f"arith.divui {product}, {blocks} : i64")
        return scaled(scope, tile, plan.tile.rows)

    def row_blocks(self, scope: Scope, plan: Plan, tiles: str) -> tuple[str, str]:
        """Numbers of row tiles and row blocks: blocks fit the cache, and there are enough for all threads."""
        spec, constant = self.spec, self.kernel.index_constant
        height = plan.tile.rows
        count = scalar_index(scope, (spec.rows.size + height - 1) // height)
        if spec.rows.size.is_const and spec.rows.size.value <= height:
            return count, constant(1)
        columns = scope.assign(f"arith.muli {tiles}, {scalar_index(scope, spec.batch.size)} : i64")
        columns = scope.assign(f"arith.maxsi {columns}, {constant(1)} : i64")
        wanted = scope.assign(f"arith.muli %nthreads, {constant(4)} : i64")
        wanted = scope.assign(f"arith.ceildivui {wanted}, {columns} : i64")
        # To the nearest: a block half as large again costs less than a short one at the end.
        fitting = scope.assign(f"arith.addi {count}, {constant(plan.block // 2)} : i64")
        fitting = scope.assign(f"arith.divui {fitting}, {constant(plan.block)} : i64")
        blocks = scope.assign(f"arith.maxsi {fitting}, {wanted} : i64")
        return count, scope.assign(f"arith.minsi {blocks}, {count} : i64")

    def buffers(self, scope: Scope, plan: Plan) -> tuple[str, str, str]:
        """Where in scratch memory the tile's sums, the packed columns and the packed rows are."""
        _, rhs, lhs, _ = _layout(self.spec, plan)
        offsets = (scalar_index(scope, offset) for offset in (rhs, lhs))
        return ("%scratch", *(offset_pointer(scope, "%scratch", offset, "i8") for offset in offsets))  # type: ignore[return-value]

    def pack_block(
        self, unit: LoopScope, plan: Plan, where: _Block, tile: str, low: str, buffer: str
    ) -> None:
        """Packs the block's rows when a thread meets the block for the first time."""
        start = unit.assign(f"arith.cmpi eq, {unit.index}, {low} : i64")
        turn = unit.assign(f"arith.cmpi eq, {tile}, {self.kernel.index_constant(0)} : i64")
        fresh = unit.assign(f"arith.ori {start}, {turn} : i1")
        packing = unit.child()
        pack_rows(
            packing, self.spec, plan, Source(self.lhs, self.spec.lhs), (where.first, where.last), buffer
        )
        unit.lines += [f"scf.if {fresh} {{", *packing.lines, "}"]

    def columns(self, unit: LoopScope, plan: Plan, where: _Block, tile: str, buffer: str) -> Columns:
        """The right operand as this unit's tiles read it."""
        spec = self.spec
        if spec.rhs is None:
            return self.panel(unit, plan, tile)
        packed = Columns(buffer, plan.tile.columns, spec.dtype)
        if plan.pack_rhs:
            pack_columns(unit, spec, plan, Source(self.rhs, spec.rhs), where.column, buffer)
            return packed
        column = DimVar(_TILE_COLUMN, spec.columns.size)
        unit.bind(column, where.column)
        offset = spec.rhs.substitute({spec.columns.atom: column, spec.depth.atom: ZERO})
        pointer = offset_pointer(unit, self.rhs, scalar_index(unit, offset), spec.dtype)
        _, across, depth = strides(spec.rhs, spec)
        assert across is not None and depth is not None
        direct = Columns(pointer, stride_of(unit, depth), spec.dtype, stride_of(unit, across))
        if plan.dot or not needs_tail(spec, plan):
            return direct
        return self.tail(unit, plan, where, direct, packed)

    def tail(self, unit: LoopScope, plan: Plan, where: _Block, direct: Columns, packed: Columns) -> Columns:
        """A tile that reaches past the last column is packed; others are read where they lie."""
        spec, constant = self.spec, self.kernel.index_constant
        assert spec.rhs is not None
        full = whole_tile(unit, spec, plan, where.column)
        ragged = unit.child()
        pack_columns(ragged, spec, plan, Source(self.rhs, spec.rhs), where.column, packed.pointer)
        result = self.kernel.fresh()
        steps = [
            constant(side.depth) if isinstance(side.depth, int) else side.depth for side in (direct, packed)
        ]
        unit.lines += [
            f"{result}:2 = scf.if {full} -> (!llvm.ptr, i64) {{",
            f"scf.yield {direct.pointer}, {steps[0]} : !llvm.ptr, i64",
            "} else {",
            *ragged.lines,
            f"scf.yield {packed.pointer}, {steps[1]} : !llvm.ptr, i64",
            "}",
        ]
        return Columns(f"{result}#0", f"{result}#1", spec.dtype)

    def panel(self, unit: LoopScope, plan: Plan, tile: str) -> Columns:
        """A tile's columns in a panel tensor (*batch, panels, K, width)."""
        spec = self.spec
        assert spec.packed is not None
        width, per_panel = spec.packed, spec.packed // plan.tile.columns
        number = DimVar(_TILE, None)
        unit.bind(number, tile)
        panels = (spec.columns.size + width - 1) // width
        line = (spec.batch.atom * panels + _quotient(number, per_panel)) * spec.depth.size * width
        offset = line + _remainder(number, per_panel) * plan.tile.columns
        pointer = offset_pointer(unit, self.rhs, scalar_index(unit, offset), spec.dtype)
        return Columns(pointer, width, spec.dtype)

    def row_tiles(
        self,
        unit: LoopScope,
        plan: Plan,
        where: _Block,
        columns: Columns,
        buffers: tuple[str, str, str],
    ) -> None:
        spec, constant = self.spec, self.kernel.index_constant
        tile = unit.loop(where.first, where.last, constant(plan.tile.rows))
        rest = tile.assign(f"arith.subi {where.last}, {tile.index} : i64")
        count = tile.assign(f"arith.minsi {rest}, {constant(plan.tile.rows)} : i64")
        rows = self.rows(tile, plan, where, buffers[2])
        bound = scalar_index(tile, spec.columns.size)
        left = tile.assign(f"arith.subi {bound}, {where.column} : i64")
        width = tile.assign(f"arith.minsi {left}, {constant(plan.tile.columns)} : i64")
        shapes = [
            TileShape(
                height,
                plan.tile.vectors,
                plan.tile.lanes,
                plan.tile.unroll if height == plan.tile.rows else 1,
            )
            for height in _heights(spec, plan)
        ]
        cases: list[list[str]] = []
        for shape in shapes:
            case = tile.child()
            if plan.dot:
                emit_dot_tile(case, rows, columns, shape, spec.depth.size, width, buffers[0])
            else:
                emit_tile(case, rows, columns, shape, spec.depth.size, buffers[0])
            cases.append(case.lines)
        if len(cases) == 1:
            tile.lines += cases[0]
        else:
            index = tile.assign(f"arith.index_cast {count} : i64 to index")
            tile.emit(f"scf.index_switch {index}")
            for shape, lines in zip(shapes[:-1], cases[:-1], strict=True):
                tile.lines += [f"case {shape.rows} {{", *lines, "scf.yield", "}"]
            tile.lines += ["default {", *cases[-1], "scf.yield", "}"]
        end = tile.assign(f"arith.addi {tile.index}, {count} : i64")
        limit = tile.assign(f"arith.addi {where.column}, {width} : i64")
        emit_epilogue(
            tile,
            spec,
            self.epilogue,
            plan.tile,
            (tile.index, end),
            (where.column, limit),
            buffers[0],
            self.out,
        )
        tile.close_loop()

    def rows(self, tile: LoopScope, plan: Plan, where: _Block, buffer: str) -> Rows:
        """The left operand as a tile reads it."""
        spec = self.spec
        if plan.pack_lhs:
            done = tile.assign(f"arith.subi {tile.index}, {where.first} : i64")
            depth = spec.depth.size
            start = scaled(tile, done, scalar_index(tile, depth))
            pointer = offset_pointer(tile, buffer, start, spec.accumulator)
            if plan.dot:
                return Rows(pointer, stride_of(tile, depth), 1, spec.accumulator)
            return Rows(pointer, 1, plan.tile.rows, spec.accumulator)
        row = DimVar(_TILE_ROW, spec.rows.size)
        tile.bind(row, tile.index)
        offset = spec.lhs.substitute({spec.rows.atom: row, spec.depth.atom: ZERO})
        pointer = offset_pointer(tile, self.lhs, scalar_index(tile, offset), spec.dtype)
        down, _, along = strides(spec.lhs, spec)
        assert down is not None and along is not None
        return Rows(pointer, stride_of(tile, down), stride_of(tile, along), spec.dtype)


def _quotient(atom: DimVar, divisor: int) -> Expr:
    return atom if divisor == 1 else atom // divisor


def _remainder(atom: DimVar, divisor: int) -> Expr:
    return ZERO if divisor == 1 else atom % divisor


def _heights(spec: ContractSpec, plan: Plan) -> list[int]:
    """The numbers of rows a tile can have, full tiles last."""
    size, full = spec.rows.size, plan.tile.rows
    if plan.condition is not None:
        return [plan.condition]
    if size.is_const:
        return sorted({height for height in (size.value % full, full if size.value >= full else 0) if height})
    return list(range(1, full + 1))


def _layout(spec: ContractSpec, plan: Plan) -> tuple[Expr, Expr, Expr, Expr]:
    """Byte offsets in scratch memory of the sums, the packed columns and the packed rows, and the end."""
    offsets: list[Expr] = [as_expr(0)]
    for elements in scratch_elements(spec, plan):
        size = elements * BYTES[spec.accumulator]
        offsets.append(offsets[-1] + (size + _LINE - 1) // _LINE * _LINE)
    return tuple(offsets)  # type: ignore[return-value]
