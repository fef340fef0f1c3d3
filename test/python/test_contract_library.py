"""`library = "blas"`: NumPy's OpenBLAS computes what our own code computes."""

from __future__ import annotations

import numpy as np
import pytest
from contractions import S0, check, matmul
from cpu_kernels import Contraction, compile_contraction

from luminal.dialects import kernel
from luminal.dialects.symbol_list import SymbolInfo
from luminal.dialects.symbolic import IndexMap
from luminal.errors import LoweringError
from luminal.lowering.cpu import blas, contract_library
from luminal.lowering.cpu.blas import library_available

if not library_available():
    pytest.skip("no OpenBLAS that can be loaded", allow_module_level=True)

SIZES = [(1, 1, 1), (13, 37, 29), (2, 67, 11), (40, 5, 17), (100, 64, 33)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_layouts(size: tuple[int, int, int], dtype: str) -> None:
    m, n, k = size
    check(matmul(m, n, k, library="blas", dtype=dtype))
    check(
        Contraction(
            (), (m,), (n,), (k,),
            lambda i, j, p: (p, i), lambda i, j, p: (p, j), lambda i, j, p: (i, j),
            [(k, m), (k, n)], library="blas", dtype=dtype,
        )
    )  # fmt: skip


@pytest.mark.parametrize("shape", [(0, 5, 3), (5, 0, 3)])
def test_empty_axes(shape: tuple[int, int, int]) -> None:
    check(matmul(*shape, library="blas"))


def test_batches_and_dynamic_rows() -> None:
    case = Contraction(
        (3,), (S0.sym,), (10,), (12,),
        lambda b, i, j, p: (b, i, p), lambda b, i, j, p: (b, j, p), lambda b, i, j, p: (b, i, j),
        [(3, S0.sym, 12), (3, 10, 12)], symbols=[S0], library="blas",
    )  # fmt: skip
    for rows in (1, 16, 33):
        check(case, (rows,))


def test_a_depth_that_may_be_empty() -> None:
    symbol = SymbolInfo(0, 0, 64)
    case = matmul(4, 40, symbol.sym, symbols=[symbol], library="blas")
    for depth in (0, 1, 9):
        check(case, (depth,))


def test_epilogue_after_the_routine() -> None:
    def body(tensors, indices, acc):
        bias = kernel.load(tensors[2], [indices[1]], IndexMap.identity((37,)))
        scale = kernel.load(tensors[3], [indices[0]], IndexMap.identity((20,)))
        return kernel.scalar("tanh", kernel.scalar("mul", kernel.scalar("add", acc, bias), scale))

    check(
        Contraction(
            (), (20,), (37,), (30,),
            lambda i, j, p: (i, p), lambda i, j, p: (j, p), lambda i, j, p: (i, j),
            [(20, 30), (37, 30), (37,), (20,)], body=body, library="blas",
            after=lambda extras, sums, grid: np.tanh((sums + extras[0]) * extras[1][:, None]),
        )
    )  # fmt: skip


def test_what_no_routine_covers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for case in (matmul(4, 5, 6, packed=16), matmul(4, 5, 6, dtype="bf16"), matmul(4, 5, 6, dtype="i32")):
        case.library = "blas"
        with pytest.raises(LoweringError, match="no BLAS routine covers"):
            compile_contraction(case)
    monkeypatch.setattr(contract_library, "library_available", lambda: False)
    with pytest.raises(LoweringError, match="no OpenBLAS"):
        compile_contraction(matmul(4, 5, 6, library="blas"))


def test_numpy_keeps_its_threads() -> None:
    """The instance that kernels call is another one than NumPy's."""
    assert blas.addresses() == blas.addresses() != {}
    left = np.random.default_rng(0).standard_normal((64, 64))
    np.testing.assert_allclose(left @ np.eye(64), left)
