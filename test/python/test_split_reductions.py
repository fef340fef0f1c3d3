"""Long reductions are computed in chunks, with the same values as in one piece, on any number of threads."""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest
import torch
from cpu_regions import random, to_float
from functions import build

import luminal
from luminal.dialects import kernel as K
from luminal.dialects.mlir import ir
from luminal.dialects.symbol_list import SymbolInfo
from luminal.dialects.symbolic import Expr, IndexMap, dim_vars
from luminal.passes.split_reductions import SplitReductionsOptions, split_reductions
from luminal.runtime.interpreter import run_l2

S0 = SymbolInfo(0, 0)
SMALL = SplitReductionsOptions(elements=64, groups=4, chunks=8)
"""As the defaults, for arrays that the interpreter is quick on."""


def reduced(kind: str, dims: Sequence[Expr | int], dtype: str, kept: int = 0) -> Callable[..., ir.Value]:
    """Reduces all axes of a tensor but the first `kept`."""

    def body(tensors, indices):
        return K.reduce(
            kind,
            dims[kept:],
            dtype,
            lambda inner: K.load(tensors[0], [*indices, *inner], IndexMap.identity(dims)),
        )

    return lambda x: K.region([x], dims[:kept], dtype, body)


def check(module: ir.Module, arrays: Sequence[np.ndarray], count: int, tolerance: float, dtype: str) -> None:
    expected = run_l2(module, list(arrays))
    assert split_reductions(module.operation, SMALL) == {"split reductions": count}
    assert module.operation.verify()
    found = run_l2(module, list(arrays))
    for have, want in zip(found, expected, strict=True):
        have, want = to_float(have, dtype), to_float(want, dtype)
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        *product(("sum", "prod", "max", "min"), ("f64", "f32", "f16", "bf16", "i64", "i32")),
        *product(("max", "min"), ("i1",)),
    ],
)
@pytest.mark.parametrize("dims", [(96,), (1025,), (5, 40)], ids=str)
def test_every_kind_and_type(kind: str, dtype: str, dims: tuple[int, ...]) -> None:
    module = build([(dims, dtype)], reduced(kind, dims, dtype))
    array = random(dims, dtype, scale=0.3) if kind != "prod" else np.abs(random(dims, dtype, 0, 0.9))
    check(module, [array], 1, {"f16": 2e-3, "bf16": 1e-2}.get(dtype, 1e-5), dtype)


def test_nan_wins_in_any_chunk() -> None:
    for position in (0, 500, 1024):
        module = build([((1025,), "f32")], reduced("max", (1025,), "f32"))
        array = random((1025,), "f32")
        array[position] = np.nan
        split_reductions(module.operation, SMALL)
        assert np.isnan(run_l2(module, [array])[0])


@pytest.mark.parametrize("size", [0, 1, 7, 8, 64, 1003])
def test_sizes_known_at_run_time(size: int) -> None:
    dims = (3, S0.sym)
    module = build([(dims, "f32")], reduced("sum", dims, "f32", kept=1), [S0])
    check(module, [random((3, size), "f32")], 1, 1e-6, "f32")


def test_what_needs_no_chunks_stays() -> None:
    for dims, kept in [((5, 96), 1), ((63,), 0), ((3, 97), 1)]:
        module = build([(dims, "f32")], reduced("sum", dims, "f32", kept))
        check(module, [random(dims, "f32")], 0, 0, "f32")


def test_reductions_that_need_each_other() -> None:
    """A variance, where the second sum needs the first, and the result both."""
    dims = (2, 24, 8)

    def body(tensors, indices):
        def load(inner):
            return K.load(tensors[0], [indices[0], *inner], IndexMap.identity(dims))

        size = K.constant(192.0, "f32")
        mean = K.scalar("div", K.reduce("sum", dims[1:], "f32", load), size)

        def square(inner):
            rest = K.scalar("sub", load(inner), mean)
            return K.scalar("mul", rest, rest)

        variance = K.scalar("div", K.reduce("sum", dims[1:], "f32", square), size)
        here = K.load(tensors[0], indices, IndexMap.identity(dims))
        return K.scalar("mul", K.scalar("sub", here, mean), K.scalar("rsqrt", variance))

    module = build([(dims, "f32")], lambda x: K.region([x], dims, "f32", body))
    check(module, [random(dims, "f32")], 2, 1e-5, "f32")


def test_every_use_of_a_cut_index() -> None:
    """Masked and gathered loads, index values, and a reduction inside, each with the index that is cut."""
    size, (d0,) = 257 * 8, dim_vars([257 * 8])
    (a, b) = dim_vars([size, 3])

    def body(tensors, indices):
        data, rows = tensors

        def inner(index):
            (k,) = index
            number = K.index_value([k], IndexMap.of([size], [d0 % 5 + 1]))
            where = K.to_index(K.load(rows, [k], IndexMap.of([size], [d0])), size)
            masked = K.load(data, [k], IndexMap.of([size], [d0 - 9]), masked=True)
            gathered = K.load(data, [where], IndexMap.of([None], dim_vars([None])))
            window = K.reduce(
                "max",
                [3],
                "f32",
                lambda j: K.load(data, [k, *j], IndexMap.of([size, 3], [a // 2 + b]), masked=True),
            )
            value = K.scalar("mul", K.scalar("add", masked, gathered), K.cast(number, "f32"))
            return K.scalar("add", value, window)

        return K.reduce("sum", [size], "f32", inner)

    module = build([((size,), "f32"), ((size,), "i64")], lambda x, rows: K.region([x, rows], (), "f32", body))
    rows = np.random.default_rng(0).integers(0, size, size)
    check(module, [random((size,), "f32"), rows], 1, 1e-5, "f32")


def test_a_program_gives_the_same_sum_with_any_number_of_threads() -> None:
    x = torch.randn(70001, generator=torch.Generator().manual_seed(0))

    def total(x):
        return x.sum(), (x * x).mean(), x.amax()

    results = [luminal.compile(total, (x,), options={"threads": threads})(x) for threads in (1, 2, 3)]
    for sums in zip(*results, strict=True):
        assert torch.equal(sums[0], sums[1]) and torch.equal(sums[0], sums[2])
    for found, expected in zip(results[0], total(x.double()), strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=1e-6, atol=1e-4)
