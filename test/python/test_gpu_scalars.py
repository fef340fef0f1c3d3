"""Every scalar function, cast and constant on both GPU targets, with the values that go wrong first."""

from __future__ import annotations

import numpy as np
import pytest
from gpu_compare import assemble, check, to_bfloat
from gpu_programs import TARGETS, kernel_module

from luminal.dialects import kernel as K
from luminal.dialects.scalar_ops import SCALAR_FUNCTIONS
from luminal.dialects.symbolic import IndexMap
from luminal.dialects.types import DTYPES, NUMPY_DTYPES
from luminal.errors import LoweringError

FLOATS = ("f32", "f16", "bf16")
F64_FUNCTIONS_OF_NVIDIA = {"exp", "exp2", "log", "log2", "sigmoid", "sqrt", "rsqrt"}
TRANSCENDENTAL = {"exp", "exp2", "log", "log2", "sin", "cos", "tanh", "erf", "sigmoid"}


def special_values(dtype: str) -> np.ndarray:
    """Edge cases and some ordinary values."""
    random = np.random.default_rng(0)
    if dtype == "i1":
        return np.array([False, True])
    if dtype in ("i32", "i64"):
        limits = np.iinfo(NUMPY_DTYPES[dtype])
        return np.array([0, 1, -1, 2, -7, 10, limits.min, limits.max, limits.max - 1], NUMPY_DTYPES[dtype])
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e-3, 100.0, -30.0, 0.999, 1.001]
    values = np.concatenate([np.array(values), random.normal(size=15) * 3])
    if dtype == "bf16":
        return to_bfloat(values)
    extreme = {"f64": [1e300, 1e-310], "f32": [1e38, 1e-40, 1e6, -3e7], "f16": [6e4, 1e-7]}[dtype]
    return np.concatenate([values, extreme]).astype(NUMPY_DTYPES[dtype])


def pointwise(names: list[str], dtype: str, count: int) -> str:
    """One kernel per scalar function on vectors of `count` elements."""
    identity = IndexMap.identity([count])

    def build(*arguments):
        results = []
        for name in names:
            function = SCALAR_FUNCTIONS[name]
            used = arguments[: function.arity] if name != "select" else (arguments[2], *arguments[:2])
            result = dtype if function.result == "same" else function.result
            results.append(
                K.region(
                    used, [count], result,
                    lambda tensors, i, name=name: K.scalar(name, *(K.load(t, i, identity) for t in tensors)),
                )
            )  # fmt: skip
        return results

    return kernel_module([([count], dtype), ([count], dtype), ([count], "i1")], build)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [*FLOATS, "i64", "i32", "i1"])
def test_scalar_functions(target: str, dtype: str) -> None:
    names = [name for name, function in SCALAR_FUNCTIONS.items() if dtype in function.operands]
    values = special_values(dtype)
    lhs, rhs = (part.ravel() for part in np.meshgrid(values, values))
    condition = np.arange(lhs.size) % 2 == 0
    check(target, pointwise(names, dtype, lhs.size), [lhs, rhs, condition])


def test_scalar_functions_in_f64() -> None:
    dtype = "f64"
    values = special_values(dtype)
    lhs, rhs = (part.ravel() for part in np.meshgrid(values, values))
    check("cuda", pointwise(functions_of(dtype), dtype, lhs.size), [lhs, rhs, np.arange(lhs.size) % 2 == 0])


@pytest.mark.parametrize("target", TARGETS)
def test_transcendental_functions_over_their_whole_range(target: str) -> None:
    wide = np.concatenate([np.logspace(-30, 38, 150), -np.logspace(-30, 38, 150), np.linspace(-95, 95, 700)])
    values = wide.astype(np.float32)
    names = sorted(TRANSCENDENTAL)
    check(target, pointwise(names, "f32", values.size), [values, values, values > 0])


@pytest.mark.parametrize("target", TARGETS)
def test_remainder_is_exact(target: str) -> None:
    random = np.random.default_rng(1)
    bits = random.integers(0, 1 << 32, (2, 400), np.uint64).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        bits[0, ::3] = bits[1, ::3] * np.float32(1000.0)
    check(target, pointwise(["mod"], "f32", 400), [bits[0], bits[1], bits[0] > 0], tolerance=1e-30)


def casts(source: str, targets: list[str], count: int) -> str:
    identity = IndexMap.identity([count])

    def build(x):
        return [
            K.region([x], [count], dtype, lambda t, i, dtype=dtype: K.cast(K.load(t[0], i, identity), dtype))
            for dtype in targets
        ]

    return kernel_module([([count], source)], build)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", [*FLOATS, "i64", "i32", "i1", "f64"])
def test_casts(target: str, source: str) -> None:
    if target == "metal" and source == "f64":
        pytest.skip("Metal has no f64")
    names = ["f32", "f16", "bf16", "i64", "i32", "i1"] + (["f64"] if target == "cuda" else [])
    values = special_values(source)
    if source == "f64":
        # 1 + 2^-11 + 2^-30 rounds to 1 + 2^-10 in f16, but by way of f32 to 1; likewise for bfloat16.
        close = [1 + 2.0**-11 + 2.0**-30, 1 + 2.0**-8 + 2.0**-40, -2147483648.5, 2147483647.5]
        values = np.concatenate([values, close])
    if source in FLOATS and source != "bf16":
        limits = [2147483648.0, -2147483648.0, 9.3e18, -9.2233720368547758e18]
        with np.errstate(over="ignore"):
            values = np.concatenate([values, limits]).astype(values.dtype)
    check(target, casts(source, names, values.size), [values], tolerance=1e-30)


def functions_of(dtype: str) -> list[str]:
    """The scalar functions that NVIDIA GPUs have for a dtype."""
    refused = TRANSCENDENTAL - F64_FUNCTIONS_OF_NVIDIA if dtype == "f64" else set()
    return [name for name, f in SCALAR_FUNCTIONS.items() if dtype in f.operands and name not in refused]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ptxas_accepts_every_function_and_cast(dtype: str, arch: str) -> None:
    assemble(pointwise(functions_of(dtype), dtype, 100), arch)
    assemble(casts(dtype, list(DTYPES), 100), arch)


def test_f64_is_refused_on_metal() -> None:
    with pytest.raises(LoweringError, match="f64.*Metal.*at"):
        check("metal", pointwise(["add"], "f64", 4), [np.ones(4), np.ones(4), np.ones(4, bool)])


def test_function_without_lowering_is_refused() -> None:
    with pytest.raises(LoweringError, match="'math.sin' on f64 has no lowering for NVIDIA GPUs, at"):
        check("cuda", pointwise(["sin"], "f64", 4), [np.ones(4), np.ones(4), np.ones(4, bool)])
