"""The table and the JSON of luminal-bench."""

from collections.abc import Mapping
from dataclasses import asdict

from ..measure import print_table
from .machine import Machine
from .workload import Result, Workload

HEADER = (
    "",
    "fastest",
    "median",
    "of eager",
    "of Inductor",
    "of better",
    "GB/s",
    "GFLOP/s",
    "of limit",
    "compile",
    "memory",
    "difference",
)


def least_seconds(workload: Workload, machine: Machine) -> float:
    """What moving the bytes or computing at this machine's best takes, whichever is longer."""
    return max(workload.bytes / machine.bandwidth, workload.flops / machine.flops)


def better_seconds(results: Mapping[str, Result]) -> float | None:
    """The better of eager and Inductor; None unless both ran."""
    both = [results[who].seconds for who in ("eager", "inductor") if _ran(results.get(who))]
    return min(both) if len(both) == 2 else None


def print_report(
    name: str, text: str, workload: Workload, results: dict[str, Result], machine: Machine
) -> None:
    """One table: times, their ratios to the others', and what part of the machine's limit is reached."""
    least = least_seconds(workload, machine)
    bound = "moving" if least == workload.bytes / machine.bandwidth else "arithmetic"
    print(f"\n{name}: {text}; {duration(least)} at this machine's best ({bound})")
    print_table(HEADER, [_row(who, result, workload, results, least) for who, result in results.items()])
    for who, result in results.items():
        if result.skipped:
            print(f"  {who}: {result.skipped}")
        if result.planned_bytes is not None and not result.skipped:
            print(
                f"  {who}: {size(result.planned_bytes)} of temporary memory planned, "
                f"{size(result.packed_bytes or 0)} of packed weights"
            )
    stages = results["luminal"].stages if "luminal" in results else {}
    if stages:
        shown = (f"{stage} {seconds:.2f} s" for stage, seconds in stages.items() if seconds >= 0.005)
        print("  compile: " + ", ".join(shown))


def _row(
    who: str, result: Result, workload: Workload, results: Mapping[str, Result], least: float
) -> tuple[str, ...]:
    if result.skipped:
        return (who, "not run", *[""] * (len(HEADER) - 2))
    return (
        who,
        duration(result.seconds),
        duration(result.median),
        *(ratio(result.seconds, seconds) for seconds in _yardsticks(results)),
        f"{workload.bytes / result.seconds / 1e9:.1f}",
        f"{workload.flops / result.seconds / 1e9:.1f}",
        f"{least / result.seconds:.0%}",
        "-" if result.compile_seconds is None or who == "eager" else f"{result.compile_seconds:.1f} s",
        size(result.run_bytes),
        "-" if result.difference is None else f"{result.difference:.1e}",
    )


def _yardsticks(results: Mapping[str, Result]) -> tuple[float | None, float | None, float | None]:
    eager, inductor = (
        results[who].seconds if _ran(results.get(who)) else None for who in ("eager", "inductor")
    )
    return eager, inductor, better_seconds(results)


def _ran(result: Result | None) -> bool:
    return result is not None and not result.skipped


def ratio(seconds: float, other: float | None) -> str:
    """`seconds` as a part of `other`."""
    return "-" if other is None else f"{seconds / other:.2f}"


def duration(seconds: float) -> str:
    """Milliseconds, to three or more digits."""
    return f"{seconds * 1e3:.{3 if seconds < 1e-3 else 2}f} ms"


def size(count: int) -> str:
    """Bytes in MB."""
    return f"{count / 1e6:.1f} MB"


def print_machine(machine: Machine) -> None:
    """The yardsticks."""
    print(
        f"this machine, with {machine.threads} threads: {machine.bandwidth / 1e9:.1f} GB/s of memory, "
        f"{machine.flops / 1e9:.0f} GFLOP/s of multiply-adds; measured again before each workload"
    )


def as_json(results: dict[str, dict[str, Result]], machine: Machine) -> dict[str, object]:
    """Everything that was measured, in seconds and bytes."""
    figures = {name: {who: asdict(result) for who, result in by.items()} for name, by in results.items()}
    return {"machine": asdict(machine), "workloads": figures}
