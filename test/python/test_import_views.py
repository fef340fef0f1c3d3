"""Data movement and tensor creation through the import and the reference interpreter, exactly as eager."""

from __future__ import annotations

import torch
from import_check import DYNAMIC, check, randn


def test_reshapes_and_permutations() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            *(
                x.reshape(6, 4),
                x.view(-1),
                x.reshape(2, 12),
                x.permute(2, 0, 1),
                x.transpose(-1, 0),
                x.flatten(1),
            ),
            *(
                x.permute(2, 1, 0).reshape(4, 6),
                x.unsqueeze(1),
                x[None],
                x.unflatten(2, (2, 2)),
                x.reshape(3, 8),
            ),
            *(
                x[:1].squeeze(),
                x[:1].squeeze(0),
                x.swapaxes(0, 1),
                x.movedim(0, 2),
                x.T if x.dim() == 2 else x.mT,
            ),
        )

    check(function, randn(2, 3, 4), exact=True)


def test_slices_and_selections() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            *(x[1:-1], x[-3:], x[:-100], x[5:100], x[::2], x[1::3, ::2], x[-1], x[:, -2], x[2:1], x[..., 0]),
            *(x.narrow(0, 1, 2), x.diagonal(), x.diagonal(1), x.diagonal(-2), x.unfold(0, 3, 2)),
        )

    check(function, randn(7, 5), exact=True)


def test_joining_and_splitting() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        parts = (*x.split(2, 1), *x.chunk(3, 1), *x.split([1, 3, 1], 1), *x.unbind(0), *x.tensor_split(2, 1))
        joined = (torch.cat([x, y], 0), torch.cat([x, y.double(), x]), torch.stack([x, x + 1], 1))
        return (*parts, *joined, torch.hstack([x, x]), torch.cat([torch.empty(0), x]))

    check(function, randn(2, 5), randn(1, 5), exact=True)


def test_repetition() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            *(x.expand(4, 2, 3), x[:1].expand(5, -1), x.repeat(2, 1), x.repeat(1, 2, 3), x.tile(2)),
            *(
                x.repeat_interleave(2, 0),
                x.repeat_interleave(3),
                x.expand_as(torch.ones(2, 2, 3)),
                x.repeat(0, 1),
            ),
        )

    check(function, randn(2, 3), exact=True)


def test_symbolic_slices() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            *(x[:, 1:-1] - x[:, :-2], x[..., -3:], x[:, None, :-1], x[:, -100:2], x[:, 5:100]),
            *(x[:, ::2], x[:, -1], x.reshape(-1), x.reshape(-1, 1, x.shape[1]), x.transpose(0, 1).flatten()),
        )

    more = [(randn(2, 6),), (randn(3, 12),), (randn(5, 9),)]
    check(function, randn(2, 7), more=more, dynamic=[{0: DYNAMIC, 1: DYNAMIC}], exact=True)


def test_symbolic_joins() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        grown = torch.cat([x, y], 1)
        return grown, grown[:, x.shape[1] :], torch.stack([x, x], 2).flatten(1), grown.sum(1)

    more = [(randn(2, n), randn(2, m, seed=1)) for n, m in ((2, 3), (8, 2))]
    shapes = [{1: DYNAMIC}, {1: DYNAMIC}]
    check(function, randn(2, 4), randn(2, 5, seed=1), more=more, dynamic=shapes)


def test_symbolic_chunks() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a, b, c, d = x.chunk(4)
        return a * 1, b + 0, c * 3, d * 1

    length = torch.export.Dim("quarter", min=2, max=16)
    more = [(randn(12),), (randn(44),)]
    check(function, randn(8), more=more, dynamic=[{0: 4 * length}], exact=True)


def test_creation() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        n = x.shape[0]
        return (
            *(torch.zeros(n, 2), torch.ones_like(x), torch.full((2, n), 7), torch.full_like(x, -1.5)),
            *(
                torch.arange(n),
                torch.arange(2, n + 5, 3),
                torch.arange(5, 0, -2),
                torch.arange(n, dtype=x.dtype),
            ),
            *(torch.eye(n), torch.eye(2, n), x.new_zeros(3), x.new_full((2,), 3), torch.tensor(2.5) * x),
            *(x * n, x + 1 / n, torch.zeros((), dtype=torch.bool), torch.scalar_tensor(3.0)),
        )

    more = [(randn(n),) for n in (2, 9)]
    check(function, randn(4), more=more, dynamic=[{0: DYNAMIC}])


def test_float_ranges() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            torch.arange(0.0, 1.0, 0.1) + x,
            torch.linspace(-1, 2, 7),
            torch.linspace(0, 1, 1),
            torch.arange(4.0),
        )

    check(function, torch.tensor(1.0))
