"""`kernel.region` on both GPU targets: pointwise bodies, gathers, iota, reductions with prologue and
epilogue.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from gpu_compare import check, to_bfloat
from gpu_programs import TARGETS, kernel_module

from luminal.dialects import kernel as K
from luminal.dialects.symbol_list import SymbolInfo
from luminal.dialects.symbolic import IndexMap, const, dim_vars
from luminal.dialects.types import NUMPY_DTYPES

ROWS = SymbolInfo(0, 0, 4096)
COLUMNS = SymbolInfo(1, 1, 3000)
S0, S1 = ROWS.sym, COLUMNS.sym


def identity(*dims):
    return IndexMap.identity(dims)


def select(dims: Sequence, *axes: int) -> IndexMap:
    """The coordinates of some axes."""
    variables = dim_vars(dims)
    return IndexMap.of(dims, [variables[axis] for axis in axes])


def randoms(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def numbers(dtype: str, *shape: int) -> np.ndarray:
    values = np.random.default_rng(3).normal(size=shape) * 8
    if dtype == "bf16":
        return to_bfloat(values)
    return (values > 0) if dtype == "i1" else values.astype(NUMPY_DTYPES[dtype])


@pytest.mark.parametrize("target", TARGETS)
def test_pointwise_with_broadcast_and_transposed_operands(target: str) -> None:
    dims = (S0, S1)

    def build(x, bias, transposed):
        def body(tensors, index):
            a = K.load(tensors[0], index, identity(*dims))
            b = K.load(tensors[1], index, select(dims, 1))
            c = K.load(tensors[2], index, select(dims, 1, 0))
            return K.scalar("tanh", K.scalar("add", K.scalar("mul", a, b), c))

        return [K.region([x, bias, transposed], dims, "f32", body)]

    text = kernel_module([((S0, S1), "f32"), ((S1,), "f32"), ((S1, S0), "f32")], build, [ROWS, COLUMNS])
    cases = [[randoms(m, n), randoms(n), randoms(n, m)] for m, n in ((1, 1), (3, 100), (17, 33), (0, 5))]
    check(target, text, *cases)


@pytest.mark.parametrize("target", TARGETS)
def test_masked_loads_and_flipped_slices(target: str) -> None:
    """Padding by 2 on both sides, and every second element from the end."""
    (d,) = dim_vars([S0 + 4])
    (e,) = dim_vars([(S0 + 1) // 2])

    def build(x):
        padded = K.region(
            [x], [S0 + 4], "f32", lambda t, i: K.load(t[0], i, IndexMap.of([S0 + 4], [d - 2]), masked=True)
        )
        flipped = K.region(
            [x],
            [(S0 + 1) // 2],
            "f32",
            lambda t, i: K.load(t[0], i, IndexMap.of([(S0 + 1) // 2], [S0 - 1 - e * 2])),
        )
        return [padded, flipped]

    check(target, kernel_module([((S0,), "f32")], build, [ROWS]), *([randoms(n)] for n in (0, 1, 6, 300)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("index_dtype", ["i64", "i32"])
def test_embedding_clamps_its_indices(target: str, index_dtype: str) -> None:
    dims = (S0, const(24))

    def build(table, ids):
        def body(tensors, index):
            row = K.to_index(K.load(tensors[1], [index[0]], identity(S0)), 10)
            return K.load(tensors[0], [row, index[1]], identity(10, 24))

        return [K.region([table, ids], dims, "f32", body)]

    text = kernel_module([((10, 24), "f32"), ((S0,), index_dtype)], build, [ROWS])
    ids = np.array([3, 0, 9, -5, 10, 1 << 30], NUMPY_DTYPES[index_dtype])
    check(target, text, [randoms(10, 24), ids], [randoms(10, 24), ids[:1]])


@pytest.mark.parametrize("target", TARGETS)
def test_masked_gather_from_an_empty_table_reads_zero(target: str) -> None:
    def build(table, ids):
        def body(tensors, index):
            row = K.to_index(K.load(tensors[1], index, identity(S1)), S0)
            return K.load(tensors[0], [row], identity(S0), masked=True)

        return [K.region([table, ids], [S1], "f32", body)]

    text = kernel_module([((S0,), "f32"), ((S1,), "i64")], build, [ROWS, COLUMNS])
    check(target, text, *([randoms(rows), np.array([0, 2, -1])] for rows in (0, 2)))


@pytest.mark.parametrize("target", TARGETS)
def test_iota_and_mask_of_a_triangle(target: str) -> None:
    dims = (S0, S0)
    row, column = dim_vars(dims)

    def build(x):
        def body(tensors, index):
            later = K.scalar(
                "less_than",
                K.index_value(index, IndexMap.of(dims, [row])),
                K.index_value(index, IndexMap.of(dims, [column])),
            )
            return K.scalar(
                "select", later, K.constant(float("-inf"), "f32"), K.load(tensors[0], index, identity(*dims))
            )

        flat = K.region(
            [], dims, "i64", lambda t, i: K.index_value(i, IndexMap.of(dims, [row * S0 * 2 - column // 3]))
        )
        return [K.region([x], dims, "f32", body), flat]

    check(target, kernel_module([((S0, S0), "f32")], build, [ROWS]), [randoms(5, 5)], [randoms(20, 20)])


def reduction(kind: str, dtype: str, axis: int) -> str:
    """Reduce an (s0, s1) matrix over one axis."""
    kept, extent = ((S1,), S0) if axis == 0 else ((S0,), S1)
    order = (1, 0) if axis == 0 else (0, 1)

    def build(x):
        def body(tensors, index):
            dims = (*kept, extent)
            return K.reduce(
                kind, [extent], dtype, lambda k: K.load(tensors[0], [*index, *k], select(dims, *order))
            )

        return [K.region([x], kept, dtype, body)]

    return kernel_module([((S0, S1), dtype)], build, [ROWS, COLUMNS])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("sum", "f32"), ("sum", "f16"), ("sum", "bf16"), ("sum", "i64"), ("sum", "i32"),
        ("max", "f32"), ("max", "bf16"), ("max", "i64"), ("max", "i1"),
        ("min", "f16"), ("min", "i32"), ("min", "i1"),
    ],
)  # fmt: skip
def test_reductions(target: str, kind: str, dtype: str) -> None:
    cases = [[numbers(dtype, m, n)] for m, n in ((1, 1), (3, 300), (2, 1025))]
    check(target, reduction(kind, dtype, 1), *cases)


@pytest.mark.parametrize("target", TARGETS)
def test_product_and_reduction_over_the_first_axis(target: str) -> None:
    cases = [[np.exp(numbers("f32", m, n) * 0.01)] for m, n in ((1, 1), (300, 3), (0, 4))]
    check(target, reduction("prod", "f32", 0), *cases)
    check(target, reduction("max", "f32", 0), *cases)


@pytest.mark.parametrize("target", TARGETS)
def test_reduction_to_one_value_that_scales_everything(target: str) -> None:
    """One block sums the whole matrix, and divides it."""
    dims = (S0, S1)

    def build(x):
        def total(tensors):
            return K.reduce("sum", dims, "f32", lambda k: K.load(tensors[0], k, identity(*dims)))

        scaled = K.region(
            [x], dims, "f32", lambda t, i: K.scalar("div", K.load(t[0], i, identity(*dims)), total(t))
        )
        return [scaled, K.region([x], [], "f32", lambda t, i: total(t))]

    text = kernel_module([(dims, "f32")], build, [ROWS, COLUMNS])
    check(target, text, *([np.abs(randoms(m, n))] for m, n in ((1, 1), (7, 100))))


def test_reduction_in_f64() -> None:
    check("cuda", reduction("sum", "f64", 1), [numbers("f64", 3, 700)])
    check("cuda", reduction("min", "f64", 0), [numbers("f64", 300, 2)])


@pytest.mark.parametrize("target", TARGETS)
def test_maximum_propagates_nan(target: str) -> None:
    x = randoms(4, 400)
    x[1, 7] = x[2, 399] = np.nan
    x[3] = -np.inf
    check(target, reduction("max", "f32", 1), [x])
    check(target, reduction("min", "f32", 1), [x])


@pytest.mark.parametrize("target", TARGETS)
def test_small_static_reductions_run_in_one_thread_each(target: str) -> None:
    """A 3x3 maximum over padded input, as in pooling."""
    dims = (S0, const(9), const(3), const(3))
    row, column, i, j = dim_vars(dims)

    def build(x):
        def body(tensors, index):
            window = IndexMap.of(dims, [row + i - 1, column + j - 1])
            return K.reduce(
                "max", [3, 3], "f32", lambda k: K.load(tensors[0], [*index, *k], window, masked=True)
            )

        return [K.region([x], dims[:2], "f32", body)]

    program = check(
        target, kernel_module([((S0, 9), "f32")], build, [ROWS]), [randoms(7, 9)], [randoms(40, 9)]
    )
    assert "shared" not in program.source and "addrspace(3)" not in program.source


@pytest.mark.parametrize("target", TARGETS)
def test_layernorm_with_dynamic_rows_and_columns(target: str) -> None:
    """Two reductions, the second over what the first gives; the local row is bounded by 3000 columns."""
    dims = (S0, S1)

    def build(x, scale):
        def body(tensors, index):
            def value(k):
                return K.load(tensors[0], [index[0], k], identity(*dims))

            count = K.cast(K.index_value([], IndexMap.of((), [S1])), "f32")
            mean = K.scalar("div", K.reduce("sum", [S1], "f32", lambda k: value(k[0])), count)
            centred = K.local([S1], "f32", lambda k: K.scalar("sub", value(k[0]), mean))

            def square(k):
                c = K.load(centred, k, identity(S1))
                return K.scalar("mul", c, c)

            variance = K.scalar("div", K.reduce("sum", [S1], "f32", square), count)
            factor = K.scalar("rsqrt", K.scalar("add", variance, K.constant(1e-5, "f32")))
            normal = K.scalar("mul", K.load(centred, [index[1]], identity(S1)), factor)
            return K.scalar("mul", normal, K.load(tensors[1], index, select(dims, 1)))

        return [K.region([x, scale], dims, "f32", body)]

    text = kernel_module([((S0, S1), "f32"), ((S1,), "f32")], build, [ROWS, COLUMNS])
    check(
        target, text, *([randoms(m, n), randoms(n)] for m, n in ((2, 5), (1, 64), (3, 777))), tolerance=3e-5
    )


def softmax_rows(columns) -> str:
    dims = (S0, columns)

    def build(x):
        def body(tensors, index):
            def value(k):
                return K.load(tensors[0], [index[0], *k], identity(*dims))

            largest = K.reduce("max", [columns], "f32", value)
            powers = K.local([columns], "f32", lambda k: K.scalar("exp", K.scalar("sub", value(k), largest)))
            total = K.reduce("sum", [columns], "f32", lambda k: K.load(powers, k, identity(columns)))
            return K.scalar("div", K.load(powers, [index[1]], identity(columns)), total)

        return [K.region([x], dims, "f32", body)]

    symbols = [ROWS] if columns.is_const else [ROWS, SymbolInfo(1, 1)]
    return kernel_module([(dims, "f32")], build, symbols)


@pytest.mark.parametrize("target", TARGETS)
def test_softmax_keeps_its_row_in_shared_memory(target: str) -> None:
    program = check(target, softmax_rows(const(70)), [randoms(1, 70)], [randoms(9, 70)], [randoms(0, 70)])
    assert "70" in program.source


@pytest.mark.parametrize("target", TARGETS)
def test_softmax_of_unbounded_rows_recomputes_its_row(target: str) -> None:
    unbounded = SymbolInfo(1, 1).sym
    check(target, softmax_rows(unbounded), [randoms(2, 3)], [randoms(3, 1000)])


@pytest.mark.parametrize("target", TARGETS)
def test_attention_shaped_body_nests_reductions(target: str) -> None:
    """A softmax over keys shared by the outputs of a query, each a sum over keys by one thread."""
    keys, width = S1, const(8)
    dims = (S0, width)

    def build(scores, values):
        def body(tensors, index):
            def score(k):
                return K.load(tensors[0], [index[0], *k], identity(S0, keys))

            largest = K.reduce("max", [keys], "f32", score)
            total = K.reduce(
                "sum", [keys], "f32", lambda k: K.scalar("exp", K.scalar("sub", score(k), largest))
            )

            def weighted(k):
                weight = K.scalar("exp", K.scalar("sub", score(k), largest))
                return K.scalar("mul", weight, K.load(tensors[1], [*k, index[1]], identity(keys, width)))

            return K.scalar("div", K.reduce("sum", [keys], "f32", weighted), total)

        return [K.region([scores, values], dims, "f32", body)]

    text = kernel_module([((S0, keys), "f32"), ((keys, width), "f32")], build, [ROWS, COLUMNS])
    check(target, text, [randoms(3, 5), randoms(5, 8)], [randoms(2, 40), randoms(40, 8)])


@pytest.mark.parametrize("target", TARGETS)
def test_reduction_inside_a_local_tensor(target: str) -> None:
    """A local row of column sums, then normalised by its total: the inner sums run in single threads."""
    dims = (const(2), const(6))

    def build(x):
        def body(tensors, index):
            def column_sum(k):
                return K.reduce(
                    "sum", [S0], "f32", lambda r: K.load(tensors[0], [index[0], *r, *k], identity(2, S0, 6))
                )

            sums = K.local([6], "f32", column_sum)
            total = K.reduce("sum", [6], "f32", lambda k: K.load(sums, k, identity(6)))
            return K.scalar("div", K.load(sums, [index[1]], identity(6)), total)

        return [K.region([x], dims, "f32", body)]

    text = kernel_module([((2, S0, 6), "f32")], build, [ROWS])
    check(target, text, [np.abs(randoms(2, 4, 6))], [np.abs(randoms(2, 31, 6))], tolerance=2e-5)
