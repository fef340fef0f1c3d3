"""Object code kept between compiles: in the process, and in files shared by processes.

A file is a header (magic, SHA-256 of the rest) and the object code. It appears whole by an atomic rename; one
that does not
match its header counts as absent and is overwritten.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

_MAGIC = b"luminal-object-1\n"
_memory: dict[str, bytes] = {}


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


class ObjectCache:
    """Object files by key. `directory` None keeps them in this process only."""

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory

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
        _memory[key] = image
        return image, "disk"

    def put(self, key: str, image: bytes) -> None:
        """Keeps `image`; a directory that cannot be written is not an error (the next process compiles
        again).
        """
        _memory[key] = image
        path = self.path(key)
        if path is not None:
            try:
                _write(path, image)
            except OSError:
                return


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
