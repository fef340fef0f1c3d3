"""The report of luminal-explain for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from luminal.runtime.profile import Profile, ProfileRow


def text(
    name: str, profile: Profile, stages: Mapping[str, float], search: Mapping[str, Any], top: int
) -> str:
    """The whole report; `top` kernels in full."""
    return "\n".join(
        [
            *summary(name, profile),
            "",
            *_kernels(profile, top),
            "",
            *_origins(profile, top),
            *_alternatives(profile, top),
            "compile time",
            *(f"  {stage:<40s} {seconds:9.3f} s" for stage, seconds in compile_times(stages)),
            *measured(search),
        ]
    )


def summary(name: str, profile: Profile) -> list[str]:
    """The call as a whole."""
    launches = sum(row.launches for row in profile.rows)
    sizes = ", ".join(f"{name} = {value}" for name, value in profile.symbols.items())
    return [
        f"{name}: {seconds_text(profile.seconds)} in {launches} launches of {len(profile.rows)} kernels"
        + (f" (at {sizes})" if sizes else ""),
        f"memory besides inputs and results: {bytes_text(profile.arena_bytes)} temporary, "
        f"{bytes_text(profile.static_bytes)} packed weights, {bytes_text(profile.scratch_bytes)} scratch",
    ]


def _kernels(profile: Profile, top: int) -> list[str]:
    lines = [
        f"  {'#':>3s} {'share':>6s} {'per call':>10s} {'launches':>8s} {'GB/s':>7s} {'GFLOP/s':>8s}  kernel"
    ]
    for row in profile.rows[:top]:
        lines.append(
            f"  {row.kernel:3d} {share(row, profile):5.1f}% {seconds_text(row.seconds):>10s} "
            f"{row.launches:8d} {rate(row.bytes, row):7.1f} {rate(row.flops, row):8.1f}  {row.info}"
        )
    rest = profile.rows[top:]
    if rest:
        seconds = sum(row.seconds for row in rest)
        lines.append(
            f"      {100 * seconds / profile.seconds:5.1f}% {seconds_text(seconds):>10s}  {len(rest)} more"
        )
    return lines


def _origins(profile: Profile, top: int) -> list[str]:
    lines = ["where the kernels come from"]
    for row in profile.rows[:top]:
        lines.append(f"  {row.kernel:3d} {row.info.kind} in @{row.info.function}, from {short_place(row)}")
        ops, rules = origin(row)
        if ops:
            lines += [
                f"      computes {ops}",
                f"      rules that matched and make such nodes: {rules or 'none'}",
            ]
        else:
            lines.append("      made by a pass after the search")
    return [*lines, ""]


def _alternatives(profile: Profile, top: int) -> list[str]:
    lines = []
    for row in profile.rows[:top]:
        found = row.info.search.get("candidates", [])[:3]
        if found:
            lines.append(f"  {row.kernel:3d} {row.info.kind}: chosen")
        lines += [
            f"      {seconds_text(each['seconds']):>10s} instead of {seconds_text(each['instead of'])}: "
            f"{each['description']}"
            for each in found
        ]
    return ["what else was measured", *lines, ""] if lines else []


def compile_times(stages: Mapping[str, float]) -> list[tuple[str, float]]:
    """Stages that took time, parts of a stage after it, and the total."""
    shown = [(stage, seconds) for stage, seconds in stages.items() if seconds >= 5e-4 or "/" not in stage]
    total = sum(seconds for stage, seconds in stages.items() if "/" not in stage)
    return [*shown, ("total", total)]


def measured(search: Mapping[str, Any]) -> list[str]:
    """What the search measured and what it left out, counted."""
    outcomes = Counter(entry.outcome for entry in search.get("log", ()))
    if not outcomes:
        return ["nothing was measured: the estimate decided"]
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    return [f"kernels asked for by the search: {counts}"]


def share(row: ProfileRow, profile: Profile) -> float:
    """Per cent of the call."""
    return 100 * row.seconds / profile.seconds if profile.seconds else 0.0


def rate(amount: int, row: ProfileRow) -> float:
    """Billions per second."""
    return amount / row.per_launch / 1e9 if row.per_launch else 0.0


def origin(row: ProfileRow) -> tuple[str, str]:
    """The primitive ops and the rules of a kernel, as text."""
    ops: Mapping[str, int] = row.info.search.get("ops", {})
    rules: Sequence[str] = row.info.search.get("rules", [])
    return ", ".join(f"{count} {name}" for name, count in ops.items()), ", ".join(rules)


def short_place(row: ProfileRow) -> str:
    """The outermost source position: the line of the user's program."""
    parts = [part for part in row.info.place.split('"') if "/" in part or part.endswith(".py")]
    if not parts:
        return row.info.place or "(unknown)"
    line = row.info.place.rpartition(parts[-1] + '":')[2].partition(":")[0].strip("() ")
    return f"{parts[-1]}:{line}" if line.isdecimal() else parts[-1]


def seconds_text(seconds: float) -> str:
    """`1.23 ms`"""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def bytes_text(count: int) -> str:
    """`1.5 MiB`"""
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.2f} GiB"
