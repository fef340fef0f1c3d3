"""A process that compiles kernels for another one: see compile_pool.py.

It reads requests from its standard input and writes replies to its standard output, each a length and a
pickle. It ends when its input does, or when nothing was asked for a while.
"""

from __future__ import annotations

import os
import pickle
import select
from typing import Any

IDLE_SECONDS = 60.0
_LENGTH = 8


def send(descriptor: int, message: Any) -> None:
    """Writes a message. OSError if the other side is gone."""
    content = pickle.dumps(message)
    data = memoryview(len(content).to_bytes(_LENGTH, "little") + content)
    while data:
        data = data[os.write(descriptor, data) :]


def receive(descriptor: int) -> Any:
    """Reads a message. EOFError if the other side is gone."""
    return pickle.loads(_read(descriptor, int.from_bytes(_read(descriptor, _LENGTH), "little")))


def _read(descriptor: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = os.read(descriptor, size)
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def main() -> None:
    """Serves requests (text, symbol, loops as written) with object code, or the text of an error."""
    from ...errors import LoweringError
    from .codegen import compile_kernel

    replies = os.dup(1)
    os.dup2(2, 1)  # what libraries print must not get between replies
    while select.select([0], [], [], IDLE_SECONDS)[0]:
        try:
            text, symbol, loops_as_written = receive(0)
        except EOFError:
            os._exit(0)  # taking Python down in order takes a second
        try:
            reply: bytes | str = compile_kernel(text, symbol, loops_as_written)
        except LoweringError as error:
            reply = str(error)
        send(replies, reply)
