"""Row-major coordinates: from a flat number to coordinates and back, as canonical expressions."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.symbolic import ONE, ZERO, Expr, product


def strides(extents: Sequence[Expr]) -> tuple[Expr, ...]:
    """The row-major stride of each axis, in elements."""
    return tuple(product(extents[axis + 1 :]) for axis in range(len(extents)))


def linearize(coordinates: Sequence[Expr], extents: Sequence[Expr]) -> Expr:
    """The row-major number of a point."""
    total = ZERO
    for coordinate, stride in zip(coordinates, strides(extents), strict=True):
        total = total + coordinate * stride
    return total


def delinearize(flat: Expr, extents: Sequence[Expr]) -> tuple[Expr, ...]:
    """The coordinates of the point with the row-major number `flat` (which is in range)."""
    result = []
    for axis, (extent, stride) in enumerate(zip(extents, strides(extents), strict=True)):
        quotient = flat if stride is ONE else flat // stride
        unit = extent.is_const and extent.value == 1
        # An axis of extent 1, or the outermost one, needs no remainder.
        outermost = all(other.is_const and other.value == 1 for other in extents[:axis])
        result.append(ZERO if unit else quotient if outermost else quotient % extent)
    return tuple(result)


def ceil_divide(value: Expr, divisor: int) -> Expr:
    """`value / divisor`, rounded up."""
    return (value + (divisor - 1)) // divisor
