"""Loops of a kernel: vector loops with their tails, reductions, and locals.

A reduction that varies with the vector loop around it keeps vector accumulators over scalar loops. Any other
one gets a
vector loop of its own with several accumulators, combined at the end. Long float sums are cut into blocks,
whose sums are
added up in turn: the error grows with the number of blocks plus their length, not with the product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...dialects.symbolic import ZERO, DimVar, Expr
from ...errors import LoweringError
from .body import emit_block, full_extent, operand
from .emit import BYTES, COMPUTE, Kernel, LoopScope, Names, Scope, VectorLoop, type_text
from .index import scalar_index
from .memory import emit_store, lane_compare
from .ops import emit_op, round_half
from .tree import Block, Loops, Node, Tensor, walk
from .vecmath import FUNCTIONS, Maths

BLOCK_VECTORS = 1024
"""Vectors summed into one accumulator set before it is added to the total."""

UNROLLED_LOOP = 4
"""Scalar loops of at most this length are written out."""

_HEAVY = {
    **dict.fromkeys(FUNCTIONS, 16),
    "div": 3,
    "recip": 3,
    "sqrt": 4,
    "rsqrt": 6,
    "mod": 12,
    "floor_div": 16,
}

Accumulate = Callable[[Scope, Names], Sequence[str]]
"""Emits one step of a loop in the given scope from the carried values; returns the values to carry on."""


def weight(block: Block) -> int:
    """About how many vector instructions one step of a block takes."""
    total = 0
    for node in walk(block):
        wide = 2 if node.dtype in ("f64", "i64") else 1
        total += wide * _HEAVY.get(node.op, 1)
    return total


def unroll(block: Block) -> int:
    """How many vectors to work on at once. Interleaved, their chains of dependent steps hide each other's
    latency.
    """
    load = weight(block)
    return 4 if load <= 40 else 2 if load <= 120 else 1


def vector_loops(
    scope: Scope,
    atom: DimVar,
    bounds: tuple[str, str],
    length: Expr,
    lanes: int,
    count: int,
    carried: Sequence[str],
    kind: str,
    step: Accumulate,
) -> list[str]:
    """A loop over `atom` in [lower, upper) by `count` vectors at a time, then the rest vector by vector.

    `bounds` are the names of lower (a multiple of `lanes`) and upper; `length` is the extent of the atom,
    from which
    divisibility is seen. `carried` has `count` values of type `kind`, or none.
    """
    lower, upper = bounds
    kernel = scope.kernel
    block = lanes * count
    middle = lower
    values = list(carried)
    if not (length.is_const and length.value < block):
        middle = block_end(scope, lower, upper, block)
        loop = scope.loop(lower, middle, kernel.index_constant(block), [(value, kind) for value in values])
        names = [loop.index]
        for u in range(1, count):
            names.append(loop.assign(f"arith.addi {loop.index}, {kernel.index_constant(u * lanes)} : i64"))
        loop.bind_vector(atom, names, lanes, None, aligned=True)
        values = loop.close_loop(step(loop, tuple(loop.arguments)))
    if not (length.is_const and length.value % block == 0):
        tail = vector_tail(scope, atom, (middle, upper), length, lanes, values[:1], kind, step)
        values[:1] = tail
    return values


def block_end(scope: Scope, lower: str, upper: str, block: int) -> str:
    """lower + the largest multiple of `block` (a power of two) that fits."""
    size = scope.assign(f"arith.subi {upper}, {lower} : i64")
    whole = scope.assign(f"arith.andi {size}, {scope.kernel.index_constant(-block)} : i64")
    return scope.assign(f"arith.addi {lower}, {whole} : i64")


def vector_tail(
    scope: Scope,
    atom: DimVar,
    bounds: tuple[str, str],
    length: Expr,
    lanes: int,
    carried: Sequence[str],
    kind: str,
    step: Accumulate,
) -> list[str]:
    """A loop over [lower, upper) by one vector at a time, masked where it may stick out."""
    lower, upper = bounds
    pairs = [(value, kind) for value in carried]
    loop = scope.loop(lower, upper, scope.kernel.index_constant(lanes), pairs)
    mask = None
    if not (length.is_const and length.value % lanes == 0):
        rest = loop.assign(f"arith.subi {upper}, {loop.index} : i64")
        mask = lane_compare(loop, "slt", rest, lanes)
    loop.bind_vector(atom, (loop.index,), lanes, mask, aligned=True)
    return loop.close_loop(step(loop, tuple(loop.arguments)))


def scalar_loops(
    scope: Scope, atoms: Sequence[DimVar], carried: Sequence[str], kind: str, innermost: Accumulate
) -> list[str]:
    """Nested scalar loops over whole extents, outermost first, around `innermost`."""
    if not atoms:
        return list(innermost(scope, tuple(carried)))
    extent = full_extent(atoms[0])
    if extent.is_const and extent.value <= UNROLLED_LOOP:
        values = list(carried)
        for index in range(extent.value):
            step = scope.child()
            step.bind(atoms[0], scope.kernel.index_constant(index))
            values = scalar_loops(step, atoms[1:], values, kind, innermost)
            step.close()
        return values
    loop = _scalar_loop(scope, atoms[0], [(value, kind) for value in carried])
    return loop.close_loop(scalar_loops(loop, atoms[1:], loop.arguments, kind, innermost))


def _scalar_loop(scope: Scope, atom: DimVar, carried: Sequence[tuple[str, str]]) -> LoopScope:
    kernel = scope.kernel
    upper = scalar_index(scope, full_extent(atom))
    loop = scope.loop(kernel.index_constant(0), upper, kernel.index_constant(1), carried)
    loop.bind(atom, loop.index)
    return loop


class Reduction:
    """How one reduction accumulates: its identity, its combination, its types."""

    def __init__(self, kernel: Kernel, node: Node) -> None:
        self.kernel = kernel
        self.node = node
        self.loops: Loops = node.data
        self.dtype = "f32" if node.dtype in ("f16", "bf16") else node.dtype
        self.element = COMPUTE[node.dtype]
        ops = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}
        if self.loops.kind not in ops:
            raise LoweringError(f"the CPU target has no reduction '{self.loops.kind}'")
        self.op = ops[self.loops.kind]

    def identity(self, lanes: int) -> str:
        """The value of an empty reduction."""
        if self.op in ("add", "mul"):
            value: float | int = 0 if self.op == "add" else 1
        elif self.element.startswith("f"):
            value = float("-inf") if self.op == "maximum" else float("inf")
        elif self.element == "i1":
            value = int(self.op == "minimum")
        else:
            bits = int(self.element[1:])
            value = -(1 << (bits - 1)) if self.op == "maximum" else (1 << (bits - 1)) - 1
        return self.kernel.constant(self.element, value, lanes)

    def combine(self, scope: Scope, lanes: int, accumulator: str, value: str) -> str:
        """The accumulator with one more value."""
        return emit_op(scope, self.op, lanes, self.dtype, (value, accumulator))

    def step(self, loop: VectorLoop | None, own: bool) -> Accumulate:
        """One step of the innermost loop: on vectors of the loop outside, of a loop of its `own`, or on
        scalars.
        """

        def emit(scope: Scope, accumulators: Names) -> Sequence[str]:
            around = scope.vector if own else loop
            lanes = around.lanes if around is not None else 0
            result = self.loops.block.results[0]
            emit_block(self.kernel, self._before(result), scope)
            if self._is_product(result):
                factors = [operand(self.kernel, each, scope, around) for each in result.operands]
                maths = Maths(scope, lanes, self.element)
                rows = zip(*factors, accumulators, strict=True)
                updated = [maths.fma(a, b, accumulator) for a, b, accumulator in rows]
            else:
                values = operand(self.kernel, result, scope, around)
                pairs = zip(accumulators, values, strict=True)
                updated = [self.combine(scope, lanes, accumulator, value) for accumulator, value in pairs]
            if not own or around is None or around.mask is None:
                return updated
            kept = zip(updated, accumulators, strict=True)
            mask, kind = around.mask, type_text(self.element, lanes)
            flags = type_text("i1", lanes)
            return [scope.assign(f"arith.select {mask}, {new}, {old} : {flags}, {kind}") for new, old in kept]

        return emit

    def _is_product(self, result: Node) -> bool:
        return self.op == "add" and result.op == "mul" and result.dtype in ("f32", "f64")

    def _before(self, result: Node) -> Block:
        """The nodes of the body without the product that is fused with the sum."""
        block = self.loops.block
        if not self._is_product(result) or any(result in node.operands for node in block.nodes):
            return block
        return Block([node for node in block.nodes if node is not result], block.results)

    def across(self, scope: Scope, accumulators: Sequence[str], lanes: int) -> str:
        """All accumulators and all their lanes combined to one scalar."""
        values = list(accumulators)
        while len(values) > 1:
            half = (len(values) + 1) // 2
            paired = [
                self.combine(scope, lanes, values[k], values[k + half]) for k in range(len(values) - half)
            ]
            values = paired + values[len(paired) : half]
        value = values[0]
        while lanes > 1:
            kind = type_text(self.element, lanes)
            halves = []
            for start in (0, lanes // 2):
                picked = ", ".join(map(str, range(start, start + lanes // 2)))
                halves.append(scope.assign(f"vector.shuffle {value}, {value} [{picked}] : {kind}, {kind}"))
            lanes //= 2
            value = self.combine(scope, lanes, halves[0], halves[1])
        if lanes:
            value = scope.assign(
                f"vector.extract {value}[0] : {self.element} from {type_text(self.element, 1)}"
            )
        return value

    def finish(self, scope: Scope, lanes: int, value: str) -> str:
        """The accumulator as a value of the node's dtype."""
        if self.node.dtype in ("f16", "bf16"):
            return round_half(Maths(scope, lanes), self.node.dtype, value)
        return value


def emit_reduce(kernel: Kernel, node: Node, home: Scope, loop: VectorLoop | None) -> Names:
    """The value of a reduction, computed in `home`."""
    reduction = Reduction(kernel, node)
    atoms = reduction.loops.atoms
    own_lanes = 0 if loop is not None else _own_lanes(kernel, reduction.loops)
    lanes = loop.lanes if loop is not None else own_lanes
    count = loop.count if loop is not None else 1
    if own_lanes:
        count = _own_count(kernel, reduction.loops, own_lanes)
    kind = type_text(reduction.element, lanes)
    initial = [reduction.identity(lanes)] * count
    step = reduction.step(loop, bool(own_lanes))
    if not own_lanes:
        totals = _blocked_scalar(home, reduction, atoms, initial, kind, lanes, step)
        return tuple(reduction.finish(home, lanes, total) for total in totals)

    def innermost(scope: Scope, carried: Names) -> Sequence[str]:
        return _blocked_vector(scope, reduction, carried, kind, own_lanes, count, step)

    totals = scalar_loops(home, atoms[:-1], initial, kind, innermost)
    return (reduction.finish(home, 0, reduction.across(home, totals, own_lanes)),)


def _own_lanes(kernel: Kernel, loops: Loops) -> int:
    """Lanes of a loop over the last coordinate; 0 if it is too short for a vector."""
    lanes = kernel.target.lanes(32)
    if not loops.atoms:
        return 0
    high = full_extent(loops.atoms[-1]).bounds()[1]
    return 0 if high is not None and high < lanes else lanes


def _own_count(kernel: Kernel, loops: Loops, lanes: int) -> int:
    count = unroll(loops.block)
    extent = full_extent(loops.atoms[-1])
    while count > 1 and extent.is_const and extent.value < lanes * count:
        count //= 2
    return count


def _is_long(reduction: Reduction, extent: Expr, limit: int) -> bool:
    high = extent.bounds()[1]
    return reduction.op == "add" and reduction.dtype == "f32" and (high is None or high > 2 * limit)


def _blocked_vector(
    scope: Scope,
    reduction: Reduction,
    carried: Names,
    kind: str,
    lanes: int,
    count: int,
    step: Accumulate,
) -> Sequence[str]:
    kernel, atom = scope.kernel, reduction.loops.atoms[-1]
    extent = full_extent(atom)
    upper, zero = scalar_index(scope, extent), kernel.index_constant(0)
    size = BLOCK_VECTORS * lanes * count
    if not _is_long(reduction, extent, size):
        return vector_loops(scope, atom, (zero, upper), extent, lanes, count, carried, kind, step)
    block = scope.loop(zero, upper, kernel.index_constant(size), [(value, kind) for value in carried])
    end = _block_limit(block, upper, size)
    fresh = [reduction.identity(lanes)] * count
    sums = vector_loops(block, atom, (block.index, end), extent, lanes, count, fresh, kind, step)
    return block.close_loop(_add_up(reduction, block, lanes, sums))


def _block_limit(block: LoopScope, upper: str, size: int) -> str:
    end = block.assign(f"arith.addi {block.index}, {block.kernel.index_constant(size)} : i64")
    return block.assign(f"arith.minsi {end}, {upper} : i64")


def _add_up(reduction: Reduction, block: LoopScope, lanes: int, sums: Sequence[str]) -> list[str]:
    pairs = zip(block.arguments, sums, strict=True)
    return [reduction.combine(block, lanes, total, value) for total, value in pairs]


def _blocked_scalar(
    home: Scope,
    reduction: Reduction,
    atoms: Sequence[DimVar],
    initial: Sequence[str],
    kind: str,
    lanes: int,
    step: Accumulate,
) -> list[str]:
    """Scalar loops over all coordinates; the outermost one in blocks if it may be long."""
    if not atoms or not _is_long(reduction, full_extent(atoms[0]), BLOCK_VECTORS):
        return scalar_loops(home, atoms, initial, kind, step)
    kernel = home.kernel
    upper = scalar_index(home, full_extent(atoms[0]))
    size = kernel.index_constant(BLOCK_VECTORS)
    pairs = [(value, kind) for value in initial]
    block = home.loop(kernel.index_constant(0), upper, size, pairs)
    end = _block_limit(block, upper, BLOCK_VECTORS)
    loop = block.loop(block.index, end, kernel.index_constant(1), pairs)
    loop.bind(atoms[0], loop.index)
    sums = loop.close_loop(scalar_loops(loop, atoms[1:], loop.arguments, kind, step))
    return block.close_loop(_add_up(reduction, block, lanes, sums))


def emit_local(kernel: Kernel, node: Node, home: Scope, loop: VectorLoop | None) -> Names:
    """Fill the scratch memory of a local; there is no value."""
    if loop is not None:
        raise LoweringError("a local cannot vary with the vector loop")
    loops: Loops = node.data
    tensor = loops.tensor
    assert tensor is not None
    size = tensor.size
    kernel.bind_tensor(tensor, allocate(kernel, size * BYTES[tensor.dtype]))
    lanes = _own_lanes(kernel, loops)
    offset = row_major(loops.atoms)

    def store(scope: Scope, carried: Names) -> Sequence[str]:
        around = scope.vector if lanes else None
        store_result(kernel, scope, loops.block, tensor, offset, around)
        return ()

    if not lanes:
        scalar_loops(home, loops.atoms, (), "", store)
        return ()
    atom = loops.atoms[-1]
    count = _own_count(kernel, loops, lanes)

    def innermost(scope: Scope, carried: Names) -> Sequence[str]:
        bounds = (kernel.index_constant(0), scalar_index(scope, full_extent(atom)))
        return vector_loops(scope, atom, bounds, full_extent(atom), lanes, count, (), "", store)

    scalar_loops(home, loops.atoms[:-1], (), "", innermost)
    return ()


def store_result(
    kernel: Kernel,
    scope: Scope,
    block: Block,
    tensor: Tensor,
    offset: Expr,
    loop: VectorLoop | None,
    nontemporal: bool = False,
) -> None:
    """Emit a block and store its result at `offset` of a tensor, which is consecutive along `loop`."""
    emit_block(kernel, block, scope)
    values = operand(kernel, block.results[0], scope, loop)
    lanes, count, mask = (loop.lanes, loop.count, loop.mask) if loop is not None else (0, 1, None)
    offsets = [scalar_index(scope, offset, u) for u in range(count)]
    pointer = kernel.pointers[tensor]
    emit_store(kernel, scope, pointer, offsets, values, tensor.dtype, lanes, mask, nontemporal)


def row_major(atoms: Sequence[DimVar]) -> Expr:
    """The position of a point among all points of the loops, counted row by row."""
    total: Expr = ZERO
    for atom in atoms:
        total = total * full_extent(atom) + atom
    return total


def allocate(kernel: Kernel, size: Expr) -> str:
    """The address of new scratch memory of `size` bytes, aligned to 64."""
    start: Expr = ZERO
    for taken in kernel.scratch:
        start = start + taken
    kernel.scratch.append((size + 63) // 64 * 64)
    offset = scalar_index(kernel.root, start)
    return kernel.root.assign(f"llvm.getelementptr %scratch[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, i8")
