"""Measured seconds of kernels on disk: one JSON object a line, readable and mergeable.

Two kinds of lines: an environment (a machine and a compiler, see device.py), and an entry, which names its
environment. Entries of other environments are kept, but never answer here, so that the databases of many
machines may be merged into one. Processes append what they measured, one at a time under a lock. Lines that
cannot be read are moved to a file of their own beside it, with a warning.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import RuntimeFailure
from ...lowering.cpu.cache import cache_directory
from .device import Environment, host_environment

FORMAT = 1
"""Version of the file format, in every environment line."""

Record = dict[str, Any]


def database_path() -> Path:
    """`$LUMINAL_TUNING_DB`, else `tuning.jsonl` beside the cached object code."""
    named = os.environ.get("LUMINAL_TUNING_DB")
    return Path(named) if named else cache_directory() / "tuning.jsonl"


@dataclass
class Contents:
    """A file read: environments by identity, entries by (environment, key), lines that are neither."""

    environments: dict[str, Record] = field(default_factory=dict)
    entries: dict[tuple[str, str], Record] = field(default_factory=dict)
    damaged: list[bytes] = field(default_factory=list)


def read_contents(path: Path) -> Contents:
    """Reads a database file. OSError if it cannot be read."""
    contents = Contents()
    for line in path.read_bytes().splitlines():
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if "format" in record and record["format"] == FORMAT:
                contents.environments[str(record["environment"])] = record
            else:
                _check_entry(record)
                name = record["environment"], record["key"]
                if better(record, contents.entries.get(name)):
                    contents.entries[name] = record
        except (ValueError, KeyError, TypeError):
            contents.damaged.append(line)
    return contents


def _check_entry(record: Record) -> None:
    """Raises ValueError, KeyError or TypeError if it is no entry."""
    seconds = record["seconds"]
    if not isinstance(record["key"], str) or not isinstance(record["environment"], str):
        raise TypeError
    if isinstance(seconds, bool) or not math.isfinite(seconds) or seconds < 0:
        raise ValueError


def better(new: Record, old: Record | None) -> bool:
    """Whether `new` is to replace `old`: a full measurement a rough one, else the fewer seconds.

    Disturbance only ever adds time.
    """
    if old is None:
        return True
    rough = bool(new.get("rough")), bool(old.get("rough"))
    return rough[1] if rough[0] != rough[1] else new["seconds"] < old["seconds"]


class TuningDatabase:
    """Seconds by key, for the environment of this process. Not written to disk before `save`."""

    def __init__(self, path: Path, contents: Contents, environment: Environment | None = None) -> None:
        self.path = path
        self.environment = environment or host_environment()
        self._identity = self.environment.identity
        self._environments = contents.environments
        self._entries = contents.entries
        self._new: dict[tuple[str, str], Record] = {}
        self._stored = set(contents.environments)  # environments that the file describes

    @classmethod
    def open(cls, path: Path | None = None) -> TuningDatabase:
        """The database at `path` (None: `database_path()`), empty if there is none.

        A file that cannot be read counts as empty, with a warning.
        """
        path = database_path() if path is None else path
        try:
            contents = read_contents(path)
        except FileNotFoundError:
            contents = Contents()
        except OSError as error:
            warnings.warn(f"the tuning database {path} cannot be read: {error}", stacklevel=2)
            contents = Contents()
        database = cls(path, contents)
        if contents.damaged:
            database._repair()
        return database

    def __len__(self) -> int:
        """Entries of all environments."""
        return len(self._entries)

    def __iter__(self) -> Iterator[Record]:
        """All entries, as JSON objects."""
        return iter(self._entries.values())

    @property
    def environments(self) -> dict[str, Record]:
        """The environments that entries come from, as JSON objects by identity."""
        return self._environments

    def get(self, key: str) -> float | None:
        """Seconds of `key` in this environment, None if it has not been measured (roughly does not count)."""
        entry = self.entry(key)
        return None if entry is None or entry.get("rough") else float(entry["seconds"])

    def entry(self, key: str) -> Record | None:
        """All that is known of `key` in this environment."""
        return self._entries.get((self._identity, key))

    def put(self, key: str, seconds: float, **details: Any) -> None:
        """Keeps the seconds of `key`; `details` are for readers, and must be JSON values.

        `rough=True`: the measurement was broken off; it only says that a kernel is much slower than another.
        """
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        record = {"key": key, "seconds": seconds, **details, "when": when, "environment": self._identity}
        _check_entry(record)
        self._environments.setdefault(self._identity, {"format": FORMAT, **self.environment.record()})
        self._entries[self._identity, key] = self._new[self._identity, key] = record

    def merge(self, other: Path) -> int:
        """Takes over the entries of another file that are absent here, or better; returns how many.

        Raises RuntimeFailure if it cannot be read.
        """
        try:
            contents = read_contents(other)
        except OSError as error:
            raise RuntimeFailure(f"the tuning database {other} cannot be read: {error}") from error
        if contents.damaged:
            text = f"{len(contents.damaged)} lines of the tuning database {other} cannot be read: left out"
            warnings.warn(text, stacklevel=2)
        return self._take(contents)

    def _take(self, contents: Contents) -> int:
        taken = 0
        for identity, record in contents.environments.items():
            self._environments.setdefault(identity, record)
        for name, record in contents.entries.items():
            if better(record, self._entries.get(name)):
                self._entries[name] = self._new[name] = record
                taken += 1
        return taken

    def remove(self, wanted: Callable[[Record], bool]) -> int:
        """Removes the entries that `wanted` says, in the file too; returns how many.

        Raises RuntimeFailure if the file cannot be written.
        """
        try:
            with _locked(self.path):
                contents = read_contents(self.path) if self.path.exists() else Contents()
                self._take(contents)
                removed = [name for name, record in self._entries.items() if wanted(record)]
                for name in removed:
                    del self._entries[name]
                used = {identity for identity, _ in self._entries}
                self._environments = {k: v for k, v in self._environments.items() if k in used}
                self._replace(contents.damaged)
        except OSError as error:
            raise RuntimeFailure(f"the tuning database {self.path} cannot be written: {error}") from error
        return len(removed)

    def _replace(self, damaged: list[bytes]) -> Path | None:
        """Writes the file anew, damaged lines elsewhere; returns where. The lock is held."""
        aside = _keep_aside(self.path, damaged) if damaged else None
        _replace(self.path, _lines([*self._environments.values(), *self._entries.values()]))
        self._stored = set(self._environments)
        self._new.clear()
        return aside

    def save(self) -> None:
        """Appends what is new to the file.

        A place that cannot be written is not an error: a warning says so, and the next process measures
        again.
        """
        if not self._new:
            return
        try:
            with _locked(self.path):
                self._append()
        except OSError as error:
            warnings.warn(f"the tuning database {self.path} cannot be written: {error}", stacklevel=2)

    def _append(self) -> None:
        """Writes new entries, and environments that the file lacks; the lock is held."""
        with open(self.path, "a+b") as file:
            if file.tell() == 0:
                self._stored.clear()
            else:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # another process was killed while it wrote
                    file.write(b"\n")
            used = {identity for identity, _ in self._new}
            records = [self._environments[identity] for identity in sorted(used - self._stored)]
            file.write(_lines([*records, *self._new.values()]))
        self._stored |= used
        self._new.clear()

    def _repair(self) -> None:
        """Moves the lines that cannot be read out of the file."""
        try:
            with _locked(self.path):
                contents = read_contents(self.path)
                if not contents.damaged:
                    return  # another process was writing
                self._take(contents)
                aside = self._replace(contents.damaged)
            problem = f"had lines that cannot be read; they were moved to {aside}"
        except OSError as error:
            problem = f"has lines that cannot be read, and cannot be repaired: {error}"
        warnings.warn(f"the tuning database {self.path} {problem}", stacklevel=3)


def _lines(records: Iterable[Record]) -> bytes:
    return "".join(f"{json.dumps(record)}\n" for record in records).encode()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds the lock of a database file; other processes wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(f"{path.name}.lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _keep_aside(path: Path, lines: list[bytes]) -> Path:
    """Appends damaged lines to a file beside the database."""
    aside = path.with_name(f"{path.name}.damaged")
    with open(aside, "ab") as file:
        file.writelines(line + b"\n" for line in lines)
    return aside


def _replace(path: Path, content: bytes) -> None:
    """The file has the old content or the new one at any time, never a part."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.partial-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
