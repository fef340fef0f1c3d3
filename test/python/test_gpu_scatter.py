"""`kernel.scatter` on both GPU targets: order, duplicates, dropped writes, in place, and how much runs in
parallel.
"""

from __future__ import annotations

import numpy as np
import pytest
from gpu_compare import check
from gpu_programs import TARGETS, kernel_module

from luminal.dialects import kernel as K
from luminal.dialects.symbol_list import SymbolInfo
from luminal.dialects.symbolic import IndexMap, const, dim_vars
from luminal.dialects.types import NUMPY_DTYPES
from luminal.errors import LoweringError

ROWS, TARGET = SymbolInfo(0, 0, 512), SymbolInfo(1, 1, 512)
S0, S1 = ROWS.sym, TARGET.sym


def randoms(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).normal(size=shape).astype(np.float32)


def rows_by_index(mode: str, dtype: str) -> str:
    """base[ids[r], c] = or += updates[r, c]."""
    domain = (S0, const(6))
    column = dim_vars(domain)[1]

    def build(base, updates, ids):
        def body(tensors, index):
            value = K.load(tensors[1], index, IndexMap.identity(domain))
            row = K.load(tensors[2], [index[0]], IndexMap.identity([S0]))
            return [value, row, K.index_value(index, IndexMap.of(domain, [column]))]

        return [K.scatter(base, [updates, ids], domain, mode, body)]

    return kernel_module([((S1, 6), dtype), ((S0, 6), dtype), ((S0,), "i64")], build, [ROWS, TARGET])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("mode", ["set", "add"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "i64", "i32"])
def test_duplicates_in_order_and_writes_out_of_range(target: str, mode: str, dtype: str) -> None:
    kind = NUMPY_DTYPES[dtype]
    cases = [
        [(randoms(4, 6) * 9).astype(kind), (randoms(n, 6) * 9).astype(kind), ids[:n]]
        for n, ids in ((7, np.array([2, 0, 2, -1, 4, 0, 2])), (0, np.zeros(0, np.int64)))
    ]
    check(target, rows_by_index(mode, dtype), *cases)


@pytest.mark.parametrize("target", TARGETS)
def test_all_coordinates_from_index_tensors(target: str) -> None:
    def build(base, updates, ids):
        def body(tensors, index):
            identity = IndexMap.identity([S0])
            return [K.load(tensors[1], index, identity), K.load(tensors[2], index, identity)]

        return [K.scatter(base, [updates, ids], [S0], "add", body)]

    text = kernel_module([((S1,), "f32"), ((S0,), "f32"), ((S0,), "i64")], build, [ROWS, TARGET])
    check(target, text, [randoms(5), randoms(40), np.arange(40) * 7 % 6])


@pytest.mark.parametrize("target", TARGETS)
def test_affine_placement_runs_in_parallel(target: str) -> None:
    """Concatenation and a strided slice: one thread per update, found by their affine coordinates."""
    domain = (S0, S1)
    row, column = dim_vars(domain)

    def build(base, updates):
        def body(tensors, index):
            value = K.load(tensors[1], index, IndexMap.identity(domain))
            places = [IndexMap.of(domain, [row * 2 + 1]), IndexMap.of(domain, [S1 - column])]
            return [value, *(K.index_value(index, place) for place in places)]

        return [K.scatter(base, [updates], domain, "set", body)]

    text = kernel_module([((S0, S1), "f32"), ((S0, S1), "f32")], build, [ROWS, TARGET])
    program = check(target, text, *([randoms(m, n), randoms(m, n)] for m, n in ((1, 1), (5, 70), (0, 2))))
    assert str(program.program.launches[-1].grid.blocks) == "(s0 * s1 + 255) floordiv 256"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("in_place", [False, True])
def test_an_intermediate_that_dies_needs_no_copy(target: str, in_place: bool) -> None:
    """A cache row is replaced at a position that is read from memory."""

    size = SymbolInfo(0, 1, 512)
    dims = (size.sym, const(6))

    def build(x, position):
        fresh = K.region([x], dims, "f32", lambda t, i: K.load(t[0], i, IndexMap.identity(dims)))

        def body(tensors, index):
            row = K.load(tensors[1], [], IndexMap.of((), []))
            value = K.cast(K.index_value(index, IndexMap.identity([6])), "f32")
            return [value, row, K.index_value(index, IndexMap.identity([6]))]

        return [K.scatter(fresh, [position], [6], "set", body, in_place=in_place)]

    text = kernel_module([(dims, "f32"), ((), "i64")], build, [size])
    program = check(target, text, [randoms(4, 6), np.array(2)], [randoms(1, 6), np.array(5)])
    assert [launch.kernel for launch in program.program.launches] == ["kernel0_region", "kernel1_scatter"]


@pytest.mark.parametrize("target", TARGETS)
def test_an_intermediate_that_is_read_again_is_copied(target: str) -> None:
    def build(x):
        fresh = K.region([x], [4], "f32", lambda t, i: K.load(t[0], i, IndexMap.identity([4])))

        def body(tensors, index):
            return [K.constant(1.0, "f32"), K.index_value(index, IndexMap.of([2], [dim_vars([2])[0] + 1]))]

        return [K.scatter(fresh, [], [2], "set", body), fresh]

    program = check(target, kernel_module([((4,), "f32")], build), [randoms(4)])
    kernels = [launch.kernel for launch in program.program.launches]
    assert kernels == ["kernel0_region", "kernel1_copy", "kernel1_scatter"]


def test_in_place_on_a_base_that_is_read_again_is_refused() -> None:
    def build(x):
        def body(tensors, index):
            return [K.constant(1.0, "f32"), K.index_value(index, IndexMap.identity([2]))]

        return [K.scatter(x, [], [2], "set", body, in_place=True), x]

    with pytest.raises(LoweringError, match="in place, but its base is read again"):
        check("cuda", kernel_module([((4,), "f32")], build), [randoms(4)])
