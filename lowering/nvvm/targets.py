"""What is known about each NVIDIA architecture that code is made for."""

from __future__ import annotations

from dataclasses import dataclass

from luminal.errors import LoweringError


@dataclass(frozen=True)
class NvidiaTarget:
    """`arch` as `ptxas` spells it, and the PTX version that its instructions need."""

    arch: str
    ptx_feature: str


TARGETS = {
    target.arch: target for target in (NvidiaTarget("sm_80", "+ptx71"), NvidiaTarget("sm_90a", "+ptx80"))
}


def target_named(arch: str) -> NvidiaTarget:
    """The target of an architecture. LoweringError for an unknown one."""
    if arch not in TARGETS:
        raise LoweringError(f"unknown NVIDIA architecture '{arch}'; known: {', '.join(sorted(TARGETS))}")
    return TARGETS[arch]
