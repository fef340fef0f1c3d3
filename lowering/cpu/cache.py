"""Object code kept between compiles: in the process, and in files shared by processes.

A file is a header (magic, SHA-256 of the rest) and the object code. It appears whole by an atomic rename; one
that does not match its header counts as absent and is overwritten. Files that were not used for longest are
removed once all of them exceed `$LUMINAL_CACHE_BYTES` (512 MiB unless set).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from ...errors import RuntimeFailure

_MAGIC = b"luminal-object-1\n"
_memory: dict[str, bytes] = {}

LARGEST = 512 << 20
"""Bytes of files kept unless `LUMINAL_CACHE_BYTES` says otherwise."""

_WRITES_PER_PRUNE = 100


def cache_directory() -> Path:
    """`$LUMINAL_CACHE_DIR`, else `luminal` in `$XDG_CACHE_HOME`, else `~/.cache/luminal`."""
    named = os.environ.get("LUMINAL_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "luminal"


def key_of(*parts: str) -> str:
    """A hexadecimal key of 40 digits for `parts`, in order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:".encode())
        digest.update(part.encode())
    return digest.hexdigest()[:40]


def cache_bytes() -> int:
    """`$LUMINAL_CACHE_BYTES`, else LARGEST. Raises RuntimeFailure if it is no number of bytes."""
    text = os.environ.get("LUMINAL_CACHE_BYTES")
    if not text:
        return LARGEST
    if not text.isdecimal():
        raise RuntimeFailure(f"LUMINAL_CACHE_BYTES must be a number of bytes, not {text!r}")
    return int(text)


def prune(directory: Path, limit: int) -> int:
    """Remove the files used longest ago until the rest take at most `limit` bytes; returns how many.

    Files that other processes remove or hold meanwhile are no error.
    """
    found = []
    for path in (directory / "objects").glob("*/*"):
        with suppress(OSError):
            status = path.stat()
            found.append((status.st_mtime_ns, status.st_size, path))
    total, removed = sum(size for _, size, _ in found), 0
    for _, size, path in sorted(found):
        if total <= limit:
            break
        with suppress(OSError):
            path.unlink()
            removed += 1
        total -= size
    return removed


class ObjectCache:
    """Object files by key. `directory` None keeps them in this process only."""

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory
        self.limit = cache_bytes()
        self._writes = 0

    def path(self, key: str) -> Path | None:
        """Where the file of `key` is or would be."""
        return None if self.directory is None else self.directory / "objects" / key[:2] / f"{key}.o"

    def get(self, key: str) -> tuple[bytes | None, str]:
        """The object code of `key` and where it was: "memory", "disk", or None and "absent"."""
        if key in _memory:
            return _memory[key], "memory"
        path = self.path(key)
        image = None if path is None else _read(path)
        if image is None:
            return None, "absent"
        assert path is not None
        with suppress(OSError):
            os.utime(path)  # used now
        _memory[key] = image
        return image, "disk"

    def put(self, key: str, image: bytes) -> None:
        """Keeps `image`; a directory that cannot be written is not an error (the next process compiles
        again).
        """
        _memory[key] = image
        path = self.path(key)
        if path is None or self.directory is None:
            return
        with suppress(OSError):
            _write(path, image)
        if self._writes % _WRITES_PER_PRUNE == 0:
            prune(self.directory, self.limit)
        self._writes += 1


def clear_memory() -> None:
    """Forgets what this process keeps; files stay."""
    _memory.clear()


def _read(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    header = len(_MAGIC) + 32
    image = content[header:]
    if content[: len(_MAGIC)] != _MAGIC or hashlib.sha256(image).digest() != content[len(_MAGIC) : header]:
        return None
    return image


def _write(path: Path, image: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".partial-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(image).digest() + image)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
