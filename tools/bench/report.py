"""The table and the JSON of luminal-bench."""

from dataclasses import asdict

from ..measure import print_table
from .machine import Machine
from .workload import Result, Workload

HEADER = (
    "",
    "time",
    "of eager",
    "GB/s",
    "of peak",
    "GFLOP/s",
    "of peak",
    "compile",
    "peak memory",
    "difference",
)


def print_report(
    name: str, text: str, workload: Workload, results: dict[str, Result], machine: Machine
) -> None:
    """One table: time, ratio to eager, achieved bandwidth and arithmetic beside what the machine can do."""
    print(f"\n{name}: {text}")
    eager = results["eager"].seconds if "eager" in results else 0.0
    rows = []
    for who, result in results.items():
        if result.skipped:
            rows.append((who, f"not run: {result.skipped}", *[""] * (len(HEADER) - 2)))
            continue
        bandwidth, flops = workload.bytes / result.seconds, workload.flops / result.seconds
        rows.append(
            (
                who,
                f"{result.seconds * 1e3:.2f} ms",
                f"{result.seconds / eager:.2f}" if eager else "-",
                f"{bandwidth / 1e9:.1f}",
                f"{bandwidth / machine.bandwidth:.0%}",
                f"{flops / 1e9:.1f}",
                f"{flops / machine.flops:.0%}",
                "-" if result.compile_seconds is None else f"{result.compile_seconds:.1f} s",
                f"{result.peak_bytes / 1e9:.2f} GB",
                "-" if result.difference is None else f"{result.difference:.1e}",
            )
        )
    print_table(HEADER, rows)
    stages = results["luminal"].stages if "luminal" in results else {}
    if stages:
        shown = (f"{stage} {seconds:.2f} s" for stage, seconds in stages.items() if seconds >= 0.005)
        print("  compile: " + ", ".join(shown))


def print_machine(machine: Machine) -> None:
    print(
        f"this machine, as torch measures it with {machine.threads} threads: "
        f"{machine.bandwidth / 1e9:.1f} GB/s, {machine.flops / 1e9:.0f} GFLOP/s"
    )


def as_json(results: dict[str, dict[str, Result]], machine: Machine) -> dict[str, object]:
    """Everything that was measured, in seconds and bytes."""
    figures = {name: {who: asdict(result) for who, result in by.items()} for name, by in results.items()}
    return {"machine": asdict(machine), "workloads": figures}
