"""Contractions that tests share, and their check against float64 for any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from cpu_kernels import (
    Contraction,
    aligned,
    compile_contraction,
    pack_panels,
    run_kernel,
    to_dtype,
    to_float64,
)

from luminal.dialects import kernel
from luminal.dialects.symbol_list import SymbolInfo
from luminal.dialects.symbolic import Expr, product

S0 = SymbolInfo(0, 1, 4096)
TOLERANCE = {"f64": 1e-13, "f32": 3e-6, "f16": 1e-3, "bf16": 8e-3, "i32": 0, "i64": 0}


def matmul(m: Expr | int, n: Expr | int, k: Expr | int, **options: Any) -> Contraction:
    """Row-major (m, k) times (n, k) transposed, as linear layers have it; packed with `packed=`."""
    return Contraction(
        (), (m,), (n,), (k,),
        lambda i, j, p: (i, p), lambda i, j, p: (j, p), lambda i, j, p: (i, j),
        [(m, k), (n, k)], **options,
    )  # fmt: skip


def check(
    case: Contraction, sizes: tuple[int, ...] = (), threads: tuple[int, ...] = (1, 2, 3), seed: int = 0
) -> None:
    arrays = case.inputs(sizes, seed)
    reference = case.reference(arrays, sizes)
    run_arrays = [aligned(array, 4 if array.dtype.itemsize <= 4 else 8) for array in arrays]
    if case.packed is not None:
        columns = arrays[1].reshape(*arrays[1].shape[: len(case.batch)], -1, case_depth(case, sizes))
        run_arrays[1] = aligned(pack_panels(columns, case.packed))
    compiled = compile_contraction(case)
    out_dtype = case.out_dtype or kernel.accumulator_dtype(case.dtype)
    for count in threads:
        out = aligned(to_dtype(np.full(reference.shape, 77.0), out_dtype), 4 if out_dtype != "f64" else 8)
        run_kernel(compiled, run_arrays, out, sizes, count, case.values(sizes))
        if out_dtype.startswith("i"):
            np.testing.assert_array_equal(out, reference.astype(out.dtype))
        else:
            scale = max(1e-30, float(np.abs(reference).max(initial=0.0)))
            error = np.abs(to_float64(out, out_dtype) - reference).max(initial=0.0)
            assert error <= TOLERANCE[out_dtype] * scale, f"{count} threads: {error / scale}"


def case_depth(case: Contraction, sizes: tuple[int, ...]) -> int:
    return product(case.depth).evaluate(case.values(sizes))


def attention_scores(queries: Expr | int, keys: Expr | int) -> Contraction:
    """9 query heads share 3 key heads."""
    return Contraction(
        (9,), (queries,), (keys,), (16,),
        lambda h, i, j, p: (h, i, p), lambda h, i, j, p: (h // 3, j, p), lambda h, i, j, p: (h, i, j),
        [(9, queries, 16), (3, keys, 16)], symbols=[S0],
    )  # fmt: skip


def attention_values(queries: Expr | int, keys: Expr | int) -> Contraction:
    return Contraction(
        (9,), (queries,), (16,), (keys,),
        lambda h, i, j, p: (h, i, p), lambda h, i, j, p: (h // 3, p, j), lambda h, i, j, p: (i, h, j),
        [(9, queries, keys), (3, keys, 16)], symbols=[S0],
    )  # fmt: skip
