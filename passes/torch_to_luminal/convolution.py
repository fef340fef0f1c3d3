"""Convolution, grouped, dilated, padded or transposed, in one to three dimensions: a contraction of views.

    out[n, g, o, y] = sum over (c, k) of
        padded(x)[n, g * C + c, y * stride + k * dilation] * w[g * O + o, c, k]

The unfolded input is only a view of the padded one, so the product and sum are a matmul that reads the input
in place; axes of length one are left out of it (a 1x1 kernel is a plain matmul). A transposed convolution
writes the input into zeros `stride` apart and convolves that with the flipped kernel. Halves multiply and add
in f32 and round once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.symbolic import Expr
from . import dtypes
from .axes import drop_axis, reshape, unsqueeze
from .builder import Builder, Tensor
from .registry import Unsupported, converter
from .shapes import expr
from .windows import Window, pad_windows, padded_positions, per_axis, regular_window

ONE = expr(1)

_GROUPS = 1
"""Which axis of the product are the groups."""


@dataclass(frozen=True)
class Axes:
    """The axes of the product: which result coordinate each has (None where its length is one and it is left
    out).
    """

    sizes: tuple[Expr, ...]
    first_reduced: int

    def keep(self, axis: int) -> bool:
        """Whether an axis takes part: unit axes don't, but those of the result do (it is not reshaped then),
        and one summed axis always stays.
        """
        if axis == self.first_reduced and self._all_reduced_are_one():
            return True
        return self.sizes[axis] is not ONE or (axis != _GROUPS and axis < self.first_reduced)

    def _all_reduced_are_one(self) -> bool:
        return all(size is ONE for size in self.sizes[self.first_reduced :])

    @property
    def kept(self) -> list[int]:
        return [axis for axis in range(len(self.sizes)) if self.keep(axis)]

    @property
    def shape(self) -> list[Expr]:
        return [self.sizes[axis] for axis in self.kept]

    @property
    def reduced(self) -> list[int]:
        """Positions, among the kept axes, of those that are summed."""
        return [place for place, axis in enumerate(self.kept) if axis >= self.first_reduced]

    def whole(self, c: Sequence[Expr]) -> list[Expr]:
        """Coordinates of all axes from those of the kept ones."""
        whole = [expr(0)] * len(self.sizes)
        for axis, coordinate in zip(self.kept, c, strict=True):
            whole[axis] = coordinate
        return whole


def contract_windows(
    b: Builder, x: Tensor, weight: Tensor, windows: Sequence[Window], groups: int, transposed: bool
) -> Tensor:
    """(n, out channels, outputs...) in the opmath dtype. `weight` is (out, in / groups, k...), or for a
    transposed convolution (in, out / groups, k...), read back to front."""
    count = len(windows)
    inputs = x.shape[1] // groups
    outputs = weight.shape[1] if transposed else weight.shape[0] // groups
    axes = Axes(
        (
            x.shape[0],
            expr(groups),
            outputs,
            *(w.outputs for w in windows),
            inputs,
            *(w.size for w in windows),
        ),
        3 + count,
    )

    def input_index(*c: Expr) -> list[Expr]:
        n, g, _, *rest = axes.whole(c)
        return [n, g * inputs + rest[count], *padded_positions(windows, rest[:count], rest[count + 1 :])]

    def weight_index(*c: Expr) -> list[Expr]:
        _, g, o, *rest = axes.whole(c)
        channel, taps = rest[count], rest[count + 1 :]
        if transposed:
            return [g * inputs + channel, o, *(w.size - 1 - k for w, k in zip(windows, taps, strict=True))]
        return [g * outputs + o, channel, *taps]

    wide = dtypes.opmath(x.dtype)
    left = b.cast(b.view(x, axes.shape, input_index), wide)
    right = b.cast(b.view(weight, axes.shape, weight_index), wide)
    total = b.sum_reduce(b.mul(left, right), axes.reduced)
    return reshape(b, total, [x.shape[0], outputs * groups, *(w.outputs for w in windows)])


def _finish(b: Builder, total: Tensor, bias: Tensor | None, dtype: str, batched: bool) -> Tensor:
    if bias is not None:
        total = b.add(total, b.cast(b.view(bias, total.shape, lambda *c: [c[1]]), total.dtype))
    total = b.cast(total, dtype)
    return total if batched else drop_axis(b, total, 0)


def convolve(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    strides: Sequence[int],
    paddings: Sequence[tuple[int, int]],
    dilations: Sequence[int],
    groups: int,
) -> Tensor:
    """Cross-correlation of (n, c, spatial...) or (c, spatial...) with (out, c / groups, k...)."""
    batched = x.rank == weight.rank
    x = x if batched else unsqueeze(b, x, 0)
    windows = [
        regular_window(length, size, stride, padding, dilation)
        for length, size, stride, padding, dilation in zip(
            x.shape[2:], weight.shape[2:], strides, paddings, dilations, strict=True
        )
    ]
    padded = pad_windows(b, x, windows, 0)
    return _finish(b, contract_windows(b, padded, weight, windows, groups, False), bias, x.dtype, batched)


def convolve_transposed(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    strides: Sequence[int],
    paddings: Sequence[int],
    dilations: Sequence[int],
    groups: int,
    output_paddings: Sequence[int],
) -> Tensor:
    """The adjoint of `convolve` in its input: x (n, c, spatial...), weight (c, out / groups, k...)."""
    batched = x.rank == weight.rank
    x = x if batched else unsqueeze(b, x, 0)
    windows, base, offsets = [], [], []
    for length, size, stride, padding, dilation, extra in zip(
        x.shape[2:], weight.shape[2:], strides, paddings, dilations, output_paddings, strict=True
    ):
        reach = (size - 1) * dilation
        outputs = (length - 1) * stride - 2 * padding + reach + extra + 1
        windows.append(Window(outputs, size, lambda o: o, dilation, expr(0), expr(0)))
        base.append(outputs + reach)
        offsets.append(reach - padding)

    def index(*c: Expr) -> list[Expr]:
        places = [d * stride + at for d, stride, at in zip(c[2:], strides, offsets, strict=True)]
        return [*c[:2], *places]

    zeros = b.full([*x.shape[:2], *base], 0, x.dtype)
    dilated = b.scatter(zeros, x, [], index)
    total = contract_windows(b, dilated, weight, windows, groups, True)
    return _finish(b, total, bias, x.dtype, batched)


@converter("torch.aten.convolution", "torch.aten.convolution_overrideable")
def convert_convolution(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    count = weight.rank - 2
    strides, paddings, dilations = (per_axis(values, count) for values in (stride, padding, dilation))
    if transposed:
        extra = per_axis(output_padding, count)
        return convolve_transposed(b, x, weight, bias, strides, paddings, dilations, groups, extra)
    return convolve(b, x, weight, bias, strides, [(p, p) for p in paddings], dilations, groups)


@converter("torch.aten._convolution")
def convert_private_convolution(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    *flags: bool,
) -> Tensor:
    return convert_convolution(
        b, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )


@converter("torch.aten.conv1d", "torch.aten.conv2d", "torch.aten.conv3d")
def convert_conv(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> Tensor:
    return convert_convolution(b, x, weight, bias, stride, padding, dilation, False, (0,), groups)


@converter("torch.aten.conv1d.padding", "torch.aten.conv2d.padding", "torch.aten.conv3d.padding")
def convert_conv_named_padding(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: str = "valid",
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> Tensor:
    count = weight.rank - 2
    strides, dilations = per_axis(stride, count), per_axis(dilation, count)
    if padding not in ("valid", "same"):
        raise Unsupported(f"convolution with padding='{padding}'")
    reach = [b.static(size - 1) * d for size, d in zip(weight.shape[2:], dilations, strict=True)]
    amounts = [(r // 2, r - r // 2) if padding == "same" else (0, 0) for r in reach]
    return convolve(b, x, weight, bias, strides, amounts, dilations, groups)


@converter(
    "torch.aten.conv_transpose1d", "torch.aten.conv_transpose2d.input", "torch.aten.conv_transpose3d.input"
)
def convert_conv_transpose(
    b: Builder,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    output_padding: Sequence[int] = (0,),
    groups: int = 1,
    dilation: Sequence[int] = (1,),
) -> Tensor:
    return convert_convolution(b, x, weight, bias, stride, padding, dilation, True, output_padding, groups)
