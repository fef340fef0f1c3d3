"""Attributes compile time to stages, and shows the stages while they run.

A stage may be entered inside another (saturation has one per ruleset): its time is then part of both, and
its name is `outer/inner`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

STATUS_COLUMNS = 100
"""Columns of a status line."""


class Progress:
    """Seconds per stage, in order of first entry.

    With `show` True one line per finished stage goes to `stream` (default: stderr); a function is called
    instead with the stage's name and its seconds, None as it begins.
    """

    def __init__(
        self, show: bool | Callable[[str, float | None], None] = False, stream: TextIO | None = None
    ) -> None:
        self.seconds: dict[str, float] = {}
        self._show = show
        self._stream = stream
        self._open: list[str] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Times the block as stage `name`."""
        full = "/".join([*self._open, name])
        self._open.append(name)
        self.seconds.setdefault(full, 0.0)
        self._tell(full, None)
        start = time.perf_counter()
        try:
            yield
        finally:
            self._open.pop()
            self.add(full, time.perf_counter() - start)

    def add(self, name: str, seconds: float) -> None:
        """Adds time that something else measured."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self._tell(name, self.seconds[name])

    def status(self, text: str) -> None:
        """Shows what happens now on a terminal; the next line takes its place."""
        stream = self._stream or sys.stderr
        if self._show is True and stream.isatty():
            print(f"\r\033[K{text[:STATUS_COLUMNS]}", end="", file=stream, flush=True)

    @property
    def total(self) -> float:
        """Seconds in outermost stages."""
        return sum(seconds for name, seconds in self.seconds.items() if "/" not in name)

    def _tell(self, name: str, seconds: float | None) -> None:
        if callable(self._show):
            self._show(name, seconds)
        elif self._show and seconds is not None:
            self.status("")
            print(f"luminal: {name:<32s} {seconds:8.3f} s", file=self._stream or sys.stderr, flush=True)
