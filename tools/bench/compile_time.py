"""How long luminal compiles: each workload in a process of its own, with empty caches and again with full
ones.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from luminal.errors import RuntimeFailure

from ..measure import StageClock, print_table

_CHILD = "from luminal.tools.bench.compile_time import compile_here; compile_here({name!r}, {threads})"
_MARK = "luminal-bench-compile:"


def measure_compile_time(name: str, threads: int) -> dict[str, dict[str, float]]:
    """Prints a table of a workload and returns its figures: seconds by stage, "cold" and "warm".

    Raises RuntimeFailure with the process's last line if it fails.
    """
    with tempfile.TemporaryDirectory(prefix="luminal-bench-") as folder:
        cold, warm = (_compile_in_process(name, threads, folder) for _ in range(2))
    print(f"\n{name}: seconds to compile, caches empty and full")
    stages = list(dict.fromkeys([*cold, *warm]))
    rows = [(stage, _shown(cold.get(stage)), _shown(warm.get(stage))) for stage in stages]
    print_table(("", "cold", "warm"), [row for row in rows if {*row[1:]} != {"0.00"}])
    return {"cold": cold, "warm": warm}


def _shown(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f}"


def _compile_in_process(name: str, threads: int, folder: str) -> dict[str, float]:
    """Seconds by stage in a new Python whose caches stand in `folder`."""
    child = _CHILD.format(name=name, threads=threads)
    caches = {"LUMINAL_CACHE_DIR": folder, "LUMINAL_TUNING_DB": os.path.join(folder, "tuning.jsonl")}
    environment = {**os.environ, **caches}
    done = subprocess.run([sys.executable, "-c", child], env=environment, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if done.returncode or not lines:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise RuntimeFailure(f"{name}: compiling in a new process failed: {last}")
    return json.loads(lines[-1].removeprefix(_MARK))


def compile_here(name: str, threads: int) -> None:
    """Compiles a workload once, with its first run (which packs weights), and prints the seconds by stage."""
    from .workloads import build_workload

    contestant = build_workload(name, threads).contestants["luminal"]
    clock = StageClock(name, show=False)
    start = time.perf_counter()
    prepare, run = contestant.make(clock)
    prepare()
    run()
    total = time.perf_counter() - start
    rest = total - clock.total
    print(_MARK + json.dumps({**clock.seconds, "weights and first run": rest, "total": total}))
