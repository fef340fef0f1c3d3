"""One line per workload and one number over all: luminal's time as a part of the others'."""

import math
from collections.abc import Iterable, Mapping

from ..measure import print_table
from .report import better_seconds, duration, ratio
from .workload import Result

OTHERS = ("eager", "inductor", "inductor-frozen", "onednn", "onnxruntime", "openvino")


def geometric_mean(values: Iterable[float]) -> float | None:
    """The geometric mean of positive numbers; None of none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


def ratios(results: Mapping[str, Mapping[str, Result]], other: str) -> list[float]:
    """luminal's time as a part of `other`'s (a contestant, or "better": of eager and Inductor), where both
    ran.
    """
    pairs = ((_seconds(by, "luminal"), _seconds(by, other)) for by in results.values())
    return [own / theirs for own, theirs in pairs if own is not None and theirs is not None]


def print_summary(results: Mapping[str, Mapping[str, Result]]) -> None:
    """The table, its last row the geometric mean; nothing for a single workload or without luminal."""
    others = [other for other in ("better", *OTHERS) if any(_seconds(by, other) for by in results.values())]
    rows = []
    for name, by in results.items():
        own = _seconds(by, "luminal")
        if own is not None:
            cells = (ratio(own, _seconds(by, other)) for other in others)
            rows.append((name, duration(own), *cells, _winner(by)))
    if len(rows) < 2 or not others:
        return
    means = [geometric_mean(ratios(results, other)) for other in others]
    rows.append(("geometric mean", "", *("-" if m is None else f"{m:.2f}" for m in means), ""))
    print("\nluminal's fastest run as a part of each other's; better: of eager and Inductor")
    print_table(("", "luminal", *others, "fastest of all"), rows)


def _seconds(by: Mapping[str, Result], who: str) -> float | None:
    if who == "better":
        return better_seconds(by)
    result = by.get(who)
    return None if result is None or result.skipped else result.seconds


def _winner(by: Mapping[str, Result]) -> str:
    return min((result.seconds, who) for who, result in by.items() if not result.skipped)[1]
