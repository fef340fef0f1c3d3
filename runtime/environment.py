"""Every environment switch that luminal reads, in one place.

| variable | meaning |
|---|---|
| `LUMINAL_CACHE_DIR` | directory of the on-disk object cache (default `$XDG_CACHE_HOME/luminal`, else
`~/.cache/luminal`) |
| `LUMINAL_TUNING_DB` | file of measured kernel times (default `tuning.jsonl` in the cache directory) |
| `LUMINAL_COMPILE_WORKERS` | processes that compile many kernels side by side (default: one per processor, at
most 8; 1: none) |
| `LUMINAL_THREADS` | worker threads when `CompileOptions.threads` is 0 (default: the processors this process
may use) |
| `LUMINAL_SEARCH_SECONDS` | seconds for measuring kernels when `CompileOptions.search_seconds` is None
(default: 60; 0 decides by the estimate) |
| `LUMINAL_PROGRESS` | `1` shows compile stages on stderr as if `CompileOptions(progress=True)` were given |
"""

from __future__ import annotations

import os

from luminal.errors import RuntimeFailure


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_threads() -> int:
    """`LUMINAL_THREADS`, else one thread per processor.

    Raises RuntimeFailure if it is not a positive integer.
    """
    text = os.environ.get("LUMINAL_THREADS", "")
    if not text:
        return processors()
    if not text.isdecimal() or int(text) < 1:
        raise RuntimeFailure(f"LUMINAL_THREADS must be a positive integer, not '{text}'")
    return int(text)


def default_search_seconds() -> float:
    """`LUMINAL_SEARCH_SECONDS`, else 60. Raises RuntimeFailure if it is not a non-negative number."""
    text = os.environ.get("LUMINAL_SEARCH_SECONDS", "")
    if not text:
        return 60.0
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not seconds >= 0:
        raise RuntimeFailure(f"LUMINAL_SEARCH_SECONDS must be a non-negative number, not '{text}'")
    return seconds


def progress_wanted() -> bool:
    """Whether `LUMINAL_PROGRESS` asks for progress lines."""
    return os.environ.get("LUMINAL_PROGRESS", "") not in ("", "0")
