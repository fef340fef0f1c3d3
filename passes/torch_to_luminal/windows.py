"""Sliding windows for convolution and pooling: output sizes, and the view that unfolds.

Unfolding moves no data: it is a `view` from (..., output positions, window positions) into the padded input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...dialects import symbolic
from ...dialects.symbolic import Expr
from .builder import Builder, Operand, Tensor
from .padding import AxisPads, pad_constant
from .registry import Unsupported
from .shapes import expr


@dataclass(frozen=True)
class Window:
    """The windows along one axis. Window `o` covers the input positions start(o) + dilation * k, 0 <= k <
    size.

    `outputs` windows; positions from -before to input + after - 1 exist, those outside the input being
    padding. `end(o)` is given where windows differ in length: positions from there on do not belong to window
    `o`.
    """

    outputs: Expr
    size: Expr
    start: Callable[[Expr], Expr]
    dilation: int
    before: Expr
    after: Expr
    end: Callable[[Expr], Expr] | None = None

    def position(self, output: Expr, k: Expr) -> Expr:
        """Input coordinate (padding has coordinates outside the input) of element k of window `output`."""
        return self.start(output) + k * self.dilation

    @property
    def padded(self) -> bool:
        return self.before is not expr(0) or self.after is not expr(0)


def per_axis(values: Sequence[int] | int, count: int) -> list[int]:
    """One value per spatial axis: a single value holds for all."""
    listed = [values] if isinstance(values, int) else list(values)
    if len(listed) not in (1, count):
        raise Unsupported(f"{len(listed)} window parameters for {count} spatial axes")
    return listed * count if len(listed) == 1 else listed


def regular_window(
    length: Expr,
    size: Expr,
    stride: int,
    padding: tuple[int, int],
    dilation: int = 1,
    ceil_mode: bool = False,
) -> Window:
    """Windows of one size at a constant stride. With `ceil_mode` the last one may hang over the padding's
    end, but must start inside the input or the left padding."""
    before, after = padding
    slack = length + before + after - (size - 1) * dilation - 1
    if not ceil_mode:
        outputs = slack // stride + 1
    else:
        outputs = symbolic.minimum((slack + stride - 1) // stride + 1, (length + before - 1) // stride + 1)
        after += stride - 1
    most = outputs.bounds()[1]
    if most is not None and most < 0:
        raise Unsupported(f"windows of {size} elements (dilation {dilation}) do not fit {length} elements")
    return Window(outputs, size, lambda o: o * stride - before, dilation, expr(before), expr(after))


def unfold(b: Builder, x: Tensor, windows: Sequence[Window], fill: Operand) -> Tensor:
    """(leading axes..., outputs..., window sizes...) from (leading axes..., spatial axes...); padding reads
    `fill`.
    """
    lead, count = x.rank - len(windows), len(windows)
    x = pad_windows(b, x, windows, fill)
    shape = [*x.shape[:lead], *(w.outputs for w in windows), *(w.size for w in windows)]

    def index(*c: Expr) -> list[Expr]:
        outputs, inner = c[lead : lead + count], c[lead + count :]
        return [*c[:lead], *padded_positions(windows, outputs, inner)]

    return b.view(x, shape, index)


def pad_windows(b: Builder, x: Tensor, windows: Sequence[Window], fill: Operand) -> Tensor:
    """`x` with the padding of `windows` around its last axes."""
    lead = x.rank - len(windows)
    pads: AxisPads = {lead + axis: (w.before, w.after) for axis, w in enumerate(windows) if w.padded}
    return pad_constant(b, x, pads, fill)


def padded_positions(windows: Sequence[Window], outputs: Sequence[Expr], inner: Sequence[Expr]) -> list[Expr]:
    """Coordinates in the padded input of element `inner` of window `outputs`."""
    return [w.position(o, k) + w.before for w, o, k in zip(windows, outputs, inner, strict=True)]
