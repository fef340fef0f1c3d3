"""`kernel.contract` on the CPU: matrix products of every layout, from matrix-vector to batched, with a fused
epilogue.

The result is cut into column tiles and row blocks; a thread takes a contiguous range of them. For each,
blocks of k one after another, register tiles (contract_tile.py) run over all rows of the block, so that the
block's part of the column tile is read from the L1 cache. Their sums go to scratch memory, and the epilogue
reads them from there: it exists once, whatever the number of rows. Choices stand in contract_plan.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ...dialects.kernel import ContractSchedule, read_schedule
from ...dialects.mlir import ir
from ...dialects.symbolic import ZERO, DimVar, Expr, Sym, as_expr, maximum, minimum, symbols_in_scope
from ...errors import LoweringError
from .abi import LoweredKernel
from .contract_address import Columns, Rows, offset_pointer, scaled, stride_of
from .contract_epilogue import Epilogue, bind_axis, emit_epilogue, read_epilogue
from .contract_library import lower_library
from .contract_pack import Source, pack_columns, pack_rows, whole_tile
from .contract_plan import (
    Plan,
    block_rows,
    depth_step,
    make_plans,
    needs_tail,
    scratch_elements,
    strides,
    tile_sums,
    windows,
)
from .contract_spec import ContractSpec, read_contract
from .contract_tile import emit_dot_tile, emit_tile, emit_zeros
from .emit import BYTES, Kernel, LoopScope, Scope
from .index import scalar_index
from .target import Target, host_target

_TILE_ROW, _TILE_COLUMN, _TILE, _DEPTH_BLOCK = 4_000_000, 4_000_001, 4_000_002, 4_000_003
_LINE = 64


def lower_contract(
    operation: ir.Operation, symbols: Sequence[Sym], target: Target | None = None
) -> LoweredKernel:
    """The kernel of a `kernel.contract` op; LoweringError if its dtypes or epilogue have no CPU form."""
    with symbols_in_scope(symbols):
        spec = read_contract(operation)
        epilogue = read_epilogue(operation, spec)
        attribute = operation.attributes["schedule"] if "schedule" in operation.attributes else None
        target = target or host_target()
        if "library" in operation.attributes:
            return lower_library(operation, spec, epilogue, target)
        if _swaps(spec, target):
            spec, epilogue = spec.transposed(), epilogue.transposed()
        count = len(list(operation.operands))
        return _Emitter(spec, epilogue, target, count, read_schedule(attribute)).lower()


def _swaps(spec: ContractSpec, target: Target) -> bool:
    """Whether few columns and more rows should change places: lanes are columns."""
    columns = spec.columns.size
    if spec.rhs is None or not columns.is_const or columns.value >= target.lanes(8 * BYTES[spec.accumulator]):
        return False
    most = spec.rows.size.bounds()[1]
    return most is None or most > columns.value


@dataclass(frozen=True)
class _Block:
    """What the tiles of one unit of work share: SSA names of rows [first, last), and of `width` columns from
    `column` on.
    """

    first: str
    last: str
    column: str
    width: str


class _Emitter:
    def __init__(
        self,
        spec: ContractSpec,
        epilogue: Epilogue,
        target: Target,
        operands: int,
        schedule: ContractSchedule,
    ) -> None:
        self.spec = spec
        self.schedule = schedule
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
            *special, general = make_plans(spec, self.target, self.schedule)
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
        span = plan.group * plan.tile.columns
        groups = scalar_index(scope, (spec.columns.size + span - 1) // span)
        heights, blocks = self.row_blocks(scope, plan, groups)
        per_batch = scope.assign(f"arith.muli {blocks}, {groups} : i64")
        units = scope.assign(f"arith.muli {scalar_index(scope, spec.batch.size)}, {per_batch} : i64")
        low, high = (self.share(scope, units, tid) for tid in ("%tid", None))
        unit = scope.loop(low, high, constant(1))
        batch = unit.assign(f"arith.divui {unit.index}, {per_batch} : i64")
        rest = unit.assign(f"arith.remui {unit.index}, {per_batch} : i64")
        inner = blocks if plan.columns_outer else groups
        slow = unit.assign(f"arith.divui {rest}, {inner} : i64")
        fast = unit.assign(f"arith.remui {rest}, {inner} : i64")
        number, tile = (fast, slow) if plan.columns_outer else (slow, fast)
        unit.bind(spec.batch.atom, batch)
        bind_axis(unit, spec.batch.atom, self.epilogue.batch)
        first = self.block_start(unit, plan, number, heights, blocks)
        following = unit.assign(f"arith.addi {number}, {constant(1)} : i64")
        end = self.block_start(unit, plan, following, heights, blocks)
        last = unit.assign(f"arith.minsi {end}, {scalar_index(unit, spec.rows.size)} : i64")
        where = _Block(first, last, scaled(unit, tile, plan.tile.columns), self.width(unit, plan, tile))
        fresh = self.is_fresh(unit, low, fast)
        buffers = self.buffers(scope, plan)
        if plan.pack_lhs:
            packing = unit.child()
            source = Source(self.lhs, spec.lhs)
            pack_rows(packing, spec, plan, source, (first, last), buffers[2])
            _guard(unit, packing, None if plan.columns_outer else fresh)
        if plan.group > 1:
            self.grouped(unit, plan, (first, last), tile, tiles, buffers)
        else:
            columns = self.columns(unit, plan, where, (tile, fresh), buffers[1])
            self.depth_blocks(unit, plan, where, columns, buffers)
            self.finish(unit, plan, where, buffers[0])
        unit.close_loop()
        return scope.lines

    def finish(self, scope: Scope, plan: Plan, where: _Block, sums: str) -> None:
        """The results of a unit's rows and columns, from their sums."""
        limit = scope.assign(f"arith.addi {where.column}, {where.width} : i64")
        rows, columns = (where.first, where.last), (where.column, limit)
        emit_epilogue(scope, self.spec, self.epilogue, plan.tile, rows, columns, sums, self.out)

    def grouped(
        self,
        unit: LoopScope,
        plan: Plan,
        rows: tuple[str, str],
        group: str,
        tiles: str,
        buffers: tuple[str, str, str],
    ) -> None:
        """A unit of several column tiles: a block of the rows' k stays in the second cache for all."""
        constant = self.kernel.index_constant
        start = scaled(unit, group, plan.group)
        end = unit.assign(f"arith.addi {start}, {constant(plan.group)} : i64")
        end = unit.assign(f"arith.minsi {end}, {tiles} : i64")

        def each_tile(scope: Scope, body: Callable[[LoopScope, _Block, str], None]) -> None:
            loop = scope.loop(start, end, constant(1))
            number = loop.assign(f"arith.subi {loop.index}, {start} : i64")
            step = scaled(loop, number, tile_sums(plan, block_rows(self.spec, plan)))
            sums = offset_pointer(loop, buffers[0], step, self.spec.accumulator)
            column = scaled(loop, loop.index, plan.tile.columns)
            body(loop, _Block(*rows, column, self.width(loop, plan, loop.index)), sums)
            loop.close_loop()

        count = unit.assign(f"arith.subi {rows[1]}, {rows[0]} : i64")
        each_tile(
            unit,
            lambda loop, _, sums: emit_zeros(loop, plan.tile, self.spec.accumulator, sums, count),
        )
        found = None if plan.pack_lhs else windows(self.spec)
        extents = (self.spec.depth.size,) if found is None else found.extents
        step = depth_step(plan, extents)
        assert step is not None
        block = unit.loop(constant(0), scalar_index(unit, extents[0]), constant(step))
        low = DimVar(_DEPTH_BLOCK, None)
        block.bind(low, block.index)
        bounds = (low, minimum(low + step, extents[0]))
        each_tile(
            block,
            lambda loop, where, sums: self.row_tiles(
                loop, plan, where, self.panel(loop, plan, loop.index), bounds, (sums, *buffers[1:]), True
            ),
        )
        block.close_loop()
        each_tile(unit, lambda loop, where, sums: self.finish(loop, plan, where, sums))

    def width(self, unit: LoopScope, plan: Plan, tile: str) -> str:
        """How many columns of a tile exist."""
        column = scaled(unit, tile, plan.tile.columns)
        bound = scalar_index(unit, self.spec.columns.size)
        left = unit.assign(f"arith.subi {bound}, {column} : i64")
        return unit.assign(f"arith.minsi {left}, {self.kernel.index_constant(plan.tile.columns)} : i64")

    def is_fresh(self, unit: LoopScope, low: str, fast: str) -> str:
        """Whether this unit is a thread's first one of its row block, or column tile if these are outer."""
        start = unit.assign(f"arith.cmpi eq, {unit.index}, {low} : i64")
        turn = unit.assign(f"arith.cmpi eq, {fast}, {self.kernel.index_constant(0)} : i64")
        return unit.assign(f"arith.ori {start}, {turn} : i1")

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

    def columns(
        self, unit: LoopScope, plan: Plan, where: _Block, tile: tuple[str, str], buffer: str
    ) -> Columns:
        """The right operand as this unit's tiles read it; `tile`: the column tile's number and freshness."""
        spec = self.spec
        if spec.rhs is None:
            return self.panel(unit, plan, tile[0])
        packed = Columns(buffer, plan.tile.columns, spec.dtype)
        if plan.pack_rhs:
            packing = unit.child()
            pack_columns(packing, spec, plan, Source(self.rhs, spec.rhs), where.column, buffer)
            _guard(unit, packing, tile[1] if plan.columns_outer else None)
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
        line = (spec.panel_batch * panels + _quotient(number, per_panel)) * spec.depth.size * width
        offset = line + _remainder(number, per_panel) * plan.tile.columns
        pointer = offset_pointer(unit, self.rhs, scalar_index(unit, offset), spec.dtype)
        return Columns(pointer, width, spec.dtype)

    def depth_blocks(
        self, unit: LoopScope, plan: Plan, where: _Block, columns: Columns, buffers: tuple[str, str, str]
    ) -> None:
        """The sums of a unit's rows and columns over all k."""
        found = None if plan.pack_lhs else windows(self.spec)
        extents = (self.spec.depth.size,) if found is None else found.extents
        depth, constant = extents[0], self.kernel.index_constant
        step = depth_step(plan, extents)
        if step is None:
            self.row_tiles(unit, plan, where, columns, (ZERO, depth), buffers, False)
            return
        rows = unit.assign(f"arith.subi {where.last}, {where.first} : i64")
        emit_zeros(unit, plan.tile, self.spec.accumulator, buffers[0], rows)
        block = unit.loop(constant(0), scalar_index(unit, depth), constant(step))
        start = DimVar(_DEPTH_BLOCK, None)
        block.bind(start, block.index)
        self.row_tiles(block, plan, where, columns, (start, minimum(start + step, depth)), buffers, True)
        block.close_loop()

    def row_tiles(
        self,
        scope: Scope,
        plan: Plan,
        where: _Block,
        columns: Columns,
        bounds: tuple[Expr, Expr],
        buffers: tuple[str, str, str],
        add: bool,
    ) -> None:
        """Register tiles over the rows of a unit, for the outermost coordinate of k in `bounds`."""
        spec, constant = self.spec, self.kernel.index_constant
        tile = scope.loop(where.first, where.last, constant(plan.tile.rows))
        rest = tile.assign(f"arith.subi {where.last}, {tile.index} : i64")
        count = tile.assign(f"arith.minsi {rest}, {constant(plan.tile.rows)} : i64")
        done = tile.assign(f"arith.subi {tile.index}, {where.first} : i64")
        sums = offset_pointer(tile, buffers[0], scaled(tile, done, plan.tile.columns), spec.accumulator)
        rows = self.rows(tile, plan, done, buffers[2])
        cases: list[tuple[int, list[str]]] = []
        for height in _heights(spec, plan):
            case = tile.child()
            shape = replace(plan.tile, rows=height)
            if height != plan.tile.rows:
                shape = replace(shape, unroll=shape.chains)
            if plan.dot:
                emit_dot_tile(case, rows, columns, shape, spec.depth.size, where.width, sums)
            else:
                emit_tile(case, rows, columns, shape, bounds, sums, add)
            cases.append((height, case.lines))
        _switch(tile, count, cases)
        tile.close_loop()

    def rows(self, tile: LoopScope, plan: Plan, done: str, buffer: str) -> Rows:
        """The left operand as a tile reads it; `done` rows of the block come before the tile."""
        spec = self.spec
        extents = (spec.depth.size,)
        if plan.pack_lhs:
            start = scaled(tile, done, scalar_index(tile, spec.depth.size))
            pointer = offset_pointer(tile, buffer, start, spec.accumulator)
            if plan.dot:
                return Rows(pointer, stride_of(tile, spec.depth.size), extents, (1,), spec.accumulator)
            return Rows(pointer, 1, extents, (plan.tile.rows,), spec.accumulator)
        found = windows(spec)
        assert found is not None
        steps = tuple(stride_of(tile, step) for step in found.strides)
        row = found.rows.coefficient(spec.rows.atom)
        if row is not None:
            pointer = self.row_start(tile, found.rows, 0)
            return Rows(pointer, stride_of(tile, row), found.extents, steps, spec.dtype)
        starts = tuple(self.row_start(tile, found.rows, r) for r in range(plan.tile.rows))
        return Rows(starts[0], 0, found.extents, steps, spec.dtype, starts)

    def row_start(self, tile: LoopScope, offset: Expr, number: int) -> str:
        """The address of a row of the tile; of the last row of all if there are fewer."""
        spec = self.spec
        row = DimVar(_TILE_ROW + 10 + number, spec.rows.size)
        index = tile.index
        if number:
            after = tile.assign(f"arith.addi {index}, {self.kernel.index_constant(number)} : i64")
            index = tile.assign(f"arith.minsi {after}, {scalar_index(tile, spec.rows.size - 1)} : i64")
        tile.bind(row, index)
        at = scalar_index(tile, offset.substitute({spec.rows.atom: row}))
        return offset_pointer(tile, self.lhs, at, spec.dtype)


def _guard(scope: Scope, body: Scope, condition: str | None) -> None:
    """Runs `body` if `condition` holds, always if it is None."""
    scope.lines += body.lines if condition is None else [f"scf.if {condition} {{", *body.lines, "}"]


def _switch(scope: Scope, value: str, cases: Sequence[tuple[int, list[str]]]) -> None:
    """The case of `value` (an i64); the last one stands for all others."""
    if len(cases) == 1:
        scope.lines += cases[0][1]
        return
    index = scope.assign(f"arith.index_cast {value} : i64 to index")
    scope.emit(f"scf.index_switch {index}")
    for number, lines in cases[:-1]:
        scope.lines += [f"case {number} {{", *lines, "scf.yield", "}"]
    scope.lines += ["default {", *cases[-1][1], "scf.yield", "}"]


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
