"""Integer division, rounding division of floats, bitwise logic and shifts: exact against eager."""

from __future__ import annotations

import pytest
import torch
from import_check import INF, NAN, check, randn

LEAST = -(2**63)
NUMERATORS = [
    -7,
    -1,
    0,
    1,
    6,
    2**63 - 1,
    LEAST,
    LEAST + 1,
    2**62,
    2**53 + 1,
    -(2**53) - 1,
    -(10**18) + 1,
    3**39,
]
DIVISORS = [1, -1, 2, -2, 3, -3, 7, 2**62, 2**63 - 1, LEAST, 10**9, -(10**9), 2**53 + 1, -(2**61) + 1]


def both(a: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """floor and trunc division."""
    return torch.floor_divide(a, c), torch.div(a, c, rounding_mode="trunc")


def test_every_pair_of_extreme_integers() -> None:
    # Eager's truncating division traps on the pair left out.
    pairs = [
        (a, c) for a in NUMERATORS for c in DIVISORS if (a, c) != (LEAST, -1)
    ]  # eager's trunc traps there
    check(both, *(torch.tensor(column) for column in zip(*pairs, strict=True)))


def test_least_integer_by_minus_one_wraps() -> None:
    for dtype, least in ((torch.int64, LEAST), (torch.int32, -(2**31))):
        check(torch.floor_divide, torch.tensor([least, 5], dtype=dtype), torch.tensor([-1, -1], dtype=dtype))


def test_random_integers_of_all_magnitudes() -> None:
    generator = torch.Generator().manual_seed(0)

    def draw() -> torch.Tensor:
        whole = torch.randint(-(2**62), 2**62, (1000,), generator=generator)
        return whole >> torch.randint(0, 61, (1000,), generator=generator)

    a, c = draw(), draw()
    check(both, a, torch.where(c == 0, 1, c))


def test_scalar_divisors_and_promotion() -> None:
    a = torch.tensor([-7, -6, 0, 9, LEAST])
    check(lambda a: (a // 2, a // -4, torch.div(a, 7, rounding_mode="trunc"), a.int() // 3), a)
    check(
        lambda a, c: (a.float() // c, torch.div(a.double(), c, rounding_mode="floor")), a, torch.arange(1, 6)
    )
    check(lambda a, d: torch.floor_divide(a, d), a, torch.tensor(3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_float_division_special_values(dtype: torch.dtype) -> None:
    a = torch.tensor([1.0, 0.5, 6.0, 1.0, -1.0, -0.0, 0.0, INF, -INF, NAN, 1e4, 3, 41, 1, 5, -5], dtype=dtype)
    c = torch.tensor([0.1, 0.1, 0.2, 1 / 3, 0.1, 2, -2, 3, 2, 1, 1e-3, 0, 41, -INF, INF, 0], dtype=dtype)
    check(both, a, c, exact=True, signed_zero=True)


def test_float_division_random() -> None:
    check(both, randn(2000) * 100, randn(2000, seed=1) * 7, exact=True)
    whole = torch.arange(1.0, 1000)
    check(both, whole * 3, whole, exact=True)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_bitwise(dtype: torch.dtype) -> None:
    x = torch.tensor([7, 2, -130, 255, 2**63 - 1, LEAST, 0, -1]).to(dtype)
    y = torch.tensor([9, -3, 77, 1 << 40, -1, 5, 0, 2**62]).to(dtype)
    check(lambda x, y: (x & y, x | y, x ^ y, ~x), x, y)
    check(lambda x: (x & 3, x & 0, x | 9, x ^ -5, x << 1, x >> 1, x << 33, x >> 3, x >> 70), x)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_shift_by_tensor(dtype: torch.dtype) -> None:
    x = torch.tensor([7, -2, -130, 255, 2**31 - 1, -(2**31), 5, -1]).to(dtype)
    amount = torch.tensor([0, 1, 5, 31, 32, 63, 64, -1]).to(dtype)
    check(lambda x, s: (torch.bitwise_left_shift(x, s), torch.bitwise_right_shift(x, s)), x, amount)


def test_logic_on_bool() -> None:
    p, q = torch.tensor([True, False, True, False]), torch.tensor([True, True, False, False])
    check(lambda p, q: (p & q, p | q, p ^ q, ~p), p, q)
