"""Accuracy of the vector maths, in units in the last place against float64, and its special values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from cpu_regions import Case

from luminal.dialects import kernel as K
from luminal.dialects.symbol_list import SymbolInfo
from luminal.dialects.symbolic import IndexMap
from luminal.lowering.cpu.vecmath import FUNCTIONS

S0 = SymbolInfo(0, 1)
RANGES: dict[str, tuple[float, float, float]] = {
    "exp": (-105, 90, 1.1),
    "exp2": (-152, 130, 1.0),
    "log": (0, 100, 1.0),
    "log2": (0, 100, 1.3),
    "sin": (-70000, 70000, 1.7),
    "cos": (-70000, 70000, 1.7),
    "tanh": (-10, 10, 6.0),
    "erf": (-5, 5, 6.0),
    "sigmoid": (-88, 88, 2.6),
}
"""Range of a dense sweep, and the largest error allowed."""

SPECIAL = [
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    1e-40,
    -1e-40,
    1e-45,
    1e30,
    -1e30,
    3.4e38,
    0.5,
    -0.5,
    2.5,
    -3e-5,
    88.8,
]


def function_case(name: str, dtype: str = "f32") -> Case:
    dims = (S0.sym,)

    def body(tensors, indices):
        return K.scalar(name, K.load(tensors[0], indices, IndexMap.identity(dims)))

    return Case([(dims, dtype)], lambda v: K.region(v, dims, dtype, body), [S0])


def exact(name: str) -> Callable[[np.ndarray], np.ndarray]:
    function = torch.sigmoid if name == "sigmoid" else getattr(torch, name)
    return lambda x: function(torch.from_numpy(x).double()).numpy()


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_accuracy_and_special_values(name: str) -> None:
    low, high, bound = RANGES[name]
    small = np.logspace(-38, 1, 1 << 15)
    sweep = np.concatenate([np.linspace(low, high, 1 << 17), small, -small, np.linspace(0.5, 2, 1 << 15)])
    x = np.concatenate([sweep, SPECIAL]).astype(np.float32)
    found = function_case(name).run([x], (x.size,))
    with np.errstate(all="ignore"):
        reference = exact(name)(x)
        rounded = reference.astype(np.float32)
    finite = np.isfinite(rounded)
    units = np.abs(found[finite] - reference[finite]) / np.spacing(np.abs(rounded[finite]))
    assert units.max() <= bound
    np.testing.assert_array_equal(found[~finite], rounded[~finite])
    zero = rounded == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(rounded[zero]))


@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_bounded_by_one(name: str) -> None:
    x = np.linspace(-12, 12, 1 << 16).astype(np.float32)
    assert np.abs(function_case(name).run([x], (x.size,))).max() == 1.0


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_double_precision(name: str) -> None:
    x = np.concatenate([np.linspace(-30, 30, 1001), SPECIAL])
    found = function_case(name, "f64").run([x], (x.size,))
    np.testing.assert_allclose(found, exact(name)(x), rtol=1e-15, atol=0)
