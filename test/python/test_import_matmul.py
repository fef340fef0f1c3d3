"""Matrix products, attention and embeddings through the import and the reference interpreter, against
eager."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from import_check import INF, check, import_function, randn

from luminal.errors import ImportFailure


def test_matrix_products_of_every_rank() -> None:
    def function(
        v: torch.Tensor, m: torch.Tensor, n: torch.Tensor, t: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        return (
            *(
                v @ v,
                m @ v,
                v @ m.T,
                m @ n,
                t @ v,
                t @ n,
                t @ t.transpose(1, 2),
                m @ n @ m,
                torch.outer(v, v),
            ),
            *(torch.addmm(m[:, :3], m, n, beta=0.5, alpha=2.0), F.linear(t, m, m[:, 0]), torch.mv(m, v)),
            *(torch.baddbmm(t[:, :, :3], t, t.transpose(1, 2)), torch.einsum("bij,kj->bik", t, m)),
        )

    check(function, randn(4), randn(3, 4, seed=1), randn(4, 3, seed=2), randn(2, 3, 4, seed=3))


def test_batches_broadcast() -> None:
    check(torch.matmul, randn(2, 1, 3, 4), randn(5, 4, 2, seed=1))


def test_integer_and_double_products() -> None:
    check(torch.matmul, torch.randint(-(2**40), 2**40, (3, 4)), torch.randint(-(2**40), 2**40, (4, 2)))
    check(torch.matmul, randn(3, 4, dtype=torch.float64), randn(4, 2, seed=1, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_products_accumulate_in_single_precision(dtype: torch.dtype) -> None:
    check(torch.matmul, randn(3, 300, dtype=dtype), randn(300, 2, seed=1, dtype=dtype))


def test_symbolic_rows_and_empty_batches() -> None:
    rows = torch.export.Dim("rows", min=0, max=64)

    def function(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return F.linear(x, w, b).reshape(x.shape[0], 2, 2)

    more = [(randn(n, 6), randn(4, 6), randn(4)) for n in (0, 1, 7)]
    check(function, randn(3, 6), randn(4, 6), randn(4), more=more, dynamic=[{0: rows}, None, None])


def test_empty_inner_size_gives_zeros() -> None:
    check(torch.matmul, torch.empty(2, 0), torch.empty(0, 3))


def test_attention() -> None:
    def function(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, added: torch.Tensor, kept: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        attend = F.scaled_dot_product_attention
        return (
            attend(q, k, v),
            attend(q, k, v, is_causal=True),
            attend(q, k, v, attn_mask=added, scale=0.3),
            attend(q, k, v, attn_mask=kept),
        )

    kept = torch.tensor([True, True, True, True, False]).reshape(1, 1, 1, 5).expand(2, 1, 1, 5)
    added = randn(3, 5, seed=3)
    added[:, 2] = -INF
    check(function, randn(2, 2, 3, 4), randn(2, 2, 5, 4, seed=1), randn(2, 2, 5, 4, seed=2), added, kept)


def test_grouped_attention_with_symbolic_length() -> None:
    length = torch.export.Dim("length", min=2, max=32)

    def function(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    def draw(n: int) -> tuple[torch.Tensor, ...]:
        return randn(1, 4, n, 4), randn(1, 2, n, 4, seed=1), randn(1, 2, n, 4, seed=2)

    check(function, *draw(5), more=[draw(3), draw(9)], dynamic=[{2: length}] * 3)


def test_grouped_attention_by_the_fused_operator() -> None:
    """Dynamo's graphs hold the CPU's flash attention itself, which takes fewer key heads than query heads."""

    def function(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> tuple:
        attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        return attend(q, k, v, is_causal=True)[0], *attend(q, k, v, attn_mask=mask)

    check(
        function,
        randn(2, 6, 3, 4),
        randn(2, 2, 3, 4, seed=1),
        randn(2, 2, 3, 4, seed=2),
        randn(2, 1, 3, 3, seed=3),
    )


def test_attention_rows_without_keys_are_zero() -> None:
    kept = torch.tensor([[True, False], [False, False]])
    check(
        F.scaled_dot_product_attention, randn(1, 2, 4), randn(1, 2, 4, seed=1), randn(1, 2, 4, seed=2), kept
    )


def test_embedding() -> None:
    def function(i: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return F.embedding(i, w), F.embedding(i.int(), w, padding_idx=0)

    check(function, torch.tensor([[1, 6, 0], [2, 2, 5]]), randn(7, 3), exact=True)


def test_inner_sizes_must_agree() -> None:
    with pytest.raises((ImportFailure, RuntimeError)):
        import_function(torch.matmul, randn(2, 3), randn(4, 2))
