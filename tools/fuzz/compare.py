"""When two results count as different."""

from __future__ import annotations

import numpy as np

TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "uint16": 3e-2}
"""Relative to the largest finite value of the reference; `uint16` arrays hold the bits of bf16."""


def difference(got: np.ndarray, want: np.ndarray) -> str | None:
    """How `got` differs from the reference `want`; None if it agrees."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    tolerance = TOLERANCE.get(str(want.dtype))
    if tolerance is None:
        wrong = int((got != want).sum())
        return f"{wrong} of {want.size} elements differ" if wrong else None
    if want.dtype == np.uint16:
        got, want = (_widened(bits) for bits in (got, want))
    for name, test in (("NaN", np.isnan), ("an infinity", np.isinf)):
        if bool((test(got) & ~test(want)).any()):
            return f"{name} where the reference has none"
    finite = np.isfinite(want)
    infinite = np.isinf(want)
    if bool((np.isfinite(got) & ~finite).any()) or bool((got[infinite] != want[infinite]).any()):
        return "a number where the reference has NaN or an infinity"
    if not finite.any():
        return None
    scale = float(np.abs(want[finite]).max()) or 1.0
    worst = float(np.abs(got[finite].astype(np.float64) - want[finite]).max())
    return f"off by {worst:.3g} of {scale:.3g}" if worst > tolerance * scale else None


def _widened(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)
