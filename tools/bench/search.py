"""How much luminal searches: the settings that `luminal-bench --search` compares."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..measure import print_table
from .report import duration
from .summary import geometric_mean
from .workload import Result

SEARCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "luminal": ("as users run it", {}),
    "luminal-estimated": ("the cost model alone, nothing measured", {"search_seconds": 0}),
    "luminal-unsearched": (
        "the first program that extraction finds",
        {"search_seconds": 0, "search_sweeps": 0, "search_restarts": 0},
    ),
}
"""Contestant name -> what it is, compile options."""


def options_of(name: str) -> dict[str, Any]:
    """The compile options of a setting, as far as CompileOptions has them."""
    import luminal

    known = {field.name for field in dataclasses.fields(luminal.CompileOptions)}
    return {key: value for key, value in SEARCHES[name][1].items() if key in known}


def print_searches(results: Mapping[str, Mapping[str, Result]]) -> None:
    """One row per workload: the time of each setting, and the gain of the search."""
    rows, gains = [], []
    for name, by in results.items():
        seconds = [by[setting].seconds for setting in SEARCHES]
        gains.append(seconds[0] / seconds[-1])
        compiled = [by[setting].compile_seconds or 0.0 for setting in (list(SEARCHES)[0], list(SEARCHES)[-1])]
        times = (duration(second) for second in reversed(seconds))
        rows.append((name, *times, f"{gains[-1]:.2f}", *(f"{part:.1f} s" for part in reversed(compiled))))
    rows.append(("geometric mean", "", "", "", f"{geometric_mean(gains):.2f}", "", ""))
    print("\nfastest run with search off, by the cost model, and as users run it")
    print_table(("", "off", "estimated", "measured", "measured / off", "compile off", "compile on"), rows)
