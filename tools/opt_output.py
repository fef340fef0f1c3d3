"""Output that is either complete or absent: a file is written beside its place and then renamed."""

import os
import sys
import tempfile

from .opt_arguments import UsageError


def write_atomically(path: str, text: str) -> None:
    """Write `text` to `path` (`-` is stdout). Raises UsageError when the place cannot be written."""
    if text and not text.endswith("\n"):
        text += "\n"
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    if os.path.exists(path) and not os.path.isfile(path):  # /dev/null, a pipe: nothing to rename over
        _write_in_place(path, text)
        return
    try:
        handle, temporary = tempfile.mkstemp(
            dir=os.path.dirname(os.path.abspath(path)), prefix=".luminal-opt-"
        )
    except OSError as error:
        raise UsageError(f"cannot write output file '{path}': {error.strerror}") from None
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        os.unlink(temporary)
        raise UsageError(f"cannot write output file '{path}': {error.strerror}") from None


def _write_in_place(path: str, text: str) -> None:
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"cannot write output file '{path}': {error.strerror}") from None
