"""`kernel.attention` on the CPU: softmax(scores) @ values in one pass over the keys.

A thread takes blocks of rows; lanes are rows, STRIP vectors of them make a strip. For each block of keys and
each strip, a tile of scores [key][row] goes to scratch memory, which stays in the L1 cache: products of keys
and queries by register tiles (contract_tile.py), then the score's body. With lanes as rows the running
maximum, the exponentials and the running total need no sums across lanes, and neither keys nor values are
copied: both are read where they lie, as scalars that a register tile broadcasts. What a strip holds is its
maximum, its total and the weighted values [column][row], rescaled whenever the maximum grows. (Milakov and
Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al., FlashAttention, 2022.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...dialects.mlir import ir
from ...dialects.symbolic import ONE, ZERO, DimVar, Expr, Sym, as_expr, symbols_in_scope
from ...errors import LoweringError
from .abi import LoweredKernel
from .attention_spec import AttentionSpec, Operand, read_attention
from .body import emit_value
from .contract_address import Columns, Rows, load_element, offset_pointer, scaled, store_element, stride_of
from .contract_epilogue import bind_axis, emit_epilogue
from .contract_spec import Axis
from .contract_tile import TileShape, emit_tile
from .emit import BYTES, Kernel, LoopScope, Scope, type_text
from .index import scalar_index
from .memory import lane_compare
from .ops import emit_op
from .target import Target, host_target
from .vecmath import Maths, apply

_ROW, _KEY, _COLUMN, _DEPTH, _LENGTH = 5_000_000, 5_000_001, 5_000_002, 5_000_003, 5_000_004
_STRIPS = 4
"""Strips of rows in a block: they share the block of keys and values in the cache."""

_KEYS = 96
"""Keys of a block: with a strip's scores, queries and sums they fit the L1 cache."""

_SUMMED = 256
"""Products that are added up in registers: rounding errors grow with the length of such a chain."""

_LINE = 64


def lower_attention(
    operation: ir.Operation, symbols: Sequence[Sym], target: Target | None = None
) -> LoweredKernel:
    """The kernel of a `kernel.attention` op; LoweringError if its dtypes or bodies have no CPU form."""
    with symbols_in_scope(symbols):
        spec = read_attention(operation)
        return _Emitter(spec, target or host_target(), len(list(operation.operands))).lower()


@dataclass(frozen=True)
class _Strip:
    """A strip at work: the number of its first row, how many rows are left from there on, and its part of the
    scratch buffers.
    """

    first: str
    left: str
    queries: str
    sums: str
    largest: str
    total: str


class _Emitter:
    def __init__(self, spec: AttentionSpec, target: Target, operands: int) -> None:
        self.spec = spec
        self.kernel = Kernel(target)
        self.lanes = target.lanes(8 * BYTES[spec.dtype])
        few = spec.rows.size.is_const and spec.rows.size.value <= self.lanes
        self.vectors = 1 if few else 2
        self.width = self.lanes * self.vectors
        self.height = 6 if target.registers == 16 else 12
        rows = spec.rows.size
        self.strips = min(_STRIPS, -(-rows.value // self.width)) if rows.is_const else _STRIPS
        self.strips = max(self.strips, 1)
        self.kind = type_text(spec.dtype, self.lanes)
        for body in (spec.score.body, spec.epilogue.body):
            self.kernel.index_nodes.update(body.index_nodes)
            for position, tensor in enumerate(body.tensors):
                self.kernel.bind_tensor(tensor, self.kernel.load_pointer(position))
        self.out = self.kernel.load_pointer(operands)
        self.offsets, self.scratch = self._layout()

    def constant(self, value: int) -> str:
        return self.kernel.index_constant(value)

    def lower(self) -> LoweredKernel:
        spec, root = self.spec, self.kernel.root
        if not any(axis.size is ZERO for axis in (spec.batch, spec.rows, spec.columns)):
            self._units(root)
        if self.kernel.scratch:
            raise LoweringError("the body of a kernel.attention holds loops; the CPU lowering has none there")
        return LoweredKernel(self.kernel.render(), self.scratch, loops_as_written=True)

    # Scratch memory.

    def _layout(self) -> tuple[dict[str, Expr], Expr]:
        spec = self.spec
        depth, columns = spec.depth.size, spec.columns.size
        elements: dict[str, Expr] = {
            "queries": depth * (self.strips * self.width) if spec.query is not None else ZERO,
            "scores": as_expr(_KEYS * self.width),
            "sums": columns * (self.strips * self.width),
            "largest": as_expr(self.strips * self.width),
            "total": as_expr(self.strips * self.width),
            "result": as_expr(self.width * self._result_columns()),
            "keys": depth * _KEYS
            if spec.key is not None and not self._direct(spec.key, spec.depth)
            else ZERO,
            "values": ZERO if self._direct(spec.values, spec.columns) else columns * _KEYS,
        }
        offsets: dict[str, Expr] = {}
        end: Expr = ZERO
        for name, count in elements.items():
            offsets[name] = end
            end = end + (count * BYTES[spec.dtype] + _LINE - 1) // _LINE * _LINE
        return offsets, end

    def _result_columns(self) -> int:
        columns = self.spec.columns.size
        most = 64 // self.lanes * self.lanes
        if not columns.is_const:
            return most
        return min(most, -(-columns.value // self.lanes) * self.lanes)

    def _direct(self, operand: Operand, other: Axis) -> bool:
        """Whether an operand is linear along the keys and along its other axis."""
        return all(operand.offset.coefficient(axis.atom) is not None for axis in (self.spec.keys, other))

    def _buffer(self, scope: Scope, name: str) -> str:
        return offset_pointer(scope, "%scratch", scalar_index(scope, self.offsets[name]), "i8")

    # Units of work.

    def _units(self, root: Scope) -> None:
        spec = self.spec
        block_rows = self.strips * self.width
        rows = scalar_index(root, spec.rows.size)
        blocks = scalar_index(root, (spec.rows.size + (block_rows - 1)) // block_rows)
        units = root.assign(f"arith.muli {blocks}, {scalar_index(root, spec.batch.size)} : i64")
        buffers = {name: self._buffer(root, name) for name in self.offsets}
        # Thread t takes every nthreads-th unit: later rows may have more keys to look at.
        unit = root.loop("%tid", units, "%nthreads")
        batch = unit.assign(f"arith.divui {unit.index}, {blocks} : i64")
        number = unit.assign(f"arith.remui {unit.index}, {blocks} : i64")
        unit.bind(spec.batch.atom, batch)
        bind_axis(unit, spec.batch.atom, spec.score.batch)
        bind_axis(unit, spec.batch.atom, spec.epilogue.batch)
        first = scaled(unit, number, block_rows)
        end = unit.assign(f"arith.addi {first}, {self.constant(block_rows)} : i64")
        last = unit.assign(f"arith.minsi {end}, {rows} : i64")
        self._start(unit, first, last, buffers)
        stop = self._last_key(unit, last)
        block = unit.loop(self.constant(0), stop, self.constant(_KEYS))
        left = block.assign(f"arith.subi {stop}, {block.index} : i64")
        length = block.assign(f"arith.minsi {left}, {self.constant(_KEYS)} : i64")
        self._keys(block, first, last, length, buffers)
        block.close_loop()
        self._finish(unit, first, last, buffers)
        unit.close_loop()

    def _strip_loop(
        self, scope: Scope, first: str, last: str, buffers: dict[str, str]
    ) -> tuple[LoopScope, _Strip]:
        spec = self.spec
        loop = scope.loop(first, last, self.constant(self.width))
        done = loop.assign(f"arith.subi {loop.index}, {first} : i64")
        left = loop.assign(f"arith.subi {last}, {loop.index} : i64")

        def part(name: str, per_row: Expr) -> str:
            start = scaled(loop, done, stride_of(loop, per_row))
            return offset_pointer(loop, buffers[name], start, spec.dtype)

        strip = _Strip(
            loop.index,
            left,
            part("queries", spec.depth.size),
            part("sums", spec.columns.size),
            part("largest", ONE),
            part("total", ONE),
        )
        return loop, strip

    def _start(self, unit: Scope, first: str, last: str, buffers: dict[str, str]) -> None:
        """Packs the queries [depth][row] of each strip, and clears what it accumulates."""
        spec = self.spec
        loop, strip = self._strip_loop(unit, first, last, buffers)
        zero = self.kernel.constant(spec.dtype, 0, self.lanes)
        lowest = self.kernel.constant(spec.dtype, -math.inf, self.lanes)
        total = self._first_total(loop)
        for v in range(self.vectors):
            for pointer, value in ((strip.largest, lowest), (strip.total, total)):
                store_element(
                    loop,
                    value,
                    offset_pointer(loop, pointer, v * self.lanes, spec.dtype),
                    spec.dtype,
                    self.lanes,
                )
        column = loop.loop(self.constant(0), scalar_index(loop, spec.columns.size), self.constant(1))
        line = offset_pointer(column, strip.sums, scaled(column, column.index, self.width), spec.dtype)
        for v in range(self.vectors):
            store_element(
                column, zero, offset_pointer(column, line, v * self.lanes, spec.dtype), spec.dtype, self.lanes
            )
        column.close_loop()
        if spec.query is not None:
            self._pack_queries(loop, strip)
        loop.close_loop()

    def _first_total(self, scope: Scope) -> str:
        """0; without any keys 1, so that the sum over nothing stays 0."""
        kernel, dtype = self.kernel, self.spec.dtype
        zero = kernel.constant(dtype, 0, self.lanes)
        least = self.spec.keys.size.bounds()[0]
        if least is not None and least > 0:
            return zero
        count = scalar_index(scope, self.spec.keys.size)
        empty = scope.assign(f"arith.cmpi eq, {count}, {self.constant(0)} : i64")
        return scope.assign(
            f"arith.select {empty}, {kernel.constant(dtype, 1, self.lanes)}, {zero} : {self.kind}"
        )

    def _pack_queries(self, loop: Scope, strip: _Strip) -> None:
        """Rows past the last one repeat it: nobody reads what becomes of them."""
        spec = self.spec
        assert spec.query is not None
        number = loop.loop(self.constant(0), self.constant(self.width), self.constant(1))
        end = number.assign(f"arith.subi {strip.left}, {self.constant(1)} : i64")
        inside = number.assign(f"arith.minsi {number.index}, {end} : i64")
        row = DimVar(_ROW, spec.rows.size)
        number.bind(row, number.assign(f"arith.addi {strip.first}, {inside} : i64"))
        along = number.loop(self.constant(0), scalar_index(number, spec.depth.size), self.constant(1))
        depth = DimVar(_DEPTH, spec.depth.size)
        along.bind(depth, along.index)
        offset = spec.query.offset.substitute({spec.rows.atom: row, spec.depth.atom: depth})
        source = self._pointer(along, spec.query, offset)
        value = load_element(along, source, spec.query.dtype)
        place = along.assign(f"arith.addi {scaled(along, along.index, self.width)}, {number.index} : i64")
        store_element(along, value, offset_pointer(along, strip.queries, place, spec.dtype), spec.dtype)
        along.close_loop()
        number.close_loop()

    def _pointer(self, scope: Scope, operand: Operand, offset: Expr) -> str:
        base = self.kernel.load_pointer(operand.position)
        return offset_pointer(scope, base, scalar_index(scope, offset), operand.dtype)

    def _last_key(self, unit: Scope, last: str) -> str:
        """One past the last key that a row before `last` may look at: a score that is -inf for all keys from
        some position on (a causal mask) has weight 0 there, which changes no finite sum.
        """
        spec = self.spec
        keys = scalar_index(unit, spec.keys.size)
        bound = _causal_bound(spec)
        if bound is None:
            return keys
        row = DimVar(_ROW, spec.rows.size)
        unit.bind(row, unit.assign(f"arith.subi {last}, {self.constant(1)} : i64"))
        stop = scalar_index(unit, bound.substitute({spec.score.rows[-1]: row}))
        stop = unit.assign(f"arith.maxsi {stop}, {self.constant(0)} : i64")
        return unit.assign(f"arith.minsi {stop}, {keys} : i64")

    # A block of keys.

    def _keys(self, block: LoopScope, first: str, last: str, length: str, buffers: dict[str, str]) -> None:
        spec = self.spec
        key_lines = None
        if spec.key is not None:
            key_lines = self._lines(block, spec.key, spec.depth, length, buffers["keys"])
        values = self._lines(block, spec.values, spec.columns, length, buffers["values"])
        count = DimVar(_LENGTH, as_expr(_KEYS + 1))
        block.bind(count, length)
        loop, strip = self._strip_loop(block, first, last, buffers)
        if key_lines is not None:
            self._products(loop, key_lines, strip, length, buffers["scores"])
        for v in range(self.vectors):
            self._weights(loop, strip, block.index, length, v, buffers["scores"])
        self._accumulate(loop, values, strip, count, buffers)
        loop.close_loop()

    def _lines(self, block: LoopScope, operand: Operand, other: Axis, length: str, buffer: str) -> Rows:
        """Keys or values of the block: rows are keys, `depth` the other axis; packed where not linear."""
        spec = self.spec
        key, across = DimVar(_KEY, spec.keys.size), DimVar(_COLUMN, other.size)
        if self._direct(operand, other):
            block.bind(key, block.index)
            down = operand.offset.coefficient(spec.keys.atom)
            along = operand.offset.coefficient(other.atom)
            assert down is not None and along is not None
            offset = operand.offset.substitute({spec.keys.atom: key, other.atom: ZERO})
            pointer = self._pointer(block, operand, offset)
            steps = (stride_of(block, along),)
            return Rows(pointer, stride_of(block, down), (other.size,), steps, operand.dtype)
        line = block.loop(self.constant(0), length, self.constant(1))
        line.bind(key, line.assign(f"arith.addi {block.index}, {line.index} : i64"))
        item = line.loop(self.constant(0), scalar_index(line, other.size), self.constant(1))
        item.bind(across, item.index)
        offset = operand.offset.substitute({spec.keys.atom: key, other.atom: across})
        value = load_element(item, self._pointer(item, operand, offset), operand.dtype)
        size = stride_of(item, other.size)
        place = item.assign(f"arith.addi {scaled(item, line.index, size)}, {item.index} : i64")
        store_element(item, value, offset_pointer(item, buffer, place, spec.dtype), spec.dtype)
        item.close_loop()
        line.close_loop()
        return Rows(buffer, stride_of(block, other.size), (other.size,), (1,), spec.dtype)

    def _shape(self, rows: int) -> TileShape:
        return TileShape(rows, self.vectors, self.lanes, 4 if rows * self.vectors <= 12 else 2)

    def _products(self, loop: Scope, keys: Rows, strip: _Strip, length: str, scores: str) -> None:
        """scores[key][row] = sum over depth of key * query."""
        queries = Columns(strip.queries, self.width, self.spec.dtype)
        tall = self.constant(self.height)
        rest = loop.assign(f"arith.remui {length}, {tall} : i64")
        whole = loop.assign(f"arith.subi {length}, {rest} : i64")
        for start, end, rows in ((self.constant(0), whole, self.height), (whole, length, 1)):
            tile = loop.loop(start, end, self.constant(rows))
            pointer = offset_pointer(tile, keys.pointer, scaled(tile, tile.index, keys.row), keys.dtype)
            lines = replace(keys, pointer=pointer)
            target = offset_pointer(tile, scores, scaled(tile, tile.index, self.width), self.spec.dtype)
            for low, high, add in _blocks(self.spec.depth.size):
                emit_tile(tile, lines, queries, self._shape(rows), (low, high), target, add)
            tile.close_loop()

    def _weights(
        self, loop: Scope, strip: _Strip, first_key: str, length: str, vector: int, scores: str
    ) -> None:
        """Turns one vector of rows of the products into exp(score - running maximum), and rescales what the
        strip holds so far.
        """
        spec, dtype = self.spec, self.spec.dtype
        scope = loop.child()
        start = scope.assign(f"arith.addi {strip.first}, {self.constant(vector * self.lanes)} : i64")
        left = scope.assign(f"arith.subi {strip.left}, {self.constant(vector * self.lanes)} : i64")
        column = offset_pointer(scope, scores, vector * self.lanes, dtype)
        lowest = self.kernel.constant(dtype, -math.inf, self.lanes)
        apart = not self._lanes_of_rows()
        if not apart:
            self._bind_rows(scope, start, left)
        key = scope.loop(self.constant(0), length, self.constant(1), [(lowest, self.kind)])
        position = key.assign(f"arith.addi {first_key}, {key.index} : i64")
        key.bind(spec.keys.atom, position)
        bind_axis(key, spec.keys.atom, spec.score.keys)
        place = offset_pointer(key, column, scaled(key, key.index, self.width), dtype)
        if apart:
            self._score_by_lane(key, start, left, place)
            score = load_element(key, place, dtype, self.lanes)
        else:
            score = self._score(key, place)
            store_element(key, score, place, dtype, self.lanes)
        most = emit_op(key, "maximum", self.lanes, dtype, (key.arguments[0], score))
        (block_most,) = key.close_loop([most])
        maths = Maths(scope, self.lanes, dtype)
        at = offset_pointer(scope, strip.largest, vector * self.lanes, dtype)
        before = load_element(scope, at, dtype, self.lanes)
        largest = emit_op(scope, "maximum", self.lanes, dtype, (before, block_most))
        store_element(scope, largest, at, dtype, self.lanes)
        # Where all scores so far are -inf, anything finite will do: the weights are 0.
        empty = maths.compare("oeq", largest, lowest)
        shift = maths.select(empty, maths.constant(0.0), largest)
        factor = apply(maths, "exp", maths.sub(before, shift))
        zero = self.kernel.constant(dtype, 0, self.lanes)
        again = scope.loop(self.constant(0), length, self.constant(1), [(zero, self.kind)])
        place = offset_pointer(again, column, scaled(again, again.index, self.width), dtype)
        inner = Maths(again, self.lanes, dtype)
        weight = apply(inner, "exp", inner.sub(load_element(again, place, dtype, self.lanes), shift))
        store_element(again, weight, place, dtype, self.lanes)
        (added,) = again.close_loop([inner.add(again.arguments[0], weight)])
        at = offset_pointer(scope, strip.total, vector * self.lanes, dtype)
        total = load_element(scope, at, dtype, self.lanes)
        store_element(scope, maths.fma(total, factor, added), at, dtype, self.lanes)
        sums = scope.loop(self.constant(0), scalar_index(scope, spec.columns.size), self.constant(1))
        line = offset_pointer(sums, strip.sums, scaled(sums, sums.index, self.width), dtype)
        line = offset_pointer(sums, line, vector * self.lanes, dtype)
        value = load_element(sums, line, dtype, self.lanes)
        store_element(sums, Maths(sums, self.lanes, dtype).mul(value, factor), line, dtype, self.lanes)
        sums.close_loop()
        scope.close()

    def _lanes_of_rows(self) -> bool:
        """Whether a vector's rows are neighbours along one dim."""
        dims = [extent for extent in self.spec.rows.dims if extent is not ONE]
        return len(dims) <= 1 or (dims[-1] % self.lanes) is ZERO

    def _bind_rows(self, scope: Scope, start: str, left: str) -> None:
        """Gives the score's row indices their values: vectors along the last dim."""
        rows = self.spec.rows
        mask = None if (rows.size % self.lanes) is ZERO else lane_compare(scope, "slt", left, self.lanes)
        aligned = (rows.size % self.width) is ZERO
        scope.bind(rows.atom, start)
        inner = max((k for k, extent in enumerate(rows.dims) if extent is not ONE), default=-1)
        pairs = zip(self.spec.score.rows, rows.coordinates(rows.atom), strict=True)
        for position, (index, coordinate) in enumerate(pairs):
            value = scalar_index(scope, coordinate)
            if position == inner:
                scope.bind_vector(index, (value,), self.lanes, mask, aligned=aligned)
            else:
                scope.bind(index, value)

    def _score(self, key: LoopScope, place: str) -> str:
        """The score of a vector of rows at one key."""
        spec = self.spec
        if spec.score.body.accumulator is not None:
            product = load_element(key, place, spec.dtype, self.lanes)
            key.define(spec.score.body.accumulator, (product,))
            if key.vector is None:  # a single row, which no vector loop runs along
                return self._score_of_one(key, product)
        result = spec.score.body.result
        (value,) = emit_value(self.kernel, result, key)
        if key.vector_for(result.dependences) is None:
            value = key.assign(f"vector.broadcast {value} : {spec.dtype} to {self.kind}")
        return value

    def _score_of_one(self, key: LoopScope, products: str) -> str:
        spec = self.spec
        assert spec.score.body.accumulator is not None
        scalar = key.assign(f"vector.extract {products}[0] : {spec.dtype} from {self.kind}")
        key.define(spec.score.body.accumulator, (scalar,))
        (value,) = emit_value(self.kernel, spec.score.body.result, key)
        return key.assign(f"vector.broadcast {value} : {spec.dtype} to {self.kind}")

    def _score_by_lane(self, key: LoopScope, start: str, left: str, place: str) -> None:
        """The scores of a vector of rows at one key, one after the other."""
        spec = self.spec
        count = key.assign(f"arith.minsi {left}, {self.constant(self.lanes)} : i64")
        lane = key.loop(self.constant(0), count, self.constant(1))
        lane.bind(spec.rows.atom, lane.assign(f"arith.addi {start}, {lane.index} : i64"))
        bind_axis(lane, spec.rows.atom, spec.score.rows)
        at = offset_pointer(lane, place, lane.index, spec.dtype)
        if spec.score.body.accumulator is not None:
            lane.define(spec.score.body.accumulator, (load_element(lane, at, spec.dtype),))
        (value,) = emit_value(self.kernel, spec.score.body.result, lane)
        store_element(lane, value, at, spec.dtype)
        lane.close_loop()

    def _accumulate(
        self, loop: Scope, values: Rows, strip: _Strip, count: DimVar, buffers: dict[str, str]
    ) -> None:
        """sums[column][row] += sum over the block's keys of value * weight."""
        spec = self.spec
        weights = Columns(buffers["scores"], self.width, spec.dtype)
        size = spec.columns.size
        rest = size % self.height
        parts = [(ZERO, size - rest, self.height)]
        if rest.is_const and rest.value:
            parts.append((size - rest, size, rest.value))
        elif not rest.is_const:
            parts.append((size - rest, size, 1))
        for begin, end, rows in parts:
            if begin is end:
                continue
            start, stop = (scalar_index(loop, bound) for bound in (begin, end))
            tile = loop.loop(start, stop, self.constant(rows))
            (along,) = values.strides
            pointer = offset_pointer(tile, values.pointer, scaled(tile, tile.index, along), values.dtype)
            lines = Rows(pointer, along, (spec.keys.size,), (values.row,), values.dtype)
            target = offset_pointer(tile, strip.sums, scaled(tile, tile.index, self.width), spec.dtype)
            emit_tile(tile, lines, weights, self._shape(rows), (ZERO, count), target, add=True)
            tile.close_loop()

    # The result.

    def _finish(self, unit: Scope, first: str, last: str, buffers: dict[str, str]) -> None:
        spec, dtype = self.spec, self.spec.dtype
        loop, strip = self._strip_loop(unit, first, last, buffers)
        self._divide(loop, strip)
        wide = self._result_columns()
        limit = scalar_index(loop, spec.columns.size)
        count = loop.assign(f"arith.minsi {strip.left}, {self.constant(self.width)} : i64")
        part = loop.loop(self.constant(0), limit, self.constant(wide))
        following = part.assign(f"arith.addi {part.index}, {self.constant(wide)} : i64")
        end = part.assign(f"arith.minsi {following}, {limit} : i64")
        column = part.loop(part.index, end, self.constant(1))
        line = offset_pointer(column, strip.sums, scaled(column, column.index, self.width), dtype)
        number = column.assign(f"arith.subi {column.index}, {part.index} : i64")
        row = column.loop(self.constant(0), count, self.constant(1))
        value = load_element(row, offset_pointer(row, line, row.index, dtype), dtype)
        place = row.assign(f"arith.addi {scaled(row, row.index, wide)}, {number} : i64")
        store_element(row, value, offset_pointer(row, buffers["result"], place, dtype), dtype)
        row.close_loop()
        column.close_loop()
        stop = part.assign(f"arith.addi {strip.first}, {count} : i64")
        shape = TileShape(self.width, wide // self.lanes, self.lanes)
        emit_epilogue(
            part,
            spec.result,
            spec.epilogue,
            shape,
            (strip.first, stop),
            (part.index, end),
            buffers["result"],
            self.out,
        )
        part.close_loop()
        loop.close_loop()

    def _divide(self, loop: Scope, strip: _Strip) -> None:
        """The sums of a strip by its totals."""
        spec, dtype = self.spec, self.spec.dtype
        for v in range(self.vectors):
            total, largest = (
                load_element(loop, offset_pointer(loop, pointer, v * self.lanes, dtype), dtype, self.lanes)
                for pointer in (strip.total, strip.largest)
            )
            column = loop.loop(self.constant(0), scalar_index(loop, spec.columns.size), self.constant(1))
            line = offset_pointer(column, strip.sums, scaled(column, column.index, self.width), dtype)
            line = offset_pointer(column, line, v * self.lanes, dtype)
            maths = Maths(column, self.lanes, dtype)
            value = maths.div(load_element(column, line, dtype, self.lanes), total)
            if spec.zero_empty_rows:
                empty = maths.compare("oeq", largest, maths.constant(-math.inf))
                value = maths.select(empty, maths.constant(0.0), value)
            store_element(column, value, line, dtype, self.lanes)
            column.close_loop()


def _blocks(depth: Expr) -> Iterator[tuple[Expr, Expr, bool]]:
    """Blocks of a long depth: the sums of each are added up in registers, and then added to those before."""
    if not depth.is_const:
        yield ZERO, depth, False
        return
    for begin in range(0, max(depth.value, 1), _SUMMED):
        yield as_expr(begin), as_expr(min(begin + _SUMMED, depth.value)), begin > 0


def _causal_bound(spec: AttentionSpec) -> Expr | None:
    """For a score `select(position(row, key) > limit, -inf, ...)` with a position that grows by one with the
    key and falls by one with the row: one past the last key that a row may look at, as an expression.
    """
    root = spec.score.body.result
    if root.op != "select" or len(spec.score.rows) == 0 or len(spec.keys.dims) != 1:
        return None
    condition, masked, _ = root.operands
    if masked.op != "constant" or masked.data != -math.inf or condition.op != "less_than":
        return None
    limit, position = condition.operands
    if limit.op != "constant" or position.op != "index_value":
        return None
    if any(extent is not ONE for extent in spec.rows.dims[:-1]):
        return None
    row, key = spec.score.rows[-1], spec.score.keys[0]
    if position.data.coefficient(key) is not ONE or position.data.coefficient(row) is not as_expr(-1):
        return None
    # position = key - row + rest > limit is masked.
    rest = position.data - key + row
    return row - rest + int(limit.data) + 1
