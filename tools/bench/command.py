"""The command line of luminal-bench."""

import argparse
import json
import sys
from collections.abc import Sequence

from luminal.errors import LuminalError

WORKLOADS = {
    "decode": "one token of SmolLM2-135M after 64 (float32)",
    "prefill": "128 prompt tokens of SmolLM2-135M",
    "embed": "8 sentences of 64 tokens through all-MiniLM-L6-v2",
    "images": "one 224x224 image through a network of ResNet-18's shape",
    "pointwise": "tanh, sigmoid, where, exp and division on 8M elements",
    "norm": "layer norm, gelu and softmax on 4096x2048",
    "matmul": "1024x1024x1024 matrix product with bias and relu",
}
CONTESTANTS = ("luminal", "eager", "inductor")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the `luminal-bench` command. Exit status: 0, or 1 after one clear message."""
    arguments = _parser().parse_args(argv)
    names = list(WORKLOADS) if "all" in arguments.workload else list(dict.fromkeys(arguments.workload))
    try:
        return _run(names, arguments)
    except LuminalError as error:
        print(f"luminal-bench: error: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("luminal-bench: interrupted", file=sys.stderr)
    return 1


def _run(names: list[str], arguments: argparse.Namespace) -> int:
    from .machine import measure_machine
    from .report import as_json, print_machine, print_report
    from .runner import run_workload
    from .workloads import build_workload

    machine = measure_machine()
    print_machine(machine)
    results = {}
    for name in names:
        workload = build_workload(name, arguments.threads)
        results[name] = run_workload(name, workload, arguments.only or list(CONTESTANTS), arguments.seconds)
        print_report(name, WORKLOADS[name], workload, results[name], machine)
    print(json.dumps(as_json(results, machine)))
    return 0


def _parser() -> argparse.ArgumentParser:
    listing = "\n".join(f"  {name:<10} {text}" for name, text in WORKLOADS.items())
    parser = argparse.ArgumentParser(
        prog="luminal-bench",
        description=f"{__doc__}\n\nworkloads:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("workload", nargs="+", choices=[*WORKLOADS, "all"], help="what to measure")
    parser.add_argument(
        "--only", action="append", choices=CONTESTANTS, help="measure only this one (repeatable)"
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=0, help="luminal's threads (default: all processors)")
    return parser
