"""`kernel.contract {library = "blas"}`: the sums by a BLAS routine, the epilogue by a pass of our own.

Each thread calls the routine, which has one thread, for its share of the rows (or columns, if there are more
of these), straight into the result, and then runs the epilogue over that share.
"""

from __future__ import annotations

from ...dialects.mlir import ir
from ...dialects.symbolic import ONE, ZERO, Atom, DimVar, Expr, is_nonnegative
from ...errors import LoweringError
from .abi import LoweredKernel
from .blas import PLAIN, ROUTINES, ROW_MAJOR, TRANSPOSED, library_available
from .contract_address import offset_pointer
from .contract_epilogue import Epilogue, bind_axis, emit_epilogue
from .contract_spec import Axis, ContractSpec
from .contract_tile import TileShape
from .emit import BYTES, Kernel, LoopScope, Scope
from .index import scalar_index
from .target import Target

_FIRST_ROW, _FIRST_COLUMN = 7_000_000, 7_000_001

Matrix = tuple[int, Expr]
"""How BLAS reads an operand: PLAIN or TRANSPOSED, and its leading dimension."""


def _matrices(spec: ContractSpec) -> tuple[Matrix, Matrix, Matrix] | None:
    """Both operands and the result as the routine takes them; None if it can't."""
    if spec.dtype not in ROUTINES or spec.rhs is None or spec.out_dtype != spec.dtype:
        return None
    left = _matrix(spec.lhs, spec.rows, spec.depth)
    right = _matrix(spec.rhs, spec.depth, spec.columns)
    out = _matrix(spec.out, spec.rows, spec.columns)
    return None if left is None or right is None or out is None or out[0] != PLAIN else (left, right, out)


def _matrix(offset: Expr, down: Axis, across: Axis) -> Matrix | None:
    """An operand of `down.size` lines; None if neither axis is contiguous or lines overlap."""
    for kind, line, along in ((PLAIN, down, across), (TRANSPOSED, across, down)):
        step, stride = offset.coefficient(along.atom), offset.coefficient(line.atom)
        if step is None or stride is None or (step is not ONE and along.size is not ONE):
            continue
        if line.size is ONE:
            return kind, along.size
        if is_nonnegative(stride - along.size):
            return kind, stride
    return None


def lower_library(
    operation: ir.Operation, spec: ContractSpec, epilogue: Epilogue, target: Target
) -> LoweredKernel:
    """The kernel; LoweringError if there is no library, or its routine can't express the contraction."""
    found = _matrices(spec)
    kernel = Kernel(target)
    if any(axis.size is ZERO for axis in (spec.batch, spec.rows, spec.columns)):
        return LoweredKernel(kernel.render(), ZERO)
    if found is None:
        raise LoweringError(
            f"no BLAS routine covers this kernel.contract at {operation.location}: it takes f32 and f64 "
            "matrices whose rows or columns are contiguous, and a result whose columns are"
        )
    if not library_available():
        raise LoweringError(
            f"kernel.contract at {operation.location} wants a BLAS, and no OpenBLAS can be loaded on this "
            "machine; leave out 'library'"
        )
    kernel.index_nodes.update(epilogue.body.index_nodes)
    count = len(list(operation.operands))
    pointers = [kernel.load_pointer(position) for position in (0, 1, count)]
    for position, tensor in enumerate(epilogue.body.tensors):
        kernel.bind_tensor(tensor, kernel.load_pointer(position))
    _declare(kernel, spec.dtype)
    root = kernel.root
    by_rows = _splits_rows(spec)
    low, high = _share(root, (spec.rows if by_rows else spec.columns).size)
    batch = root.loop(kernel.index_constant(0), scalar_index(root, spec.batch.size), kernel.index_constant(1))
    batch.bind(spec.batch.atom, batch.index)
    bind_axis(batch, spec.batch.atom, epilogue.batch)
    zero = kernel.index_constant(0)
    rows = (low, high) if by_rows else (zero, scalar_index(batch, spec.rows.size))
    columns = (zero, scalar_index(batch, spec.columns.size)) if by_rows else (low, high)
    _call(batch, spec, found, pointers, rows, columns)
    if epilogue.body.result is not epilogue.body.accumulator:
        _finish(batch, spec, epilogue, found[2][1], pointers[2], rows, columns)
    batch.close_loop()
    return LoweredKernel(kernel.render(), ZERO)


def _splits_rows(spec: ContractSpec) -> bool:
    rows, columns = spec.rows.size, spec.columns.size
    return not (rows.is_const and columns.is_const and rows.value < columns.value)


def _share(scope: Scope, size: Expr) -> tuple[str, str]:
    """This thread's part of [0, size), in multiples of 16 but for the end."""
    constant = scope.kernel.index_constant
    total = scalar_index(scope, size)
    groups = scalar_index(scope, (size + 15) // 16)
    limits = []
    for tid in ("%tid", scope.assign(f"arith.addi %tid, {constant(1)} : i64")):
        product = scope.assign(f"arith.muli {tid}, {groups} : i64")
        group = scope.assign(f"arith.divui {product}, %nthreads : i64")
        start = scope.assign(f"arith.muli {group}, {constant(16)} : i64")
        limits.append(scope.assign(f"arith.minsi {start}, {total} : i64"))
    return limits[0], limits[1]


def _declare(kernel: Kernel, dtype: str) -> None:
    name = ROUTINES[dtype]
    kernel.functions[name] = (
        f"func.func private @{name}(i32, i32, i32, i64, i64, i64, {dtype}, !llvm.ptr, i64, !llvm.ptr, i64, "
        f"{dtype}, !llvm.ptr, i64)"
    )


def _call(
    scope: LoopScope,
    spec: ContractSpec,
    matrices: tuple[Matrix, Matrix, Matrix],
    pointers: list[str],
    rows: tuple[str, str],
    columns: tuple[str, str],
) -> None:
    kernel, dtype = scope.kernel, spec.dtype
    row, column = DimVar(_FIRST_ROW, None), DimVar(_FIRST_COLUMN, None)
    scope.bind(row, rows[0])
    scope.bind(column, columns[0])
    m, n = (scope.assign(f"arith.subi {high}, {low} : i64") for low, high in (rows, columns))
    assert spec.rhs is not None
    starts: dict[Atom, Expr] = {spec.rows.atom: row, spec.columns.atom: column, spec.depth.atom: ZERO}
    addresses = [
        offset_pointer(scope, pointer, scalar_index(scope, offset.substitute(starts)), dtype)
        for pointer, offset in zip(pointers, (spec.lhs, spec.rhs, spec.out), strict=True)
    ]
    leading = [
        scope.assign(f"arith.maxsi {scalar_index(scope, size)}, {kernel.index_constant(1)} : i64")
        for _, size in matrices
    ]
    codes = [kernel.constant("i32", code) for code in (ROW_MAJOR, matrices[0][0], matrices[1][0])]
    one, zero = kernel.constant(dtype, 1.0), kernel.constant(dtype, 0.0)
    arguments = [
        *codes, m, n, scalar_index(scope, spec.depth.size), one, addresses[0], leading[0],
        addresses[1], leading[1], zero, addresses[2], leading[2],
    ]  # fmt: skip
    some = scope.assign(f"arith.muli {m}, {n} : i64")
    test = scope.assign(f"arith.cmpi sgt, {some}, {kernel.index_constant(0)} : i64")
    types = (
        f"(i32, i32, i32, i64, i64, i64, {dtype}, !llvm.ptr, i64, !llvm.ptr, i64, {dtype}, !llvm.ptr, i64)"
    )
    scope.lines += [
        f"scf.if {test} {{",
        f"func.call @{ROUTINES[dtype]}({', '.join(arguments)}) : {types} -> ()",
        "}",
    ]


def _finish(
    scope: LoopScope,
    spec: ContractSpec,
    epilogue: Epilogue,
    leading: Expr,
    out: str,
    rows: tuple[str, str],
    columns: tuple[str, str],
) -> None:
    """The epilogue, in place: the sums stand where its results go."""
    row, column = DimVar(_FIRST_ROW, None), DimVar(_FIRST_COLUMN, None)
    starts: dict[Atom, Expr] = {spec.rows.atom: row, spec.columns.atom: column}
    sums = offset_pointer(scope, out, scalar_index(scope, spec.out.substitute(starts)), spec.dtype)
    shape = TileShape(1, 1, scope.kernel.target.lanes(8 * BYTES[spec.accumulator]))
    line = scalar_index(scope, leading)
    emit_epilogue(scope, spec, epilogue, shape, rows, columns, sums, out, line)
