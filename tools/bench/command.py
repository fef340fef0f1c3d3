"""The command line of luminal-bench."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from luminal.errors import LuminalError, RuntimeFailure

WORKLOADS = {
    "decode": "one token of SmolLM2-135M after 64 (float32)",
    "prefill": "128 prompt tokens of SmolLM2-135M",
    "embed": "8 sentences of 64 tokens through all-MiniLM-L6-v2",
    "images": "one 224x224 image through a network of ResNet-18's shape",
    "mlp": "64 rows through linear 1024 to 4096, gelu, linear 4096 to 1024",
    "pointwise": "tanh, sigmoid, where, exp and division on 8M elements",
    "norm": "layer norm, gelu and softmax on 4096x2048",
    "attention": "causal attention, 8 heads x 1024 tokens x 64, as torch's fused function",
    "attention-written": "the same written out: product, scale, mask, softmax, product",
    "attention-4096": "causal attention, 8 heads x 4096 tokens x 64: look at the memory",
    "matmul-512": "512x512x512 matrix product with bias and relu, constant weights",
    "matmul": "1024x1024x1024 matrix product with bias and relu, constant weights",
    "matmul-2048": "2048x2048x2048 matrix product with bias and relu, constant weights",
    "conv-1x1": "convolution 256x14x14, 1x1, with batch norm and relu",
    "conv-3x3": "convolution 128x28x28, 3x3, with batch norm and relu",
    "conv-strided": "convolution 64x56x56, 3x3 in steps of 2, with batch norm and relu",
    "conv-depthwise": "convolution 384x28x28, 3x3 depthwise, with batch norm and relu",
}
_ABOUT = """\
Measures luminal beside torch eager, Inductor, ONNX Runtime and OpenVINO on the same models and inputs. Every
result is compared with eager's first; then the contestants take turns."""
GROUPS = {
    "all": tuple(WORKLOADS),
    "main": ("decode", "prefill", "embed", "images", "mlp", "pointwise", "norm", "attention"),
}
CONTESTANTS = ("luminal", "eager", "inductor", "inductor-frozen", "onednn", "onnxruntime", "openvino")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the `luminal-bench` command. Exit status: 0, or 1 after a clear message for each
    workload that failed; the others are measured nevertheless.
    """
    arguments = _parser().parse_args(argv)
    names = [name for given in arguments.workload for name in GROUPS.get(given, (given,))]
    names = list(dict.fromkeys(names))
    failures: list[str] = []
    try:
        figures = (_compile if arguments.compile else _measure)(names, arguments, failures)
        if arguments.json:
            _write(json.dumps(figures, indent=1), arguments.json)
    except LuminalError as error:
        _complain(str(error), failures)
    except KeyboardInterrupt:
        _complain("interrupted", failures)
    return 1 if failures else 0


def _compile(names: list[str], arguments: argparse.Namespace, failures: list[str]) -> dict[str, object]:
    """Compile seconds by workload, as JSON has them."""
    from .compile_time import measure_compile_time

    figures = {}
    for name in names:
        try:
            figures[name] = measure_compile_time(name, arguments.threads)
        except LuminalError as error:
            _complain(str(error), failures)
    return {"compile": figures}


def _measure(names: list[str], arguments: argparse.Namespace, failures: list[str]) -> dict[str, object]:
    """Everything that was measured, as JSON has it."""
    from .machine import measure_machine
    from .report import as_json, print_machine, print_report
    from .runner import run_workload
    from .search import SEARCHES, print_searches
    from .summary import print_summary
    from .workloads import build_workload

    threads = 1 if arguments.cpu_time else arguments.threads
    timer = time.process_time if arguments.cpu_time else time.perf_counter
    _use_threads(threads)
    machine = measure_machine(timer=timer)
    print_machine(machine)
    chosen = ["eager", *SEARCHES] if arguments.search else arguments.only or CONTESTANTS
    results = {}
    for name in names:
        try:
            workload = build_workload(name, threads)
            machine = measure_machine(machine, timer=timer)
            results[name] = run_workload(name, workload, chosen, arguments.seconds, timer=timer)
        except LuminalError as error:
            _complain(str(error), failures)
            continue
        print_report(name, WORKLOADS[name], workload, results[name], machine)
    if arguments.search and results:
        print_searches(results)
    elif not arguments.search:
        print_summary(results)
    return as_json(results, machine)


def _complain(message: str, failures: list[str]) -> None:
    failures.append(message)
    print(f"luminal-bench: error: {message}", file=sys.stderr)


def _use_threads(threads: int) -> None:
    """torch with as many threads as the others."""
    import torch

    if threads:
        torch.set_num_threads(threads)


def _write(text: str, file: str) -> None:
    if file == "-":
        print(text)
        return
    try:
        Path(file).write_text(text + "\n")
    except OSError as error:
        raise RuntimeFailure(f"cannot write {file}: {error}") from error


def _parser() -> argparse.ArgumentParser:
    listing = "\n".join(f"  {name:<18} {text}" for name, text in WORKLOADS.items())
    groups = "\n".join(f"  {name:<18} {', '.join(members)}" for name, members in list(GROUPS.items())[1:])
    parser = argparse.ArgumentParser(
        prog="luminal-bench",
        description=f"{_ABOUT}\n\nworkloads:\n{listing}\n  {'all':<18} all of these\n{groups}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("workload", nargs="+", choices=[*WORKLOADS, *GROUPS], help="what to measure")
    parser.add_argument(
        "--only", action="append", choices=CONTESTANTS, help="measure only this one (repeatable)"
    )
    parser.add_argument(
        "--seconds", type=_positive, default=3.0, help="time for each contestant (default: %(default)s)"
    )
    parser.add_argument(
        "--threads", type=_count, default=0, help="threads of every contestant (default: all processors)"
    )
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="one thread each, and processor time instead of the clock's: for a busy machine",
    )
    parser.add_argument("--json", metavar="FILE", help="write all figures to FILE as well; - is stdout")
    tables = parser.add_mutually_exclusive_group()
    tables.add_argument(
        "--search", action="store_true", help="compare luminal's search settings: measured, estimated, off"
    )
    tables.add_argument(
        "--compile",
        action="store_true",
        help="luminal's compile seconds by stage in a new process: caches empty, and again full",
    )
    return parser


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be positive, not {text}")
    return value


def _count(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 1024:
        raise argparse.ArgumentTypeError(f"must be 0 to 1024, not {text}")
    return value
