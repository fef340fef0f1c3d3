"""Attention in one pass: derived by rules however it is written, and right for every mask, dtype and size."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import luminal

INF, NAN = math.inf, math.nan


def randn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


class Sdpa(nn.Module):
    def __init__(self, causal: bool = False) -> None:
        super().__init__()
        self.causal = causal

    def forward(self, q, k, v, mask=None):
        return F.scaled_dot_product_attention(q, k, v, mask, is_causal=self.causal, enable_gqa=True)


class Written(nn.Module):
    """As matmul, scale, softmax, matmul, each on its own."""

    def forward(self, q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2) * 0.3, -1) @ v


class Merged(nn.Module):
    """A projection to heads and back: heads lie apart in memory on both sides."""

    def forward(self, x):
        q, k, v = (part.reshape(*x.shape[:2], 3, 4).transpose(1, 2) for part in x.chunk(3, -1))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(*x.shape[:2], 12)


def triple(*shape: int, keys: int, groups: int | None = None, dtype: torch.dtype = torch.float32):
    *lead, heads, rows, depth = shape
    groups = groups or heads
    q = randn(*shape, dtype=dtype)
    k, v = (randn(*lead, groups, keys, depth, seed=s, dtype=dtype) for s in (1, 2))
    return q, k, v


def rows_masked_out() -> torch.Tensor:
    mask = randn(2, 1, 37, 50, seed=3) > 0.3
    mask[0, 0, 3] = False
    mask[1, 0, 5:9] = False
    return mask


def special() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    q, k, v = triple(1, 2, 20, 8, keys=30)
    q[0, 0, 3, 2], k[0, 1, 7, 1], v[0, 0, 4, 0] = NAN, INF, -INF
    return q, k, v


CASES = {
    "plain": (Sdpa(), triple(2, 4, 37, 16, keys=50)),
    "causal": (Sdpa(True), triple(1, 2, 200, 8, keys=200)),
    "causal, fewer keys": (Sdpa(True), triple(1, 2, 130, 8, keys=70)),
    "causal, more keys": (Sdpa(True), triple(1, 2, 70, 8, keys=130)),
    "grouped heads": (Sdpa(), triple(2, 6, 33, 16, keys=20, groups=2)),
    "choosing mask": (Sdpa(), (*triple(2, 4, 37, 16, keys=50), randn(2, 1, 37, 50) > 0.3)),
    "adding mask": (Sdpa(), (*triple(2, 4, 37, 16, keys=50), randn(37, 50))),
    "rows masked out": (Sdpa(), (*triple(2, 4, 37, 16, keys=50, groups=2), rows_masked_out())),
    "one row": (Sdpa(), triple(1, 9, 1, 64, keys=300, groups=3)),
    "few rows": (Sdpa(), triple(1, 2, 3, 5, keys=7)),
    "one key": (Sdpa(), triple(1, 2, 30, 8, keys=1)),
    "head dim of a prime": (Sdpa(), triple(1, 3, 40, 7, keys=110)),
    "written out": (Written(), triple(2, 2, 33, 8, keys=100)),
    "two dims": (Written(), (randn(20, 8), randn(30, 8), randn(30, 7))),
    "five dims": (Written(), (randn(2, 1, 3, 20, 8), randn(1, 2, 3, 30, 8), randn(2, 2, 3, 30, 7))),
    "values of their own width": (Written(), (randn(2, 20, 8), randn(2, 30, 8), randn(2, 30, 19))),
    "heads apart": (Merged(), (randn(2, 9, 36),)),
    "NaN and infinities": (Written(), special()),
    "no keys": (Written(), (randn(20, 8), randn(0, 8), randn(0, 7))),
    "no rows": (Written(), (randn(0, 8), randn(3, 8), randn(3, 7))),
    "f64": (Sdpa(), triple(1, 2, 37, 16, keys=50, dtype=torch.float64)),
    "f16": (Sdpa(), triple(1, 2, 37, 16, keys=50, dtype=torch.float16)),
    "bf16": (Sdpa(), triple(1, 2, 37, 16, keys=50, dtype=torch.bfloat16)),
}
DEGENERATE = ("one key", "no keys", "no rows", "few rows")
"""Where plain contractions are as good."""

TOLERANCE = {torch.float64: 1e-12, torch.float16: 2e-3, torch.bfloat16: 2e-2}


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_eager(name: str) -> None:
    module, args = CASES[name]
    compiled = luminal.compile(module, args)
    kinds = [found["kernel"] for found in compiled.statistics["search"]["alternatives"]]
    assert kinds == ["attention"] or name in DEGENERATE
    want = module(*args)
    tolerance = TOLERANCE.get(want.dtype, 1e-5)
    torch.testing.assert_close(compiled(*args), want, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("causal", [False, True])
def test_any_number_of_rows_and_keys(causal: bool) -> None:
    size = torch.export.Dim("size", min=1, max=200)
    module = Sdpa(causal)
    shapes = ({2: size}, {2: size}, {2: size})
    compiled = luminal.compile(module, triple(1, 4, 10, 16, keys=10, groups=2), dynamic_shapes=shapes)
    for count in (1, 2, 7, 64, 97, 200):
        args = triple(1, 4, count, 16, keys=count, groups=2)
        torch.testing.assert_close(compiled(*args), module(*args), rtol=1e-5, atol=1e-5)


def test_scores_are_never_stored() -> None:
    """Temporary memory does not depend on the number of keys: the matrix of scores would take 32 MiB."""
    args = triple(1, 8, 1024, 16, keys=1024)
    compiled = luminal.compile(Written(), args, options={"max_memory": 1 << 20})
    assert compiled.statistics["luminal-eqsat"]["planned bytes"] < 1 << 20
    torch.testing.assert_close(compiled(*args), Written()(*args), rtol=1e-5, atol=1e-5)


def test_no_attention_over_another_axis_than_the_softmax() -> None:
    class Columns(nn.Module):
        def forward(self, q, k, v):
            return torch.softmax(q @ k.transpose(-1, -2), -2) @ v

    args = randn(2, 20, 8), randn(2, 30, 8), randn(2, 30, 7)
    compiled = luminal.compile(Columns(), args)
    assert "attention" not in {found["kernel"] for found in compiled.statistics["search"]["alternatives"]}
    torch.testing.assert_close(compiled(*args), Columns()(*args), rtol=1e-5, atol=1e-5)
