"""Numbers of CPU contractions against float64: layouts, batches, packing, tails, dtypes, dynamic sizes,
epilogues.
"""

from __future__ import annotations

import numpy as np
import pytest
from contractions import S0, attention_scores, attention_values, check, matmul
from cpu_kernels import Contraction, aligned, compile_contraction, pack_panels, run_kernel

from luminal.dialects import kernel
from luminal.dialects.symbol_list import SymbolInfo
from luminal.dialects.symbolic import IndexMap
from luminal.lowering.cpu import contract
from luminal.lowering.cpu.target import Target


@pytest.mark.parametrize("m", [1, 2, 3, 4, 6, 7, 13, 40])
@pytest.mark.parametrize(("n", "k"), [(64, 32), (33, 17), (5, 3), (100, 1)])
def test_packed_shapes(m: int, n: int, k: int) -> None:
    check(matmul(m, n, k, packed=32))


@pytest.mark.parametrize("width", [8, 12, 48, 64])
def test_packed_widths(width: int) -> None:
    check(matmul(9, 70, 20, packed=width))
    check(matmul(1, 70, 20, packed=width))


@pytest.mark.parametrize("m", [1, 2, 5, 19])
@pytest.mark.parametrize(("n", "k"), [(64, 40), (37, 19), (3, 50), (1, 64)])
def test_unpacked_transposed(m: int, n: int, k: int) -> None:
    check(matmul(m, n, k))


@pytest.mark.parametrize("m", [1, 2, 8, 21])
@pytest.mark.parametrize(("n", "k"), [(64, 40), (37, 19), (8, 5), (1, 9)])
def test_unpacked_row_major(m: int, n: int, k: int) -> None:
    rows = Contraction(
        (), (m,), (n,), (k,),
        lambda i, j, p: (i, p), lambda i, j, p: (p, j), lambda i, j, p: (i, j), [(m, k), (k, n)],
    )  # fmt: skip
    check(rows)
    both = Contraction(
        (), (m,), (n,), (k,),
        lambda i, j, p: (p, i), lambda i, j, p: (p, j), lambda i, j, p: (j, i), [(k, m), (k, n)],
    )  # fmt: skip
    check(both)


def test_strides_that_are_powers_of_two() -> None:
    case = Contraction(
        (), (20,), (48,), (1024,),
        lambda i, j, p: (i, p), lambda i, j, p: (p, j), lambda i, j, p: (i, j), [(20, 1024), (1024, 1024)],
    )  # fmt: skip
    check(case)
    check(matmul(20, 64, 1024, packed=32))


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16", "i32", "i64"])
@pytest.mark.parametrize("packed", [None, 32])
@pytest.mark.parametrize("m", [1, 11])
def test_dtypes(dtype: str, packed: int | None, m: int) -> None:
    check(matmul(m, 45, 23, dtype=dtype, packed=packed))


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_half_results_round_once(dtype: str) -> None:
    check(
        matmul(
            5,
            45,
            23,
            dtype=dtype,
            out_dtype=dtype,
            body=lambda tensors, indices, acc: kernel.cast(acc, dtype),
        )
    )


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 12, 31])
@pytest.mark.parametrize("packed", [None, 32])
def test_dynamic_rows(size: int, packed: int | None) -> None:
    check(matmul(S0.sym, 50, 21, packed=packed, symbols=[S0]), (size,))


@pytest.mark.parametrize("keys", [1, 7, 16, 33, 70])
def test_attention_over_a_growing_cache(keys: int) -> None:
    check(attention_scores(1, S0.sym), (keys,))
    check(attention_values(1, S0.sym), (keys,))
    check(attention_scores(S0.sym, S0.sym), (keys,))
    check(attention_values(S0.sym, S0.sym), (keys,))


def test_several_dims_of_each_kind() -> None:
    check(
        Contraction(
            (2, 3),
            (4, 5),
            (2, 8),
            (3, 7),
            lambda a, b, i, j, p, q, r, s: (i, b, j, s, r),
            lambda a, b, i, j, p, q, r, s: (a, r, p, s, q),
            lambda a, b, i, j, p, q, r, s: (q, a, i, p, b, j),
            [(4, 3, 5, 7, 3), (2, 3, 2, 7, 8)],
        )  # fmt: skip
    )


@pytest.mark.parametrize(("rows", "heads", "size"), [(7, 3, 64), (1, 3, 64), (6, 4, 5)])
def test_columns_split_into_heads(rows: int, heads: int, size: int) -> None:
    check(
        Contraction(
            (),
            (rows,),
            (heads, size),
            (24,),
            lambda i, h, d, p: (i, p),
            lambda i, h, d, p: (h, d, p),
            lambda i, h, d, p: (h, i, d),
            [(rows, 24), (heads, size, 24)],
            packed=32,
        )  # fmt: skip
    )


def test_packed_batches() -> None:
    check(
        Contraction(
            (5,),
            (9,),
            (40,),
            (12,),
            lambda b, i, j, p: (b, i, p),
            lambda b, i, j, p: (b, j, p),
            lambda b, i, j, p: (b, i, j),
            [(5, 9, 12), (5, 40, 12)],
            packed=32,
        )  # fmt: skip
    )


def test_unfolded_convolution() -> None:
    """A 3x3 convolution: rows are overlapping windows of the image."""
    check(
        Contraction(
            (2,),
            (6, 6),
            (20,),
            (4, 3, 3),
            lambda b, y, x, o, c, u, v: (b, c, y + u, x + v),
            lambda b, y, x, o, c, u, v: (o, c, u, v),
            lambda b, y, x, o, c, u, v: (b, o, y, x),
            [(2, 4, 8, 8), (20, 4, 3, 3)],
        )  # fmt: skip
    )


@pytest.mark.parametrize("packed", [None, 32])
@pytest.mark.parametrize("m", [1, 9])
@pytest.mark.parametrize("n", [48, 50])
def test_bias_residual_and_activation(packed: int | None, m: int, n: int) -> None:
    def body(tensors, indices, acc):
        bias = kernel.load(tensors[2], [indices[1]], IndexMap.identity((n,)))
        residual = kernel.load(tensors[3], indices, IndexMap.identity((m, n)))
        scale = kernel.load(tensors[4], [indices[0]], IndexMap.identity((m,)))
        hidden = kernel.scalar("mul", kernel.scalar("add", acc, bias), scale)
        return kernel.scalar("add", kernel.scalar("tanh", hidden), residual)

    check(
        Contraction(
            (),
            (m,),
            (n,),
            (30,),
            lambda i, j, p: (i, p),
            lambda i, j, p: (j, p),
            lambda i, j, p: (i, j),
            [(m, 30), (n, 30), (n,), (m, n), (m,)],
            packed=packed,
            body=body,
            after=lambda extras, sums, grid: np.tanh((sums + extras[0]) * extras[2][:, None]) + extras[1],
        )  # fmt: skip
    )


@pytest.mark.parametrize("along", [0, 1])
def test_epilogue_reads_at_runtime_positions(along: int) -> None:
    """The positions are read from memory, by row or by column; one is past the end and is clamped."""
    sizes = (9, 35)

    def body(tensors, indices, acc):
        at = kernel.load(tensors[2], [indices[along]], IndexMap.identity((sizes[along],)))
        position = kernel.to_index(
            kernel.cast(kernel.scalar("mul", at, kernel.constant(3.0, "f32")), "i64"), 5
        )
        value = kernel.load(tensors[3], [position], IndexMap.identity((5,)))
        return kernel.scalar("add", acc, value)

    def after(extras, sums, grid):
        picked = extras[1][np.clip((extras[0].astype(np.float32) * np.float32(3)).astype(np.int64), 0, 4)]
        return sums + (picked[:, None] if along == 0 else picked[None])

    check(
        Contraction(
            (),
            (9,),
            (35,),
            (4,),
            lambda i, j, p: (i, p),
            lambda i, j, p: (j, p),
            lambda i, j, p: (i, j),
            [(9, 4), (35, 4), (sizes[along],), (5,)],
            body=body,
            after=after,
        )  # fmt: skip
    )


def test_epilogue_without_columns_or_sums() -> None:
    def body(tensors, indices, acc):
        return kernel.load(tensors[2], [indices[0]], IndexMap.identity((9,)))

    check(
        Contraction(
            (),
            (9,),
            (35,),
            (4,),
            lambda i, j, p: (i, p),
            lambda i, j, p: (j, p),
            lambda i, j, p: (i, j),
            [(9, 4), (35, 4), (9,)],
            body=body,
            after=lambda extras, sums, grid: np.broadcast_to(extras[0][:, None], sums.shape),
        )  # fmt: skip
    )


@pytest.mark.parametrize("shape", [(0, 5, 3), (5, 0, 3), (5, 7, 0), (1, 40, 0)])
@pytest.mark.parametrize("packed", [None, 32])
def test_empty_axes(shape: tuple[int, int, int], packed: int | None) -> None:
    case = matmul(*shape, packed=packed)
    if packed is None or shape[2]:
        check(case)


def test_dynamic_axes_may_be_empty() -> None:
    symbol = SymbolInfo(0, 0, 64)
    case = matmul(symbol.sym, 40, 8, symbols=[symbol], packed=32)
    for size in (0, 1, 9):
        check(case, (size,))
    deep = matmul(4, 40, symbol.sym, symbols=[symbol])
    for size in (0, 1, 9):
        check(deep, (size,))


@pytest.mark.parametrize("bits", [128, 512])
def test_plans_of_other_machines(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM splits or pads vectors that this machine does not have."""
    monkeypatch.setattr(contract, "host_target", lambda: Target("another", bits))
    for packed in (None, 32):
        for rows in (1, 3, 29):
            check(matmul(rows, 50, 37, packed=packed))
        check(matmul(S0.sym, 50, 37, packed=packed, symbols=[S0]), (23,))
    check(attention_values(S0.sym, S0.sym), (21,))


def test_infinities_and_nan_stay_in_their_columns() -> None:
    case = matmul(3, 40, 8, packed=32)
    arrays = case.inputs()
    arrays[1][39, 2] = np.inf
    arrays[1][7, 0] = np.nan
    out = np.zeros((3, 40), np.float32)
    run_kernel(compile_contraction(case), [arrays[0], pack_panels(arrays[1], 32)], out)
    assert np.isnan(out[:, 7]).all() and np.isinf(out[:, 39]).all()
    rest = np.delete(out, [7, 39], axis=1)
    assert np.isfinite(rest).all()


@pytest.mark.parametrize("packed", [None, 32])
@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize("depth", [65536, 65536 + 77])
def test_long_sums_keep_their_accuracy(packed: int | None, rows: int, depth: int) -> None:
    """Added one by one in f32, this many tenths are off by 1e-4 of their sum."""
    case = matmul(rows, 40, depth, packed=packed)
    compiled = compile_contraction(case)
    ones = aligned(np.ones((rows, depth), np.float32), 4)
    tenths = np.full((40, depth), 0.1, np.float32)
    rhs = aligned(pack_panels(tenths.reshape(-1, depth), packed) if packed else tenths, 4)
    out = aligned(np.zeros((rows, 40), np.float32), 4)
    run_kernel(compiled, [ones, rhs], out, (), 2, {})
    np.testing.assert_allclose(out, np.float64(np.float32(0.1)) * depth, rtol=1e-5)
