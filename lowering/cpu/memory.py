"""Loads and stores of kernels: element types in memory, vectors, lanes gathered one by one, and masks.

No lane that is masked off, and no element whose coordinate is out of range, is ever touched in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.symbolic import ONE, ZERO, Expr, as_expr, is_nonnegative
from .emit import BYTES, COMPUTE, MEMORY, Kernel, Names, Scope, VectorLoop, type_text
from .index import expression_dependences, lane_stride, scalar_index, vector_index
from .tree import Access

LINE_BYTES = 64
"""Size of a cache line."""


def to_compute(scope: Scope, dtype: str, lanes: int, value: str) -> str:
    """The value in its compute type of an element as it is in memory."""
    if dtype == "i1":
        zero = scope.kernel.constant("i8", 0, lanes)
        return scope.assign(f"arith.cmpi ne, {value}, {zero} : {type_text('i8', lanes)}")
    if dtype == "f16":
        return scope.assign(f"arith.extf {value} : {type_text('f16', lanes)} to {type_text('f32', lanes)}")
    if dtype == "bf16":
        wide = type_text("i32", lanes)
        bits = scope.assign(f"arith.extui {value} : {type_text('i16', lanes)} to {wide}")
        bits = scope.assign(f"arith.shli {bits}, {scope.kernel.constant('i32', 16, lanes)} : {wide}")
        return scope.assign(f"arith.bitcast {bits} : {wide} to {type_text('f32', lanes)}")
    return value


def to_memory(scope: Scope, dtype: str, lanes: int, value: str) -> str:
    """The inverse of `to_compute`; half types are rounded already."""
    if dtype == "i1":
        return scope.assign(f"arith.extui {value} : {type_text('i1', lanes)} to {type_text('i8', lanes)}")
    if dtype == "f16":
        return scope.assign(f"arith.truncf {value} : {type_text('f32', lanes)} to {type_text('f16', lanes)}")
    if dtype == "bf16":
        wide = type_text("i32", lanes)
        bits = scope.assign(f"arith.bitcast {value} : {type_text('f32', lanes)} to {wide}")
        bits = scope.assign(f"arith.shrui {bits}, {scope.kernel.constant('i32', 16, lanes)} : {wide}")
        return scope.assign(f"arith.trunci {bits} : {wide} to {type_text('i16', lanes)}")
    return value


def address(scope: Scope, pointer: str, offset: str, dtype: str) -> str:
    """The address of element number `offset`."""
    return scope.assign(
        f"llvm.getelementptr {pointer}[{offset}] : (!llvm.ptr, i64) -> !llvm.ptr, {MEMORY[dtype]}"
    )


def load_scalar(scope: Scope, pointer: str, offset: str, dtype: str) -> str:
    """Element number `offset`."""
    where = address(scope, pointer, offset, dtype)
    element = f"{{alignment = {BYTES[dtype]} : i64}} : !llvm.ptr -> {MEMORY[dtype]}"
    return to_compute(scope, dtype, 0, scope.assign(f"llvm.load {where} {element}"))


def load_vector(scope: Scope, pointer: str, offset: str, dtype: str, lanes: int, mask: str | None) -> str:
    """`lanes` elements from number `offset` on; 0 where the mask is false."""
    where = address(scope, pointer, offset, dtype)
    kind = type_text(MEMORY[dtype], lanes)
    if mask is None:
        value = scope.assign(f"llvm.load {where} {{alignment = {BYTES[dtype]} : i64}} : !llvm.ptr -> {kind}")
    else:
        value = scope.assign(
            f"llvm.intr.masked.load {where}, {mask}, {_zero(scope, dtype, lanes)}"
            f" {{alignment = {BYTES[dtype]} : i32}}"
            f" : (!llvm.ptr, {type_text('i1', lanes)}, {kind}) -> {kind}"
        )
    return to_compute(scope, dtype, lanes, value)


def gather(scope: Scope, pointer: str, offsets: str, dtype: str, lanes: int, mask: str | None) -> str:
    """The elements whose numbers are in the vector `offsets`; 0 where the mask is false."""
    kind, pointers = type_text(MEMORY[dtype], lanes), type_text("!llvm.ptr", lanes)
    where = scope.assign(
        f"llvm.getelementptr {pointer}[{offsets}] : (!llvm.ptr, {type_text('i64', lanes)})"
        f" -> {pointers}, {MEMORY[dtype]}"
    )
    mask = mask or scope.kernel.constant("i1", 1, lanes)
    value = scope.assign(
        f"llvm.intr.masked.gather {where}, {mask}, {_zero(scope, dtype, lanes)}"
        f" {{alignment = {BYTES[dtype]} : i32}}"
        f" : ({pointers}, {type_text('i1', lanes)}, {kind}) -> {kind}"
    )
    return to_compute(scope, dtype, lanes, value)


def _zero(scope: Scope, dtype: str, lanes: int) -> str:
    if dtype == "f16":  # no literal of its own in the pool
        bits = scope.kernel.constant("i16", 0, lanes)
        return scope.assign(f"arith.bitcast {bits} : {type_text('i16', lanes)} to {type_text('f16', lanes)}")
    return scope.kernel.constant(MEMORY[dtype], 0, lanes)


def emit_store(
    kernel: Kernel,
    scope: Scope,
    pointer: str,
    offsets: str | Sequence[str],
    values: Names,
    dtype: str,
    lanes: int,
    mask: str | None = None,
    nontemporal: bool = False,
) -> None:
    """Store values (in compute type) at element numbers `offsets`: one offset per value, or that of the first
    of
    consecutive vectors. `lanes` is 0 for a scalar. A nontemporal store needs an address aligned to the
    vector.
    """
    if isinstance(offsets, str):
        first = offsets
        offsets = [first]
        for u in range(1, len(values)):
            step = kernel.index_constant(u * lanes)
            offsets.append(scope.assign(f"arith.addi {first}, {step} : i64"))
    kind = type_text(MEMORY[dtype], lanes)
    alignment = BYTES[dtype] * (lanes if nontemporal else 1)
    flag = "nontemporal " if nontemporal else ""
    stored = [to_memory(scope, dtype, lanes, value) for value in values]
    for value, offset in zip(stored, offsets, strict=True):
        where = address(scope, pointer, offset, dtype)
        if mask is None:
            attributes = f"{{alignment = {alignment} : i64{', nontemporal' if flag else ''}}}"
            scope.emit(f"llvm.store {value}, {where} {attributes} : {kind}, !llvm.ptr")
        else:
            flags = type_text("i1", lanes)
            attributes = f"{{alignment = {BYTES[dtype]} : i32}}"
            types = f"{kind}, {flags} into !llvm.ptr"
            scope.emit(f"llvm.intr.masked.store {value}, {where}, {mask} {attributes} : {types}")


def emit_load(kernel: Kernel, access: Access, scope: Scope, loop: VectorLoop | None) -> Names:
    """The element that an access reads, in each lane of `loop` if it varies with it."""
    pointer = kernel.pointers[access.tensor]
    dtype = access.tensor.dtype
    if loop is None:
        return (_checked_scalar(scope, pointer, access, 0),)
    stride = lane_stride(scope, access.offset, loop)
    uniform = [check for check in access.checks if lane_stride(scope, check[0], loop) is ZERO]
    varying = [check for check in access.checks if check not in uniform]
    if stride is ZERO and not varying:
        kind = COMPUTE[dtype]
        scalars = [_checked_scalar(scope, pointer, access, u) for u in range(loop.count)]
        return tuple(
            scope.assign(f"vector.broadcast {x} : {kind} to {type_text(kind, loop.lanes)}") for x in scalars
        )
    masks = [_mask(scope, loop, uniform, varying, u) for u in range(loop.count)]
    if stride is ONE:
        if access.ahead is not None:
            _fetch(scope, pointer, access.ahead, dtype, loop)
        firsts = [scalar_index(scope, access.offset, u) for u in range(loop.count)]
        return tuple(
            load_vector(scope, pointer, first, dtype, loop.lanes, mask)
            for first, mask in zip(firsts, masks, strict=True)
        )
    if stride is as_expr(-1) and not any(masks):
        return _reversed(scope, pointer, access, loop)
    offsets = vector_index(scope, access.offset, loop)
    return tuple(
        gather(scope, pointer, where, dtype, loop.lanes, mask)
        for where, mask in zip(offsets, masks, strict=True)
    )


def _fetch(scope: Scope, pointer: str, offset: Expr, dtype: str, loop: VectorLoop) -> None:
    """Ask for cache lines at `offset`, as many as the vectors of the loop span. Any address is allowed."""
    for u in range(0, loop.count, max(1, LINE_BYTES // (loop.lanes * BYTES[dtype]))):
        where = address(scope, pointer, scalar_index(scope, offset, u), dtype)
        kind = "{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32} : (!llvm.ptr) -> ()"
        scope.emit(f'"llvm.intr.prefetch"({where}) {kind}')


def _reversed(scope: Scope, pointer: str, access: Access, loop: VectorLoop) -> Names:
    dtype, lanes = access.tensor.dtype, loop.lanes
    kind = type_text(COMPUTE[dtype], lanes)
    order = ", ".join(map(str, reversed(range(lanes))))
    found: list[str] = []
    for u in range(loop.count):
        last = scalar_index(scope, access.offset - (lanes - 1), u)
        value = load_vector(scope, pointer, last, dtype, lanes, None)
        found.append(scope.assign(f"vector.shuffle {value}, {value} [{order}] : {kind}, {kind}"))
    return tuple(found)


def _checked_scalar(scope: Scope, pointer: str, access: Access, vector: int) -> str:
    dtype = access.tensor.dtype
    offset = scalar_index(scope, access.offset, vector)
    if not access.checks:
        return load_scalar(scope, pointer, offset, dtype)
    inside = _all_inside(scope, access.checks, vector)
    kind, zero = COMPUTE[dtype], scope.kernel.constant(COMPUTE[dtype], 0)
    low = access.tensor.size.bounds()[0]
    if low is not None and low > 0:
        start = scope.kernel.index_constant(0)
        offset = scope.assign(f"arith.select {inside}, {offset}, {start} : i64")
        value = load_scalar(scope, pointer, offset, dtype)
        return scope.assign(f"arith.select {inside}, {value}, {zero} : {kind}")
    guarded = scope.child()
    value = load_scalar(guarded, pointer, offset, dtype)
    result = scope.assign(f"scf.if {inside} -> ({kind}) {{")
    scope.lines += [
        *guarded.lines,
        f"scf.yield {value} : {kind}",
        "} else {",
        f"scf.yield {zero} : {kind}",
        "}",
    ]
    return result


def _all_inside(scope: Scope, checks: Sequence[tuple[Expr, Expr]], vector: int) -> str:
    result: str | None = None
    for coordinate, dim in checks:
        value, limit = scalar_index(scope, coordinate, vector), scalar_index(scope, dim)
        # As unsigned numbers, negative coordinates are large ones.
        test = scope.assign(f"arith.cmpi ult, {value}, {limit} : i64")
        result = test if result is None else scope.assign(f"arith.andi {result}, {test} : i1")
    assert result is not None
    return result


def _mask(
    scope: Scope,
    loop: VectorLoop,
    uniform: Sequence[tuple[Expr, Expr]],
    varying: Sequence[tuple[Expr, Expr]],
    vector: int,
) -> str | None:
    kind = type_text("i1", loop.lanes)
    parts = [] if loop.mask is None else [loop.mask]
    if uniform:
        inside = _all_inside(scope, uniform, vector)
        parts.append(scope.assign(f"vector.broadcast {inside} : i1 to {kind}"))
    for coordinate, dim in varying:
        parts += _lane_checks(scope, loop, coordinate, dim, vector)
    if not parts:
        return None
    result = parts[0]
    for part in parts[1:]:
        result = scope.assign(f"arith.andi {result}, {part} : {kind}")
    return result


def _lane_checks(scope: Scope, loop: VectorLoop, coordinate: Expr, dim: Expr, vector: int) -> list[str]:
    lanes = loop.lanes
    if lane_stride(scope, coordinate, loop) is not ONE or expression_dependences(scope, dim) != frozenset():
        wide = type_text("i64", lanes)
        limit = scope.assign(f"vector.broadcast {scalar_index(scope, dim)} : i64 to {wide}")
        value = vector_index(scope, coordinate, loop)[vector]
        return [scope.assign(f"arith.cmpi ult, {value}, {limit} : {wide}")]
    tests: list[str] = []
    if not is_nonnegative(coordinate):
        tests.append(lane_compare(scope, "sge", scalar_index(scope, -coordinate, vector), lanes))
    if not is_nonnegative(dim - 1 - coordinate):
        tests.append(lane_compare(scope, "slt", scalar_index(scope, dim - coordinate, vector), lanes))
    return tests


def lane_compare(scope: Scope, predicate: str, limit: str, lanes: int) -> str:
    """The mask of the lanes whose number compares so with an i64 `limit`, done on 32-bit lanes."""
    kernel, kind = scope.kernel, type_text("i32", lanes)
    clamped = scope.assign(f"arith.minsi {limit}, {kernel.index_constant(lanes)} : i64")
    clamped = scope.assign(f"arith.maxsi {clamped}, {kernel.index_constant(-1)} : i64")
    narrow = scope.assign(f"arith.trunci {clamped} : i64 to i32")
    splat = scope.assign(f"vector.broadcast {narrow} : i32 to {kind}")
    return scope.assign(f"arith.cmpi {predicate}, {kernel.steps('i32', lanes)}, {splat} : {kind}")
