"""Reductions, softmax and normalisation through the import and the reference interpreter, against eager."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from import_check import INF, NAN, check, import_function, randn

from luminal.errors import ImportFailure


def test_sums_and_means() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            *(x.sum(), x.sum(1), x.sum((0, 2), keepdim=True), x.mean(), x.mean(-1), x.mean((0, 1))),
            *(x.sum(0, dtype=torch.float64), x.logsumexp(1), x.prod(), x.prod(1), x.prod(2, keepdim=True)),
        )

    check(function, randn(3, 5, 4))
    check(function, randn(3, 5, 4, dtype=torch.float64))


def test_half_reductions_accumulate_in_single_precision() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.sum(), x.mean(1), x.var(1), x.softmax(-1), F.layer_norm(x, (600,))

    check(function, (randn(4, 600) * 3 + 50).half())
    check(function, (randn(4, 600) * 3 + 50).bfloat16())


def test_variance() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        means = torch.var_mean(x, 1, correction=0)
        return x.var(), x.var(1, unbiased=False), x.std(0), x.std((0, 1), correction=2), *means

    check(function, randn(6, 7) + 100)


def test_extrema_with_nan_and_infinities() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.max(), x.min(), x.amax(1), x.amin(0), x.amax((0, 1), keepdim=True), *torch.aminmax(x, dim=0)

    check(function, torch.tensor([[1.0, NAN, 3.0], [4.0, -INF, -1.0], [INF, -0.0, 0.0]]), exact=True)
    check(function, torch.full((2, 3), -INF), exact=True)
    check(function, torch.tensor([[-(2**63), 2**63 - 1], [-(2**63), -5]]))


def test_integer_and_bool_reductions() -> None:
    def function(i: torch.Tensor, m: torch.Tensor) -> tuple[torch.Tensor, ...]:
        sums = (i.sum(), i.sum(1), m.sum(), m.sum(0), i.prod(), i.prod(1), m.prod(), m.float().mean())
        return (*sums, m.any(), m.all(1), i.any(1), i.all(), m.max(), m.amin(0), i.amax(1))

    i = torch.tensor([[3, -2, 2**31 - 1], [0, 5, 2**31 - 1]], dtype=torch.int32)
    check(function, i, torch.tensor([[True, False], [True, True]]))


def test_empty_reductions() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.sum(), x.prod(), x.mean(), x.sum(0), x.sum(1), x.any(), x.all(), x.softmax(1)

    check(function, torch.empty(0, 3))


def test_rank_zero_reductions() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.sum(0), x.mean(), x.softmax(0), x.log_softmax(0), x.amax(0), x.prod(0), x.var(correction=0)

    check(function, torch.tensor(2.5))


def test_norms() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        orders = (1, 2, 3, 0, INF, -INF)
        return (
            *(torch.linalg.vector_norm(x, order, dim=1) for order in orders),
            x.norm(),
            F.normalize(x, dim=1),
        )

    check(function, randn(3, 5))


def test_softmax() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.softmax(1), x.log_softmax(0), F.softmin(x, 1), F.softmax(x, 1, dtype=torch.float64)

    check(function, torch.tensor([[1.0, 1000.0, -INF], [-INF, -INF, -INF], [NAN, 0.0, 1.0]]))
    check(function, randn(3, 4) * 10)


def test_softmax_over_a_symbolic_length() -> None:
    length = torch.export.Dim("n", min=1, max=64)

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        weights = torch.arange(x.shape[-1], dtype=x.dtype)
        return (x.softmax(-1) * weights).sum(-1), x.mean(-1), x.var(1), x.amax(1)

    check(function, randn(2, 6), more=[(randn(2, n),) for n in (2, 3, 33)], dynamic=[{1: length}])


def test_normalisation() -> None:
    def function(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rows = x[..., 0, :]
        return (
            *(
                F.layer_norm(rows, (4,)),
                F.layer_norm(x, (5, 4), eps=1e-3),
                F.rms_norm(rows, (4,), w[:4], 1e-6),
            ),
            *(F.group_norm(x, 3, w, b), F.instance_norm(x, weight=w, bias=b), F.rms_norm(rows, (4,))),
            F.batch_norm(x, b * 0.1, w * w + 0.5, w, b),
        )

    check(function, randn(2, 6, 5, 4), randn(6, seed=1), randn(6, seed=2))


def test_half_normalisation() -> None:
    def function(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return F.layer_norm(x, (512,), w, b), F.rms_norm(x, (512,), w, 1e-6)

    for dtype in (torch.float16, torch.bfloat16):
        x = (randn(2, 512) + 100).to(dtype)
        check(function, x, randn(512, seed=1, dtype=dtype), randn(512, seed=2, dtype=dtype))


def test_maximum_over_nothing_is_refused() -> None:
    with pytest.raises((ImportFailure, RuntimeError, IndexError)):
        import_function(lambda x: x.amax(0), torch.empty(0, 3))
