"""pad in all modes: constant, reflect, replicate and circular, with negative amounts (crops).

Constant padding writes the tensor into a filled base at an offset. The other modes write the tensor and its
border pieces into the padded base; circular padding is a view modulo the size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...dialects.symbolic import Expr
from .axes import crop, replace
from .builder import Builder, Operand, Tensor
from .registry import Unsupported, converter
from .shapes import expr

Amount = int | Expr
AxisPads = dict[int, tuple[Amount, Amount]]
Source = Callable[[Expr], Amount]
"""From a position in a border piece to the element of the tensor that stands there."""
Border = Callable[[Expr, Amount], tuple[Source, Source]]


def pad_constant(b: Builder, x: Tensor, pads: AxisPads, value: Operand) -> Tensor:
    """`x` with (before, after) elements of `value` added along each axis named in `pads`; negative amounts
    crop.
    """
    x, pads = _crop_negative(b, x, pads)
    if not pads:
        return x
    shape = [size + sum(pads.get(axis, (0, 0)), start=expr(0)) for axis, size in enumerate(x.shape)]
    base = b.full(shape, value, x.dtype)
    return b.scatter(base, x, [], lambda *c: [d + pads.get(axis, (0, 0))[0] for axis, d in enumerate(c)])


def _crop_negative(b: Builder, x: Tensor, pads: AxisPads) -> tuple[Tensor, AxisPads]:
    """Apply negative amounts; return the rest, all positive on some side."""
    left: AxisPads = {}
    for axis, amounts in pads.items():
        cut = [-amount if _negative(amount) else 0 for amount in amounts]
        if any(cut):
            x = crop(b, x, axis, cut[0], x.shape[axis] - cut[0] - cut[1])
        before, after = (0 if _negative(amount) else amount for amount in amounts)
        if before != 0 or after != 0:
            left[axis] = (before, after)
    return x, left


def _negative(amount: Amount) -> bool:
    low, high = expr(amount).bounds()
    if high is not None and high < 0:
        return True
    if low is None or low < 0:
        raise Unsupported(f"padding by {amount}, which may be negative or not, depending on a symbol")
    return False


def _axis_pads(pads: Sequence[Amount], rank: int) -> AxisPads:
    """torch's flat list, last axis first, as a table."""
    if len(pads) % 2 or len(pads) // 2 > rank:
        raise Unsupported(f"{len(pads)} pad amounts for a tensor of rank {rank}")
    return {rank - 1 - k // 2: (pads[k], pads[k + 1]) for k in range(0, len(pads), 2)}


@converter("torch.aten.constant_pad_nd")
def convert_constant_pad(b: Builder, x: Tensor, pads: Sequence[Amount], value: Operand = 0) -> Tensor:
    return pad_constant(b, x, _axis_pads(pads, x.rank), value)


@converter("torch.aten.reflection_pad1d", "torch.aten.reflection_pad2d", "torch.aten.reflection_pad3d")
def convert_reflection_pad(b: Builder, x: Tensor, pads: Sequence[Amount]) -> Tensor:
    return _pad_axes(b, x, pads, _reflect)


@converter("torch.aten.replication_pad1d", "torch.aten.replication_pad2d", "torch.aten.replication_pad3d")
def convert_replication_pad(b: Builder, x: Tensor, pads: Sequence[Amount]) -> Tensor:
    return _pad_axes(b, x, pads, _replicate)


@converter("torch.aten._pad_circular")
def convert_circular_pad(b: Builder, x: Tensor, pads: Sequence[Amount]) -> Tensor:
    x, left = _crop_negative(b, x, _axis_pads(pads, x.rank))
    shape = [size + sum(left.get(axis, (0, 0)), start=expr(0)) for axis, size in enumerate(x.shape)]

    def index(*c: Expr) -> list[Expr]:
        return [(d - left[axis][0]) % x.shape[axis] if axis in left else d for axis, d in enumerate(c)]

    return b.view(x, shape, index)


@converter("torch.aten.pad", "torch.aten._pad_enum")
def convert_pad(
    b: Builder, x: Tensor, pads: Sequence[Amount], mode: str = "constant", value: Operand | None = None
) -> Tensor:
    if mode == "constant":
        return convert_constant_pad(b, x, pads, 0 if value is None else value)
    modes = {
        "reflect": convert_reflection_pad,
        "replicate": convert_replication_pad,
        "circular": convert_circular_pad,
    }
    if mode not in modes:
        raise Unsupported(f"pad with mode '{mode}'")
    return modes[mode](b, x, pads)


def _reflect(size: Expr, before: Amount) -> tuple[Source, Source]:
    """Mirrored at the first and last element, which are not repeated."""
    return lambda i: before - i, lambda i: size - 2 - i


def _replicate(size: Expr, before: Amount) -> tuple[Source, Source]:
    """The first and last element repeated."""
    return lambda i: 0, lambda i: size - 1


def _pad_axes(b: Builder, x: Tensor, pads: Sequence[Amount], border: Border) -> Tensor:
    for axis, amounts in _axis_pads(pads, x.rank).items():
        x = _pad_border(b, x, axis, amounts, border)
    return x


def _pad_border(b: Builder, x: Tensor, axis: int, amounts: tuple[Amount, Amount], border: Border) -> Tensor:
    """Pad one axis with pieces of `x`: head before it and tail after it."""
    inner, left = _crop_negative(b, x, {axis: amounts})
    if axis not in left:
        return inner
    before, after = left[axis]
    size = inner.shape[axis]
    head, tail = border(x.shape[axis], before)
    padded = b.full(replace(x.shape, axis, size + before + after), 0, x.dtype)
    padded = b.scatter(padded, inner, [], lambda *c: replace(c, axis, c[axis] + before))
    for length, offset, source in ((before, 0, head), (after, size + before, tail)):
        if length != 0:
            shape = replace(x.shape, axis, expr(length))
            piece = b.view(x, shape, lambda *c, source=source: replace(c, axis, source(c[axis])))
            padded = b.scatter(padded, piece, [], lambda *c, at=offset: replace(c, axis, c[axis] + at))
    return padded
