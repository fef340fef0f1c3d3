"""CPU regions and scatters against the reference interpreter: shapes, strides, dtypes, reductions, masks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from cpu_regions import Case, check, random

from luminal.dialects import kernel as K
from luminal.dialects.mlir import ir
from luminal.dialects.scalar_ops import SCALAR_FUNCTIONS
from luminal.dialects.symbol_list import SymbolInfo
from luminal.dialects.symbolic import DimVar, Expr, IndexMap, dim_vars, product

S0, S1 = SymbolInfo(0, 1), SymbolInfo(1, 1)
Dims = Sequence[Expr | int]


def identity(dims: Dims) -> IndexMap:
    return IndexMap.identity(dims)


def load(
    tensor: ir.Value, dims: Dims, results: Sequence[Expr | int], indices, masked: bool = False
) -> ir.Value:
    return K.load(tensor, indices, IndexMap.of(dims, results), masked)


def elementwise(dims: Dims, dtype: str, name: str = "add") -> Case:
    def body(tensors, indices):
        values = [K.load(tensor, indices, identity(dims)) for tensor in tensors]
        return K.scalar(name, *values)

    out = "i1" if SCALAR_FUNCTIONS[name].result == "i1" else dtype
    count = 2 if SCALAR_FUNCTIONS[name].arity == 2 else 1
    return Case([(dims, dtype)] * count, lambda values: K.region(values, dims, out, body), symbols(dims))


def symbols(dims: Dims) -> Sequence[SymbolInfo]:
    used = {atom for dim in dims if isinstance(dim, Expr) for atom in dim.atoms()}
    return [S0, S1] if S1.sym in used else [S0] if S0.sym in used else []


@pytest.mark.parametrize("dims", [(1,), (7,), (8,), (33,), (3, 5, 7), (64, 64), ()])
def test_elementwise_static(dims) -> None:
    check(elementwise(dims, "f32"), [random(dims, "f32", seed) for seed in (0, 1)])


def test_elementwise_dynamic() -> None:
    case = elementwise((S0.sym, S1.sym), "f32")
    for sizes in [(1, 1), (2, 9), (5, 64), (40, 3)]:
        check(case, [random(sizes, "f32", seed) for seed in (0, 1)], sizes)


@pytest.mark.parametrize("name", sorted(SCALAR_FUNCTIONS))
def test_scalar_functions(name: str) -> None:
    function = SCALAR_FUNCTIONS[name]
    tolerances = {"f64": 1e-14, "f32": 1e-6, "f16": 2e-3, "bf16": 1e-2}
    if name == "select":
        return
    for dtype in function.operands:
        arrays = [random((3, 21), dtype, seed, 3.0) for seed in range(function.arity)]
        if name in ("log", "log2", "sqrt", "rsqrt"):
            arrays = [
                np.abs(random((3, 21), "f32")).astype(a.dtype) if dtype != "bf16" else a & 0x7FFF
                for a in arrays
            ]
        if dtype in ("i64", "i32") and name in ("mod", "floor_div"):
            least = np.iinfo(arrays[0].dtype).min
            arrays[0][0, :6] = [least, least, 5, -5, 0, 7]
            arrays[1][0, :6] = [-1, 0, 0, -3, 0, -7]
        with np.errstate(all="ignore"):
            check(elementwise((3, 21), dtype, name), arrays, (), tolerances.get(dtype, 0))


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16", "i64", "i32", "i1"])
def test_select_and_scalar_condition(dtype: str) -> None:
    dims = (4, 19)

    def body(tensors, indices):
        row = load(tensors[0], (4, 19), [dim_vars(dims)[0]], indices)
        values = [K.load(tensor, indices, identity(dims)) for tensor in tensors[1:]]
        return K.scalar("select", row, *values)

    case = Case([((4,), "i1"), (dims, dtype), (dims, dtype)], lambda v: K.region(v, dims, dtype, body))
    check(case, [random((4,), "i1"), random(dims, dtype, 1), random(dims, dtype, 2)], (), 0)


@pytest.mark.parametrize("source", ["f64", "f32", "f16", "bf16", "i64", "i32", "i1"])
@pytest.mark.parametrize("target", ["f64", "f32", "f16", "bf16", "i64", "i32", "i1"])
def test_casts(source: str, target: str) -> None:
    dims = (29,)

    def body(tensors, indices):
        return K.cast(K.load(tensors[0], indices, identity(dims)), target)

    x = random(dims, source, 3, 100.0)
    if source in ("f64", "f32", "f16"):
        x[:8] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 6e4, -0.5, 1.0009765625]
    if source in ("f64", "f32"):
        x[8:14] = [3e9, -3e9, 1e19, -1e19, 2147483648.0, -2147483648.0]
    if source == "f64":
        x[14:16] = [1.0 + 2.0**-11 + 2.0**-40, 1.0 + 2.0**-9 + 2.0**-50]
    if source == "i64":
        x[:3] = [2**40 + 3, -(2**40), 2**31]
    with np.errstate(all="ignore"):
        check(Case([(dims, source)], lambda v: K.region(v, dims, target, body)), [x], (), 0)


@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize(
    ("dims", "axes"),
    [
        ((7, 50), (0,)),
        ((7, 50), (1,)),
        ((7, 50), (0, 1)),
        ((4, 5, 6), (1,)),
        ((4, 5, 30), (0, 2)),
        ((3, 2), (1,)),
    ],
)
def test_reductions(kind: str, dims, axes) -> None:
    check(reduction(kind, dims, axes, "f32"), [random(dims, "f32", scale=0.7)], (), 2e-5)


def reduction(kind: str, dims: Dims, axes: Sequence[int], dtype: str) -> Case:
    kept = [axis for axis in range(len(dims)) if axis not in axes]

    def body(tensors, indices):
        def inner(own):
            outer, mine = iter(indices), iter(own)
            place = [next(mine) if axis in axes else next(outer) for axis in range(len(dims))]
            return K.load(tensors[0], place, identity(dims))

        return K.reduce(kind, [dims[axis] for axis in axes], dtype, inner)

    result = [dims[axis] for axis in kept]
    return Case([(dims, dtype)], lambda v: K.region(v, result, dtype, body), symbols(dims))


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("kind", ["sum", "max"])
def test_dynamic_reductions(kind: str, axes) -> None:
    case = reduction(kind, (S0.sym, S1.sym), axes, "f32")
    for sizes in [(1, 1), (3, 7), (2, 8), (5, 133), (70, 64)]:
        check(case, [random(sizes, "f32")], sizes, 2e-5)


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16", "i64", "i32", "i1"])
@pytest.mark.parametrize("axes", [(0,), (1,)])
def test_reductions_of_other_types(dtype: str, axes) -> None:
    tolerance = {"f64": 1e-14, "f16": 1e-3, "bf16": 8e-3}.get(dtype, 0)
    for kind in ("max", "min") if dtype == "i1" else ("sum", "max"):
        check(reduction(kind, (9, 43), axes, dtype), [random((9, 43), dtype)], (), tolerance)


@pytest.mark.parametrize("axes", [(0,), (1,)])
def test_extremes_keep_nan(axes) -> None:
    x = random((5, 70), "f32")
    x[1, 2] = x[3, 69] = np.nan
    for kind in ("max", "min"):
        check(reduction(kind, (5, 70), axes, "f32"), [x])


@pytest.mark.parametrize(("shape", "axes"), [((3_000_001,), (0,)), ((300_001, 3), (0,))])
def test_long_sums_are_accurate(shape, axes) -> None:
    x = np.random.default_rng(0).random(shape).astype(np.float32)
    found = reduction("sum", shape, axes, "f32").run([x])
    np.testing.assert_allclose(found, x.sum(axis=axes, dtype=np.float64), rtol=1e-6)


def softmax(rows: Expr | int, columns: Expr | int, dtype: str = "f32") -> Case:
    dims = (rows, columns)

    def body(tensors, indices):
        row, column = indices

        def at(j):
            return K.load(tensors[0], [row, j], identity(dims))

        top = K.reduce("max", [columns], dtype, lambda j: at(j[0]))
        scratch = K.local([columns], dtype, lambda j: K.scalar("exp", K.scalar("sub", at(j[0]), top)))
        total = K.reduce("sum", [columns], dtype, lambda j: K.load(scratch, j, identity([columns])))
        return K.scalar("div", K.load(scratch, [column], identity([columns])), total)

    return Case([(dims, dtype)], lambda v: K.region(v, dims, dtype, body), symbols(dims))


@pytest.mark.parametrize("shape", [(1, 1), (3, 8), (5, 100), (40, 7), (1, 3000)])
def test_softmax_with_row_scratch(shape) -> None:
    check(softmax(*shape), [random(shape, "f32")])


def test_softmax_dynamic() -> None:
    case = softmax(S0.sym, S1.sym)
    for sizes in [(1, 1), (1, 100), (9, 17), (20, 64)]:
        check(case, [random(sizes, "f32")], sizes)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i64", "i1"])
def test_transpose_flip_and_stride(dtype: str) -> None:
    a, b = dim_vars((9, 20))
    for result, shape in (
        ([b, a], (20, 9)),
        ([a, 19 - b], (9, 20)),
        ([a, 2 * b + 1], (9, 41)),
        ([8 - a, b], (9, 20)),
    ):
        case = Case(
            [(shape, dtype)],
            lambda v, result=result: K.region(v, (9, 20), dtype, lambda t, i: load(t[0], (9, 20), result, i)),
        )
        check(case, [random(shape, dtype)], (), 0)


def test_wrapping_and_dividing_coordinates() -> None:
    a, b = dim_vars((5, 64))
    for results in (
        [a, (b + 32) % 64],
        [a, b // 16],
        [(a + b) % 5, b],
        [(a * 64 + b) // 7 % 5, (a + 3 * b) % 64],
    ):
        case = Case(
            [((5, 64), "f32")],
            lambda v, results=results: K.region(
                v, (5, 64), "f32", lambda t, i: load(t[0], (5, 64), results, i)
            ),
        )
        check(case, [random((5, 64), "f32")], (), 0)


def test_masked_padding() -> None:
    a, b = dim_vars((7, 30))

    def body(tensors, indices):
        return load(tensors[0], (7, 30), [a - 2, b - 3], indices, masked=True)

    for dtype in ("f32", "f16", "i1"):
        case = Case([((4, 21), dtype)], lambda v, d=dtype: K.region(v, (7, 30), d, body))
        check(case, [random((4, 21), dtype)], (), 0)


def test_window_maximum_with_padding() -> None:
    def body(tensors, indices):
        def inner(own):
            dims = [DimVar(0, 8), DimVar(1, 9), DimVar(2, 3), DimVar(3, 3)]
            place = [2 * dims[0] + dims[2] - 1, 2 * dims[1] + dims[3] - 1]
            return load(tensors[0], (8, 9, 3, 3), place, [*indices, *own], masked=True)

        return K.reduce("max", [3, 3], "f32", inner)

    check(Case([((16, 18), "f32")], lambda v: K.region(v, (8, 9), "f32", body)), [random((16, 18), "f32")])


def test_gathered_rows_and_lanes() -> None:
    def rows(tensors, indices):
        token = K.load(tensors[1], indices[:1], identity([6]))
        row = K.to_index(token, 10)
        return K.load(tensors[0], [row, indices[1]], identity([10, 24]))

    ids = np.array([0, 9, 3, -5, 77, 3])
    case = Case([((10, 24), "f32"), ((6,), "i64")], lambda v: K.region(v, (6, 24), "f32", rows))
    check(case, [random((10, 24), "f32"), ids], (), 0)

    def lanes(tensors, indices):
        column = K.to_index(K.load(tensors[1], indices, identity([21])), 10)
        return K.load(tensors[0], [column], identity([10]))

    case = Case([((10,), "f32"), ((21,), "i64")], lambda v: K.region(v, (21,), "f32", lanes))
    check(case, [random((10,), "f32"), random((21,), "i64")], (), 0)


def test_index_values() -> None:
    dims = (S0.sym, 13)
    a, b = dim_vars(dims)

    def body(tensors, indices):
        value = K.index_value(indices, IndexMap.of(dims, [a * 13 + b - S0.sym]))
        return K.scalar("add", K.cast(value, "f32"), K.load(tensors[0], indices, identity(dims)))

    case = Case([(dims, "f32")], lambda v: K.region(v, dims, "f32", body), [S0])
    check(case, [random((6, 13), "f32")], (6,))


@pytest.mark.parametrize("width", [16, 32])
def test_panels(width: int) -> None:
    dims = (3, 11, width)
    p, k, lane = dim_vars(dims)
    shape = (2 * width + 5, 11)

    def body(tensors, indices):
        return load(tensors[0], dims, [p * width + lane, k], indices, masked=True)

    check(Case([(shape, "f32")], lambda v: K.region(v, dims, "f32", body)), [random(shape, "f32")], (), 0)


def test_product_of_two_matrices() -> None:
    dims, depth = (5, 40), 19

    def body(tensors, indices):
        def inner(own):
            left = K.load(tensors[0], [indices[0], own[0]], identity((5, depth)))
            right = K.load(tensors[1], [own[0], indices[1]], identity((depth, 40)))
            return K.scalar("mul", left, right)

        return K.reduce("sum", [depth], "f32", inner)

    case = Case([((5, depth), "f32"), ((depth, 40), "f32")], lambda v: K.region(v, dims, "f32", body))
    check(case, [random((5, depth), "f32"), random((depth, 40), "f32", 1)], (), 1e-5)


def test_large_results_stream() -> None:
    dims = (2, product([S0.sym]))
    case = elementwise((*dims, 4096), "f32")
    for size in (1, 900):
        arrays = [random((2, size, 4096), "f32", seed) for seed in (0, 1)]
        np.testing.assert_array_equal(case.run(arrays, (size,)), arrays[0] + arrays[1])


def scatter(dims: Dims, mode: str, dtype: str = "f32") -> Case:
    """Rows of updates go to the rows that an index tensor names; columns move by one."""

    def body(tensors, indices):
        row = K.load(tensors[2], indices[:1], identity([6]))
        column = K.index_value(indices, IndexMap.of((6, 12), [dim_vars((6, 12))[1] + 1]))
        return K.load(tensors[1], indices, identity([6, 12])), row, column

    operands = [(dims, dtype), ((6, 12), dtype), ((6,), "i64")]
    return Case(operands, lambda v: K.scatter(v[0], v[1:], (6, 12), mode, body), symbols(dims))


@pytest.mark.parametrize("mode", ["set", "add"])
@pytest.mark.parametrize("dtype", ["f32", "bf16", "i64"])
def test_scatter(mode: str, dtype: str) -> None:
    rows = np.array([2, 0, 2, -1, 9, 4])
    for columns in (13, 8, 40):
        case = scatter((5, columns), mode, dtype)
        check(case, [random((5, columns), dtype), random((6, 12), dtype, 1), rows], (), 1e-6)


def test_scatter_dynamic_base() -> None:
    case = scatter((S0.sym, 20), "set")
    for size in (1, 7):
        arrays = [random((size, 20), "f32"), random((6, 12), "f32", 1), np.array([2, 0, 2, -1, 9, 4])]
        check(case, arrays, (size,), 0)
