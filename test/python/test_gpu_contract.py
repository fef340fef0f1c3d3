"""`kernel.contract` on both GPU targets: layouts, batches, several dims, epilogues, packed panels, dynamic
sizes.
"""

from __future__ import annotations

import numpy as np
import pytest
from gpu_compare import check, to_bfloat
from gpu_programs import TARGETS, kernel_module

from luminal.dialects import kernel as K
from luminal.dialects.symbol_list import SymbolInfo
from luminal.dialects.symbolic import IndexMap, const, dim_vars
from luminal.dialects.types import NUMPY_DTYPES

ROWS, COLUMNS, DEPTH = SymbolInfo(0, 0, 512), SymbolInfo(1, 1, 512), SymbolInfo(2, 0, 512)
S0, S1, S2 = ROWS.sym, COLUMNS.sym, DEPTH.sym
SYMBOLS = [ROWS, COLUMNS, DEPTH]
SIZES = ((1, 1, 1), (5, 3, 7), (33, 40, 50), (0, 4, 4), (3, 33, 0))


def randoms(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def plain(tensors, index, accumulator):
    return accumulator


def matmul(lhs_order: tuple[int, int], rhs_order: tuple[int, int], dtype: str = "f32") -> str:
    """(m, n, k) product of matrices stored in the given order of (m, k) and (n, k)."""
    domain = (S0, S1, S2)
    m, n, k = dim_vars(domain)
    lhs, rhs = ((m, k)[axis] for axis in lhs_order), ((n, k)[axis] for axis in rhs_order)
    lhs_map, rhs_map = IndexMap.of(domain, list(lhs)), IndexMap.of(domain, list(rhs))

    def build(a, b):
        def body(tensors, index, accumulator):
            return K.cast(accumulator, dtype)

        out_map = IndexMap.of(domain, [m, n])
        return [K.contract(a, b, [], domain, (0, 1, 1, 1), lhs_map, rhs_map, out_map, dtype, body)]

    shapes = [tuple((S0, S2)[axis] for axis in lhs_order), tuple((S1, S2)[axis] for axis in rhs_order)]
    return kernel_module([(shapes[0], dtype), (shapes[1], dtype)], build, SYMBOLS)


def operand(dtype: str, *shape: int) -> np.ndarray:
    values = randoms(*shape) * 4
    return to_bfloat(values) if dtype == "bf16" else values.astype(NUMPY_DTYPES[dtype])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("lhs_order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("rhs_order", [(0, 1), (1, 0)])
def test_layouts(target: str, lhs_order: tuple[int, int], rhs_order: tuple[int, int]) -> None:
    cases = [
        [
            randoms(*((m, k)[axis] for axis in lhs_order)),
            randoms(*((n, k)[axis] for axis in rhs_order), seed=1),
        ]
        for m, n, k in SIZES
    ]
    check(target, matmul(lhs_order, rhs_order), *cases, tolerance=1e-4)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["f16", "bf16", "i32", "i64"])
def test_dtypes(target: str, dtype: str) -> None:
    tolerance = 2e-2 if dtype in ("f16", "bf16") else None
    check(
        target,
        matmul((0, 1), (1, 0), dtype),
        [operand(dtype, 5, 40), operand(dtype, 40, 35)],
        tolerance=tolerance,
    )


def test_f64() -> None:
    check("cuda", matmul((0, 1), (0, 1), "f64"), [operand("f64", 5, 40), operand("f64", 35, 40)])


@pytest.mark.parametrize("target", TARGETS)
def test_epilogue_with_bias_residual_and_activation(target: str) -> None:
    domain = (S0, S1, S2)
    m, n, k = dim_vars(domain)
    grid = IndexMap.identity((S0, S1))
    bias_map = IndexMap.of((S0, S1), [dim_vars((S0, S1))[1]])

    def build(a, b, bias, residual):
        def body(tensors, index, accumulator):
            shifted = K.scalar("add", accumulator, K.load(tensors[2], index, bias_map))
            return K.scalar("add", K.scalar("sigmoid", shifted), K.load(tensors[3], index, grid))

        maps = [IndexMap.of(domain, results) for results in ([m, k], [n, k], [m, n])]
        return [K.contract(a, b, [bias, residual], domain, (0, 1, 1, 1), *maps, "f32", body)]

    types = [((S0, S2), "f32"), ((S1, S2), "f32"), ((S1,), "f32"), ((S0, S1), "f32")]
    cases = [[randoms(m, k), randoms(n, k, seed=1), randoms(n), randoms(m, n, seed=2)] for m, n, k in SIZES]
    check(target, kernel_module(types, build, SYMBOLS), *cases, tolerance=1e-4)


@pytest.mark.parametrize("target", TARGETS)
def test_batched_heads_with_shared_keys(target: str) -> None:
    """Attention scores: (batch, head) batch dims, two heads to a key head, the result stored transposed."""
    batch, heads, width = S0, const(4), const(6)
    domain = (batch, heads, S1, S1, width)
    b, h, q, t, d = dim_vars(domain)
    maps = [IndexMap.of(domain, results) for results in ([b, q, h, d], [b, t, h // 2, d], [b, q, h, t])]

    def build(query, key):
        return [K.contract(query, key, [], domain, (2, 1, 1, 1), *maps, "f32", plain)]

    types = [((batch, S1, heads, width), "f32"), ((batch, S1, 2, width), "f32")]
    text = kernel_module(types, build, SYMBOLS[:2])
    check(
        target,
        text,
        *([randoms(n, s, 4, 6), randoms(n, s, 2, 6, seed=1)] for n, s in ((1, 1), (2, 5), (1, 34))),
        tolerance=1e-4,
    )


@pytest.mark.parametrize("target", TARGETS)
def test_several_dims_of_each_kind_and_strided_maps(target: str) -> None:
    """A convolution as a contraction: two output dims, and channels and taps as contracted dims."""
    domain = (S0, const(4), const(3), const(5), const(2), const(3))
    image, row, column, channel, inner, tap = dim_vars(domain)
    maps = [
        IndexMap.of(domain, [image, inner, row * 2 + tap, column]),
        IndexMap.of(domain, [channel, inner, tap]),
        IndexMap.of(domain, [image, channel, row, column]),
    ]

    def build(x, weight):
        return [K.contract(x, weight, [], domain, (0, 3, 1, 2), *maps, "f32", plain)]

    text = kernel_module([((S0, 2, 9, 3), "f32"), ((5, 2, 3), "f32")], build, [ROWS])
    check(target, text, *([randoms(n, 2, 9, 3), randoms(5, 2, 3, seed=1)] for n in (1, 4)), tolerance=1e-4)


@pytest.mark.parametrize("target", TARGETS)
def test_packed_panels(target: str) -> None:
    """A region packs the weight into zero padded panels, the contraction reads them."""
    width, columns, depth = 8, 20, 13
    panel = (3, depth, width)
    p, k, lane = dim_vars(panel)
    domain = (S0, const(columns), const(depth))
    m, n, d = dim_vars(domain)

    def build(x, weight):
        source = IndexMap.of(panel, [p * width + lane, k])
        packed = K.region([weight], panel, "f32", lambda t, i: K.load(t[0], i, source, masked=True))
        lhs_map, out_map = IndexMap.of(domain, [m, d]), IndexMap.of(domain, [m, n])
        return [
            K.contract(
                x, packed, [], domain, (0, 1, 1, 1), lhs_map, None, out_map, "f32", plain, packed=width
            )
        ]

    text = kernel_module([((S0, depth), "f32"), ((columns, depth), "f32")], build, [ROWS])
    check(
        target, text, *([randoms(m, depth), randoms(columns, depth, seed=1)] for m in (1, 40)), tolerance=1e-4
    )
