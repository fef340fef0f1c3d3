"""`fast_math` on compiled programs: off, the numeric contract holds to the bit; on, the laws are used."""

from __future__ import annotations

import math

import pytest
import torch

import luminal
from luminal.runtime.options import CompileOptions, OptionError

SPECIAL = torch.tensor([0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan, 1e-40, 2.0**100, 1e-30])


def same(got: torch.Tensor, want: torch.Tensor) -> bool:
    """Equal bits, where NaN is one value."""
    numbers = ~want.isnan()
    return bool(
        torch.equal(got.isnan(), want.isnan())
        and torch.equal(got[numbers], want[numbers])
        and torch.equal(got[numbers].signbit(), want[numbers].signbit())
    )


EXACT = {
    "times zero": lambda x: x * 0.0,
    "plus zero": lambda x: x + 0.0,
    "minus itself": lambda x: x - x,
    "over itself": lambda x: x / x,
    "plus, minus": lambda x: (x + 1e10) - 1e10,
    "over three": lambda x: x / 3.0,
    "over eight": lambda x: x / 8.0,
    "root, squared": lambda x: x.sqrt() * x.sqrt(),
    "common factor": lambda x: x * 3.0 + x * 5.0,
}


@pytest.mark.parametrize("name", EXACT)
def test_by_default_results_are_eagers_to_the_bit(name: str) -> None:
    compiled = luminal.compile(EXACT[name], (SPECIAL,))
    assert same(compiled(SPECIAL), EXACT[name](SPECIAL))


def test_the_laws_are_used_where_they_are_asked_for() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return (x - x) + x.exp().log() + (x * 3.0 + x * 5.0) / x

    x = torch.linspace(0.5, 4.0, 64)
    options = CompileOptions(fast_math=True)
    torch.testing.assert_close(luminal.compile(function, (x,), options=options)(x), function(x))
    x[3] = 1000.0  # e^1000 overflows; its logarithm is 1000 again only by the law
    assert function(x)[3] == math.inf
    assert luminal.compile(function, (x,))(x)[3] == math.inf
    assert luminal.compile(function, (x,), options=options)(x)[3] == 1008.0


def test_one_law_may_be_left_out() -> None:
    x = torch.tensor([math.inf])
    for disabled in (("fast-sub-self",), ("fast_math",)):
        options = CompileOptions(fast_math=True, disable_rules=disabled)
        assert luminal.compile(lambda x: x - x, (x,), options=options)(x).isnan().all()
    assert luminal.compile(lambda x: x - x, (x,), options=CompileOptions(fast_math=True))(x) == 0


def test_the_option_is_checked() -> None:
    with pytest.raises(OptionError, match="fast_math must be True or False"):
        CompileOptions(fast_math="yes")  # type: ignore[arg-type]
