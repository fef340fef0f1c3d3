"""Shape arithmetic that eager does on integers, done on symbolic expressions: axes, broadcasting, reshape,
slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...dialects import symbolic
from ...dialects.symbolic import Expr
from .registry import Unsupported

expr = symbolic.as_expr

Index = Callable[..., list[Expr]]


def normalize_axis(axis: int, rank: int) -> int:
    """A possibly negative axis as 0 <= axis < rank (a rank-0 tensor accepts 0 and -1)."""
    count = max(rank, 1)
    if not -count <= axis < count:
        raise Unsupported(f"dimension {axis} is out of range for rank {rank}")
    return axis % count


def normalize_axes(axes: Sequence[int] | int | None, rank: int) -> list[int]:
    """Sorted distinct axes; None or an empty list means all of them."""
    if rank == 0 or axes is None or (not isinstance(axes, int) and len(axes) == 0):
        return list(range(rank))
    listed = [axes] if isinstance(axes, int) else list(axes)
    return sorted({normalize_axis(axis, rank) for axis in listed})


def broadcast_shapes(shapes: Sequence[Sequence[Expr]]) -> tuple[Expr, ...]:
    """The common shape of operands under torch's broadcasting."""
    rank = max((len(shape) for shape in shapes), default=0)
    result = [symbolic.const(1)] * rank
    for shape in shapes:
        for offset, size in enumerate(reversed(shape), start=1):
            current = result[rank - offset]
            if size is current or (size.is_const and size.value == 1):
                continue
            if not (current.is_const and current.value == 1):
                raise Unsupported(
                    f"cannot broadcast sizes {current} and {size}: they are not known to be equal"
                )
            result[rank - offset] = size
    return tuple(result)


def element_count(shape: Sequence[Expr]) -> Expr:
    """Number of elements."""
    return symbolic.product(shape)


def infer_size(sizes: Sequence[Expr | int], shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """Replace the single -1 in the sizes of a reshape."""
    whole = [expr(size) for size in sizes]
    unknown = [axis for axis, size in enumerate(whole) if size.is_const and size.value == -1]
    if not unknown:
        return tuple(whole)
    known = element_count([size for axis, size in enumerate(whole) if axis != unknown[0]])
    whole[unknown[0]] = exact_quotient(element_count(shape), known)
    return tuple(whole)


def exact_quotient(total: Expr, divisor: Expr) -> Expr:
    """total / divisor, known to divide exactly."""
    if divisor.is_const and divisor.value == 0:
        raise Unsupported("cannot infer a size of a tensor without elements")
    return total // divisor


def reshape_index(source: Sequence[Expr], target: Sequence[Expr]) -> Index:
    """Coordinates in `source` of the element at target coordinates (row-major order is kept)."""
    try:
        found = symbolic.reshape_map(source, target)
    except ValueError as error:
        raise Unsupported(str(error)) from error
    return lambda *dims: list(found.apply(dims))


def slice_bounds(
    size: Expr, start: Expr | int | None, end: Expr | int | None, step: int
) -> tuple[Expr, Expr]:
    """(first coordinate, length) of a Python slice on an axis; negative and out-of-range bounds clamp like
    eager."""
    first = _clamp_bound(size, 0 if start is None else start)
    last = _clamp_bound(size, size if end is None else end)
    span = symbolic.maximum(last - first, 0)
    return first, (span + (step - 1)) // step


def _clamp_bound(size: Expr, bound: Expr | int) -> Expr:
    whole = expr(bound)
    if whole.is_const and whole.value >= 2**62:
        return size
    low, high = whole.bounds()
    if high is not None and high < 0:
        whole = whole + size
    elif low is None or low < 0:
        raise Unsupported(f"slice bound {whole} may be negative or not, depending on a symbol")
    return symbolic.minimum(symbolic.maximum(whole, 0), size)
