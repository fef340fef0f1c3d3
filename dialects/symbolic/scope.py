"""The symbols of the function being worked on.

Types and maps name symbols by position only; their ranges stand once, on the function. Inside
`with symbols_in_scope(symbols)` everything that reads or writes a type or a map uses those symbols, so that
the
same logical dimension is the same object everywhere. The scope belongs to the thread (or task) that opened
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from .expr import Sym

_SYMBOLS: ContextVar[tuple[Sym, ...]] = ContextVar("luminal_symbols", default=())


@contextmanager
def symbols_in_scope(symbols: Sequence[Sym]) -> Iterator[tuple[Sym, ...]]:
    """Make `symbols` (position k is `s<k>`) the current ones."""
    for position, symbol in enumerate(symbols):
        if symbol.index != position:
            raise ValueError(f"symbol {symbol} stands at position {position} of the symbol list")
    token = _SYMBOLS.set(tuple(symbols))
    try:
        yield _SYMBOLS.get()
    finally:
        _SYMBOLS.reset(token)


def current_symbols(count: int = 0) -> tuple[Sym, ...]:
    """The symbols in scope, filled up with symbols of unknown size (at least 0) to `count`."""
    known = _SYMBOLS.get()
    return known + tuple(Sym(index) for index in range(len(known), count))
