"""Scans, sorts, extremes and triangles: the import, interpreted, against eager."""

from __future__ import annotations

import pytest
import torch
from import_check import DYNAMIC, INF, NAN, check, randn

SPECIAL = torch.tensor([[1.0, 2, 2, NAN, 3], [-INF, -0.0, 0.0, INF, 1], [-INF, -INF, -INF, -INF, -INF]])
INTEGERS = torch.tensor([[1, 2, 2, -5, 3], [7, 7, 8, -(2**63), 2**63 - 1]])
TIES = torch.tensor([2.0, NAN, -INF, 2.0, INF, NAN, 0.0, -0.0])
RANDOM = torch.randint(0, 3, (4, 9), generator=torch.Generator().manual_seed(0))
CASES = {
    "cumsum": (lambda x: (x.cumsum(1), x.cumsum(0)), SPECIAL),
    "cumprod": (lambda x: (x.cumprod(1), x.cumprod(0)), SPECIAL),
    "cummax": (lambda x: (x.cummax(1), x.cummin(1), x.cummax(0)), SPECIAL),
    "logcumsumexp": (lambda x: (x.logcumsumexp(1), x.logcumsumexp(0)), SPECIAL),
    "integer scans": (lambda x: (x.cumsum(1), x.cumprod(0), x.cummax(1), x.cummin(0)), INTEGERS),
    "32-bit scans widen": (lambda x: (x.cumsum(0), x.cumsum(0, dtype=torch.float64)), RANDOM.int()),
    "bool scans widen": (lambda x: (x.cumsum(0), x.cumprod(0)), torch.tensor([True, False, True])),
    "bf16 scans": (lambda x: (x.cumsum(0), x.cumprod(0), x.cummax(0)), randn(7, 2, dtype=torch.bfloat16)),
    "rank 0": (
        lambda x: (x.cumsum(0), x.cumprod(-1), x.cummax(0), x.sort(), x.topk(1), x.median(0), x.argmax()),
        torch.tensor(2.5),
    ),
    "empty": (lambda x: (x.cumsum(1), x.cumprod(0), x.sort(1), x.tril(), x.flip(0)), torch.empty(0, 3)),
    "positions": (lambda x: (x.argmax(1), x.argmin(1), x.argmax(), x.argmin(keepdim=True)), SPECIAL),
    "extremes": (lambda x: (x.max(0), x.min(1, keepdim=True)), SPECIAL),
    "integer extremes": (lambda x: (x.argmax(1), x.argmin(1), x.max(0), x.min(1, keepdim=True)), INTEGERS),
    "bool extremes": (lambda x: (x.max(1), x.min(0)), RANDOM > 1),
    "half extremes": (lambda x: (x.argmax(1), x.max(0), x.min(0)), randn(5, 6, dtype=torch.bfloat16)),
    "stable sort": (lambda x: (torch.sort(x, stable=True), torch.sort(x, 0, True)), RANDOM),
    "sort with NaN": (lambda x: (x.sort(stable=True), x.sort(descending=True, stable=True)), TIES),
    "argsort": (lambda x: (x.argsort(stable=True), x.argsort(stable=True, dim=0, descending=True)), RANDOM),
    "topk": (
        lambda x: (x.topk(3).values, x.topk(2, 0, largest=False).values, (x * 10 + x.argsort(0)).topk(2, 0)),
        RANDOM,
    ),
    "kthvalue": (lambda x: x.kthvalue(2), randn(4, 9)),
    "median": (lambda x: (x.median(-1), x.median(), x.nanmedian(0)), randn(4, 9)),
    "median with NaN": (lambda x: (x.median(0).values, x.nanmedian(0).values, x.median()), TIES),
    "bucketize": (
        lambda x, e: (torch.bucketize(x, e), torch.bucketize(x, e, right=True, out_int32=True)),
        torch.tensor([0.0, 1, 1.5, NAN, INF, -INF]),
        torch.tensor([0.0, 1, 2]),
    ),
    "triangles": (
        lambda x, y: (x.tril(), x.triu(1), y.tril(-1), (y > 0).triu(2), y.triu(-9), y.T.tril(9)),
        torch.tensor([[NAN, INF], [1, 2.0]]),
        randn(3, 5),
    ),
    "flip and roll": (
        lambda y: (y.flip(0, 1), y.roll((-1, 7), (0, 1)), y.roll(5), torch.rot90(y, 1, (0, 1))),
        randn(3, 5),
    ),
    "diagonal matrices": (
        lambda y: (torch.diag_embed(y, 1), torch.diag_embed(y, -2, 0, 1), y.trace()),
        randn(3, 4),
    ),
    "one_hot": (lambda x: torch.nn.functional.one_hot(x, 4), RANDOM),
}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_eager(name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments)


def test_sorted_zeros_keep_their_sign() -> None:
    check(lambda x: (x.sort(stable=True).values, x.cummax(0).values), TIES, signed_zero=True)


def test_dynamic_scans() -> None:
    check(
        lambda x: (x.cumsum(1), x.cumprod(1), x.cummax(1), x.logcumsumexp(1), x.prod(1)),
        randn(2, 5),
        dynamic=({1: torch.export.Dim("n", min=1, max=64)},),
        more=[(randn(2, 2),), (randn(2, 13),), (randn(2, 1),)],
    )


def test_dynamic_sorts_and_triangles() -> None:
    check(
        lambda x: (x.sort(0), x.topk(2, 0), x.argmax(0), x.median(0), x.tril(-1), x.roll(3, 0), x.flip(0)),
        randn(4, 3),
        dynamic=({0: DYNAMIC},),
        more=[(randn(2, 3),), (randn(7, 3),)],
    )
