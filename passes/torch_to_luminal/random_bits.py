"""Random bits from arithmetic alone: the counter-based generator Squares (Widynski, 2020).

Element i of a draw is squares(i, key), four rounds of squaring, adding and swapping halves of 64-bit words:

    y = i * key; z = y + key; x = y
    x = swap(x * x + y); x = swap(x * x + z); x = swap(x * x + y); word = x * x + z

The 32 highest bits of `word` are the result; callers take as many of them as they need. The key of a draw is
made of the builder's random state by the same function with two fixed keys, and is odd. Words are i64, which
wrap. There is no shift among the primitives; the highest k bits of x are

    mod(cast_i64(mul(cast_f64(sub(x, mod(x, 2^(64-k)))), 2^-(64-k))), 2^k)

which is exact: the difference is a multiple of 2^(64-k), so that f64 holds it for k <= 53.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.symbolic import Expr
from . import composite
from .axes import ravel
from .builder import Builder, Tensor

WORD = 32
"""How many bits one draw gives."""

_HALF = 1 << 32
_KEYS = (0x548C9DECBCE65297, 0xC58EFD154CE32F6D - (1 << 64))


def top_bits(b: Builder, x: Tensor, count: int) -> Tensor:
    """The highest `count` (at most 53) bits of i64 words, as integers from 0 to 2^count - 1."""
    unit = 1 << (64 - count)
    whole = b.cast(composite.sub(b, x, b.mod(x, unit)), "f64")
    return b.mod(b.cast(b.mul(whole, 1 / unit), "i64"), 1 << count)


def _swap_halves(b: Builder, x: Tensor) -> Tensor:
    return b.add(b.mul(x, _HALF), top_bits(b, x, 32))


def _squares(b: Builder, counter: Tensor, key: Tensor) -> Tensor:
    """The 64-bit word whose highest 32 bits are random."""
    y = b.mul(counter, key)
    z = b.add(y, key)
    x = y
    for term in (y, z, y):
        x = _swap_halves(b, b.add(b.mul(x, x), term))
    return b.add(b.mul(x, x), z)


class Draw:
    """Independent random words for the elements of one shape. Every instance is a new stream."""

    def __init__(self, b: Builder, shape: Sequence[Expr], words: int = 1) -> None:
        """`words`: how many words each element needs."""
        state = b.random_state()
        high, low = (top_bits(b, _squares(b, state, b.constant(key, "i64")), 32) for key in _KEYS)
        odd = b.add(composite.sub(b, low, b.mod(low, 2)), 1)
        self._key = b.add(b.mul(high, _HALF), odd)
        self._shape = tuple(shape)
        self._words = words

    def bits(self, b: Builder, count: int, word: int = 0) -> Tensor:
        """i64 from 0 to 2^count - 1 (count <= 32), uniform; `word` chooses among an element's words."""

        def position(*dims: Expr) -> Expr:
            return ravel(dims, self._shape) * self._words + word

        return top_bits(b, _squares(b, b.iota(self._shape, position), self._key), count)
