"""Pointwise ops through the import and the reference interpreter, at ordinary and special values, against
eager."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from import_check import INF, NAN, check, import_function, randn

from luminal.errors import ImportFailure

Unary = Callable[[torch.Tensor], torch.Tensor]
SPECIAL = [
    *(-INF, -1e4, -30.0, -3.0, -2.5, -1.5, -1.0, -0.9, -0.5, -1e-3, -1e-10, -0.0),
    *(0.0, 1e-10, 1e-3, 0.5, 0.9, 1.0, 1.5, 2.5, 3.0, 30.0, 1e4, INF, NAN),
]

UNARY: dict[str, list[Unary]] = {
    "signs": [torch.neg, torch.abs, torch.sign, torch.signbit, torch.square, torch.relu, F.relu6],
    "rounding": [torch.floor, torch.ceil, torch.trunc, torch.round, torch.frac],
    "classes": [torch.isnan, torch.isinf, torch.isfinite, torch.logical_not, torch.nan_to_num],
    "roots": [torch.sqrt, torch.rsqrt, torch.reciprocal, lambda x: x**3, lambda x: x**-2, lambda x: x**0.5],
    "powers": [lambda x: x**1.7, lambda x: x**-1.3, lambda x: 2.0**x, lambda x: (-2.0) ** x, lambda x: x**0],
    "exponentials": [torch.exp, torch.exp2, torch.expm1, torch.sigmoid, torch.tanh],
    "logarithms": [torch.log, torch.log2, torch.log10, torch.log1p],
    "inverse trigonometry": [torch.atan, torch.asin, torch.acos],
    "hyperbolic": [torch.asinh, torch.acosh, torch.atanh],
    "errors": [torch.erf, torch.erfc, F.gelu, lambda x: F.gelu(x, approximate="tanh")],
    "gates": [F.silu, F.softplus, F.mish, F.logsigmoid, F.hardswish, F.hardsigmoid],
    "linear pieces": [
        lambda x: F.leaky_relu(x, 0.1),
        F.elu,
        F.selu,
        F.celu,
        F.hardtanh,
        F.softshrink,
        F.hardshrink,
        lambda x: F.threshold(x, 0.1, 7.0),
        lambda x: x.clamp(-1, 2),
        lambda x: x.clamp(min=0.25),
        lambda x: x.clamp(max=0.25),
    ],
}


def together(functions: list[Unary]) -> Callable[[torch.Tensor], tuple[torch.Tensor, ...]]:
    """One program that returns every function of x."""
    return lambda x: tuple(function(x) for function in functions)


@pytest.mark.parametrize("family", UNARY)
def test_unary_at_special_values(family: str) -> None:
    check(together(UNARY[family]), torch.tensor(SPECIAL))


def test_signed_zeros() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rounded = (torch.floor(x), torch.ceil(x), torch.trunc(x), torch.round(x))
        return (*rounded, -x, x * 1.0, x + 0.0, 0.0 - x, torch.reciprocal(x), x.abs(), torch.sqrt(x), x - x)

    check(function, torch.tensor([-0.5, -0.0, 0.0, 0.4, -0.4, 3.0, -1e-30]), exact=True, signed_zero=True)


def test_trigonometry() -> None:
    check(lambda x: (x.sin(), x.cos(), x.tan(), x.sinh(), x.cosh()), torch.linspace(-3, 3, 41))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("family", ["exponentials", "roots", "gates", "rounding"])
def test_unary_in_other_dtypes(family: str, dtype: torch.dtype) -> None:
    check(together(UNARY[family]), randn(40, dtype=dtype) * 2)


def test_half_scalars_are_not_rounded_early() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x * 0.1, x + 1e-3, x / 3, 1 - x * 0.7

    for dtype in (torch.float16, torch.bfloat16):
        check(function, randn(64, dtype=dtype), exact=True)


def test_binary_arithmetic_at_special_values() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            *(x + y, x - y, x * y, torch.add(x, y, alpha=2), torch.sub(x, y, alpha=0.5), torch.rsub(x, 2)),
            *(torch.maximum(x, y), torch.minimum(x, y), torch.fmax(x, y), torch.fmin(x, y)),
            *(torch.remainder(x, y), torch.fmod(x, y), torch.copysign(x, y)),
        )

    values = torch.tensor([-INF, -7.5, -1.0, -0.0, 0.0, 0.3, 2.0, 1e10, INF, NAN])
    check(function, values[:, None].expand(10, 10), values[None].expand(10, 10), exact=True)


def test_division_and_powers_at_special_values() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x / y, x**y, torch.atan2(x, y), torch.logaddexp(x, y)

    values = torch.tensor([-INF, -7.5, -2.0, -1.0, -0.5, -0.0, 0.0, 0.3, 1.0, 3.0, INF, NAN])
    check(function, values[:, None].expand(12, 12), values[None].expand(12, 12))


def test_comparisons_at_special_values() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x == y, x != y, x < y, x <= y, x > y, x >= y, (x > y) & (y > 0), (x > y) ^ (y > 0), x < 0.3

    values = torch.tensor([-INF, -1.0, -0.0, 0.0, 0.3, INF, NAN])
    check(function, values[:, None], values[None])


def test_integers_wrap_and_compare() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        wrapped = (x + y, x - y, x * y, -x, x.abs(), x.sign(), x**3, x * 3 + 1, torch.relu(x))
        return (
            *wrapped,
            x < y,
            x == y,
            torch.maximum(x, y),
            torch.minimum(x, y),
            x.clamp(-5, 5),
            x / y,
            x.sqrt(),
        )

    for dtype in (torch.int32, torch.int64):
        least, most = torch.iinfo(dtype).min, torch.iinfo(dtype).max
        x = torch.tensor([least, most, 65536, -46341, 0, 7], dtype=dtype)
        check(function, x, torch.tensor([most, most, 65536, 46341, -3, 2], dtype=dtype))


def test_integer_powers() -> None:
    bases = torch.tensor([-3, -1, -1, 1, 2, 5, 0, 3], dtype=torch.int64)
    exponents = torch.tensor([-1, -2, -3, -4, -1, -2, 0, 39], dtype=torch.int64)
    check(torch.pow, bases, exponents)
    check(torch.pow, bases.int(), exponents.abs().int())


def test_promotion() -> None:
    def function(
        b: torch.Tensor, i: torch.Tensor, j: torch.Tensor, h: torch.Tensor, f: torch.Tensor, s: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        mixed = (b + b, b * i, b + 2, b * 1.5, i + j, i + h, i * 2.5, h + f, h * 2.5, i / j, i + True)
        return (*mixed, s + h, s * i, f + s, torch.where(b, i, f), torch.where(b, 1, h), b & (i > 0), i > f)

    check(
        function,
        torch.tensor([True, False]),
        torch.tensor([3, -2]),
        torch.tensor([5, 7], dtype=torch.int32),
        torch.tensor([2.0, 1.0], dtype=torch.float16),
        torch.tensor([1.0, 3.0]),
        torch.tensor(0.1, dtype=torch.float64),
    )


def test_casts() -> None:
    def function(x: torch.Tensor, i: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            *((x + 64).long().float(), x.int(), x.half().float(), x.bfloat16(), x.bool(), x.double()),
            *(i.int().long(), i.float().long(), i.double(), i.bool(), i.half()),
        )

    check(
        function,
        torch.tensor([0.3, 1.7, -0.4, 3.0001, 0.0, NAN]),
        torch.tensor([2**33 + 5, 2**24 + 1, -7]),
        exact=True,
    )


def test_choice_and_broadcasting() -> None:
    def function(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            torch.where(c, a, b),
            torch.where(~c, a, -0.0),
            a.masked_fill(c, -INF),
            a + b,
            torch.lerp(a, b, 0.3),
        )

    check(function, torch.tensor([[True], [False]]), randn(3, 2, 4), randn(1, 4, seed=1))


def test_fused_forms() -> None:
    def function(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            torch.addcmul(x, y, z, value=0.5),
            torch.addcdiv(x, y, z, value=2),
            torch.hypot(x, y),
            F.glu(x, 1),
        )

    check(function, randn(3, 4), randn(3, 4, seed=1), randn(3, 4, seed=2))


def test_dynamic_empty_and_rank_zero() -> None:
    def function(x: torch.Tensor, s: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.tanh(x) * s, F.gelu(x) + x.shape[0], s.exp(), (s > 0) | (x > 0)

    size = torch.export.Dim("n", min=0, max=100)
    more = [(randn(n, 3), torch.tensor(-1.5)) for n in (0, 1, 5)]
    check(function, randn(4, 3), torch.tensor(0.5), more=more, dynamic=[{0: size}, None])


def test_unsupported_ops_are_all_listed() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.special.bessel_j0(x), torch.igamma(x, x), x.to(torch.uint8)

    with pytest.raises(ImportFailure) as failure:
        import_function(function, randn(3))
    message = str(failure.value)
    assert all(word in message for word in ("bessel_j0", "igamma", "uint8", ".py:"))
