"""Special functions against eager and against known values."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from import_check import INF, NAN, check, import_function

from luminal.errors import ImportFailure

FUNCTIONS = {
    "lgamma": torch.lgamma,
    "digamma": torch.digamma,
    "trigamma": lambda x: torch.polygamma(1, x),
    "erfinv": torch.erfinv,
    "i0": torch.i0,
    "i0e": torch.special.i0e,
    "i1": torch.special.i1,
    "i1e": torch.special.i1e,
}


def arguments(name: str, dtype: torch.dtype) -> torch.Tensor:
    """Where the functions change their formulas, and away from the poles."""
    if name == "erfinv":
        near_one = 1 - 10.0 ** -torch.linspace(1, 6, 20, dtype=torch.float64)
        return torch.cat([torch.linspace(-0.999, 0.999, 201), near_one, -near_one]).to(dtype)
    positive = torch.cat(
        [torch.linspace(0.01, 12, 300), 10.0 ** torch.linspace(-6, 1.9, 80, dtype=torch.float64)]
    )
    if name.startswith("i"):
        return torch.cat([positive, -positive]).to(dtype)
    if name == "trigamma" and dtype is torch.bfloat16:
        return positive.to(dtype)  # a pole costs all digits that the argument has
    return torch.cat([positive, -torch.linspace(0.05, 8.95, 180)]).to(dtype)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_agrees_with_eager(name: str, dtype: torch.dtype):
    check(FUNCTIONS[name], arguments(name, dtype))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name: str):
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 8.0, 10.0, INF, NAN, 1e-40, -1e-40, 1e30]
    if name != "trigamma":  # eager's sine of pi times -2 is no exact zero, nor is it defined at -inf
        values += [-INF, -3.0, 1e38]
    check(FUNCTIONS[name], torch.tensor(values), signed_zero=name != "trigamma")
    check(FUNCTIONS[name], torch.zeros(0, 3))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_compiled(name: str, dtype: torch.dtype):
    torch._dynamo.reset()
    x = arguments(name, dtype)
    function: Callable[[torch.Tensor], torch.Tensor] = FUNCTIONS[name]
    expected = function(x)
    got = torch.compile(function, backend="luminal")(x)
    tolerance = (1e-11, 1e-13) if dtype is torch.float64 else (2e-6, 1e-6)
    if name == "trigamma":
        tolerance = (1e-4, 1e-4) if dtype is torch.float32 else (1e-11, 1e-11)
    torch.testing.assert_close(got, expected, rtol=tolerance[0], atol=tolerance[1])


def test_gradients():
    torch._dynamo.reset()
    x = torch.tensor([0.3, 0.7, 2.5], requires_grad=True)
    run = torch.compile(lambda x: torch.lgamma(x) + torch.erfinv(x / 3) + torch.i0(x), backend="luminal")
    run(x).sum().backward()
    ours = x.grad.clone()
    x.grad = None
    (torch.lgamma(x) + torch.erfinv(x / 3) + torch.i0(x)).sum().backward()
    torch.testing.assert_close(ours, x.grad)


def test_integers_give_floats():
    check(torch.lgamma, torch.arange(1, 12))
    check(torch.i0, torch.arange(-3, 4, dtype=torch.int32))


def test_higher_orders_are_refused():
    with pytest.raises(ImportFailure, match="polygamma of order 3"):
        import_function(lambda x: torch.polygamma(3, x), torch.ones(2))
