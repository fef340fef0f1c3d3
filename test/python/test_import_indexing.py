"""Indexing and scatters: the import, interpreted, against eager."""

from __future__ import annotations

import pytest
import torch
from import_check import DYNAMIC, INF, NAN, check, import_function, randn

from luminal.errors import ImportFailure

X = randn(4, 5)
ROWS = torch.tensor([-1, 0, -4, 2, 2])
PICKS = torch.tensor([[0, 1, 4], [2, 2, 2], [1, 0, 1], [3, 3, 1]])
CASES = {
    "negative rows": (lambda x, i: (x[i], x[i.int()], x[-2]), X, ROWS),
    "columns": (lambda x, i: (x[:, i], x[..., i], x[:, i[None]]), X, ROWS),
    "two indices": (lambda x, i: (x[i, i], x[i][:, i]), X, ROWS),
    "separated indices come first": (lambda x, i: x[i, :, i], randn(4, 3, 5), ROWS),
    "broadcast indices": (lambda x, i: x[i[:, None], i[None]], X, ROWS),
    "scalar index": (lambda x, i: torch.ops.aten.index(x, [i]), X, torch.tensor(-1)),
    "empty index": (lambda x, i: (x[i], x.index_select(1, i)), X, torch.empty(0, dtype=torch.int64)),
    "put": (lambda x, i, v: x.index_put((i,), v), X, torch.tensor([3, -2]), randn(2, 5)),
    "put, last wins": (lambda x, i, v: x.index_put((i,), v), X, ROWS, randn(5, 5)),
    "put accumulates": (lambda x, i, v: x.index_put((i,), v, accumulate=True), X, ROWS, randn(5)),
    "put by columns": (
        lambda x, i, v: torch.ops.aten.index_put(x, [None, i], v),
        X,
        torch.tensor([1, -1]),
        randn(4, 2),
    ),
    "put by mask": (
        lambda x, m: (torch.ops.aten.index_put(x, [m], torch.tensor(NAN)), x.masked_fill(m, 2.0)),
        X,
        X > 0,
    ),
    "put rows by mask": (
        lambda x, m, v: torch.ops.aten.index_put(x, [m], v, True),
        X,
        torch.tensor([True, False, True, True]),
        randn(5),
    ),
    "gather": (lambda x, j: (x.gather(1, j), x.gather(0, j[:, :2])), randn(5, 5), PICKS),
    "index_select": (lambda x, j: (x.index_select(0, j[:, 0]), x.index_select(-1, j[0])), X, PICKS),
    "take": (lambda x, j: (torch.take(x, j), torch.take(x, -j - 1)), X, PICKS),
    "take_along_dim": (lambda x, j: torch.take_along_dim(x, j, 1), X, PICKS),
    "scatter": (lambda x, j: (x.scatter(1, j, x), x.scatter(1, j, 3.0), x.scatter_add(1, j, x)), X, PICKS),
    "scatter bool and int": (
        lambda x, j: (x.long().scatter_add(1, j, j), (x > 0).scatter(1, j, True)),
        X,
        PICKS,
    ),
    "scatter rank 0": (
        lambda x, j: (x.scatter(0, j, 2.0), x.gather(0, j)),
        torch.tensor(1.5),
        torch.tensor(0),
    ),
    "scatter reduce flag": (
        lambda x, j: (x.scatter(1, j, x, reduce="add"), x.scatter(1, j, x, reduce="multiply")),
        X,
        PICKS,
    ),
    "index_add": (
        lambda x, i, s: (x.index_add(0, i, s, alpha=2), x.index_add(0, i, s)),
        X,
        torch.tensor([2, 0, 2]),
        randn(3, 5),
    ),
    "index_copy": (
        lambda x, i, s: (x.index_copy(0, i, s), x.index_fill(0, i - 4, 3.0)),
        X,
        torch.tensor([2, 0]),
        randn(2, 5),
    ),
    "slice_scatter": (
        lambda x, s: (
            x.slice_scatter(s, 0, 1, -1),
            x.slice_scatter(s, 0, 0, 4, 2),
            x.slice_scatter(s, 0, -2),
        ),
        X,
        randn(2, 5),
    ),
    "select_scatter": (
        lambda x, s: (x.select_scatter(s, 0, -1), x.T.select_scatter(s, 1, 2)),
        X,
        randn(5),
    ),
    "diagonal_scatter": (lambda x, s: torch.diagonal_scatter(x, s, 1), X, randn(4)),
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_eager(name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.bool])
def test_index_add_and_put_keep_dtype(dtype: torch.dtype) -> None:
    x, source = (X * 3).to(dtype), (randn(3, 5, seed=1) * 3).to(dtype)
    rows = torch.tensor([1, 3, 1])
    check(lambda x, i, s: (x[i], x.index_put((i,), s), x.index_add(0, i, s)), x, rows, source)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_scatter_reduce(reduce: str, include_self: bool, dtype: torch.dtype) -> None:
    source = (randn(4, 3, seed=2) * 5).to(dtype)
    check(
        lambda x, j, s: x.scatter_reduce(1, j, s, reduce, include_self=include_self),
        (X * 5).to(dtype),
        PICKS,
        source,
    )


def test_dynamic_sizes() -> None:
    check(
        lambda x, i: (x[i], x[:, i], x.gather(0, i[:, None].expand(-1, 3)[:, :2]), x.index_select(0, i)),
        randn(4, 4),
        torch.tensor([1, -2, 0]).abs(),
        dynamic=({0: DYNAMIC, 1: DYNAMIC}, {0: DYNAMIC}),
        more=[(randn(6, 3), torch.tensor([2, 1])), (randn(3, 7), torch.tensor([2, 1, 0, 0]))],
    )


def test_refusals_name_the_op() -> None:
    with pytest.raises(ImportFailure, match="boolean mask"):
        import_function(lambda x, m, v: torch.ops.aten.index_put(x, [m], v), X, X > 0, randn(20))


def test_histogram_edges_and_values_outside() -> None:
    x = torch.tensor([0.0, 1.0, 1.0, 2.5, 3.0, 3.01, -0.1, NAN, INF, -INF, 0.75])
    check(lambda x: (torch.histc(x, 4, 0, 3), torch.histc(x, 3, -1, 2), torch.histc(x[:5], 5)), x)
    check(lambda x: torch.histc(x, 3), torch.full((4,), 2.0))
    ids = torch.tensor([3, 0, 0, 7, 2])
    check(lambda x: torch.histc(x.float(), 8, min=0, max=7), ids)
