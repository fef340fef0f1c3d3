"""Runs a module of kernels on a GPU target's emulator and on the reference interpreter, and compares."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from gpu_emulator import host_problem, missing_compiler
from gpu_programs import EmulatedProgram, shared_context

from luminal.dialects.mlir import ir
from luminal.lowering.gpu import lower_to_gpu
from luminal.lowering.nvvm import to_ptx
from luminal.runtime.interpreter import run_l2

TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3}


def require_target(target: str) -> None:
    """Skip where the target cannot be emulated, saying what is missing."""
    problem = host_problem() or (missing_compiler() if target == "metal" else None)
    if problem:
        pytest.skip(problem)


def reference(text: str, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What the L2 interpreter computes."""
    with shared_context(), ir.Location.unknown():
        return run_l2(ir.Module.parse(text), list(arguments))


def from_bfloat(bits: np.ndarray) -> np.ndarray:
    """uint16 bits as f32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bfloat(values: np.ndarray) -> np.ndarray:
    """f32 cut to bfloat16, as uint16 bits."""
    return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def assert_same(actual: np.ndarray, expected: np.ndarray, tolerance: float | None = None) -> None:
    """Equal within the dtype's tolerance, with NaN and infinities in the same places."""
    assert actual.shape == expected.shape and actual.dtype == expected.dtype
    if actual.dtype == np.uint16:
        actual, expected, tolerance = from_bfloat(actual), from_bfloat(expected), tolerance or 1.6e-2
    if actual.dtype.kind in "ib":
        np.testing.assert_array_equal(actual, expected)
        return
    limit = tolerance or TOLERANCE[actual.dtype.name]
    np.testing.assert_allclose(actual, expected, rtol=limit, atol=limit * 1e-2)


def check(
    target: str, text: str, *cases: Sequence[np.ndarray], tolerance: float | None = None
) -> EmulatedProgram:
    """Compare on each case (a list of arguments) after compiling once."""
    require_target(target)
    program = EmulatedProgram(text, target)
    for arguments in cases:
        expected = reference(text, arguments)
        actual = program.run(*arguments)
        assert len(actual) == len(expected)
        for ours, theirs in zip(actual, expected, strict=True):
            assert_same(ours, theirs, tolerance)
    return program


def assemble(text: str, arch: str) -> None:
    """Lower a module of kernels to PTX and assert that `ptxas` accepts it; skip where there is no `ptxas`."""
    packaged = (path for entry in sys.path for path in Path(entry).glob("nvidia/**/bin/ptxas"))
    assembler = shutil.which("ptxas") or next(map(str, packaged), None)
    if assembler is None:
        pytest.skip("ptxas is missing: install a CUDA toolkit or the nvidia-cuda-nvcc package")
    with shared_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        lower_to_gpu(module)
        ptx = to_ptx(module, arch)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernels.ptx"
        source.write_text(ptx)
        command = [assembler, f"-arch={arch}", str(source), "-o", str(source.with_suffix(".cubin"))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
