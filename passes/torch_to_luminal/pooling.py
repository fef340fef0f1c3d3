"""Max and average pooling, plain and adaptive, in one to three dimensions.

A pool is a reduction over the window axes of an unfolded view. Max pools read -inf (the least integer) in the
padding. Adaptive windows differ in length; they are unfolded to the longest one and masked.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.symbolic import Expr
from . import composite, dtypes
from .axes import ravel
from .builder import Builder, Tensor
from .extremes import is_extreme, lowest
from .registry import Unsupported, converter
from .shapes import expr
from .windows import Window, per_axis, regular_window, unfold


def adaptive_window(length: Expr, outputs: Expr) -> Window:
    """Window o covers floor(o * length / outputs) up to ceil((o + 1) * length / outputs)."""
    if outputs is expr(0):
        return Window(outputs, expr(1), lambda o: o, 1, expr(0), expr(0))
    if length % outputs is expr(0):
        size = length // outputs
        return Window(outputs, size, lambda o: o * size, 1, expr(0), expr(0))

    def start(o: Expr) -> Expr:
        return (o * length) // outputs

    def end(o: Expr) -> Expr:
        return ((o + 1) * length + outputs - 1) // outputs

    if length.is_const and outputs.is_const:
        size = expr(max((end(expr(o)) - start(expr(o))).value for o in range(outputs.value)))
    else:
        size = length // outputs + 2
    return Window(outputs, size, start, 1, expr(0), size - 1, end)


def _unfolded(b: Builder, x: Tensor, windows: Sequence[Window], fill: float | int | bool) -> Tensor:
    """The windows of `x`, with `fill` in padding and past the end of ragged windows."""
    values = unfold(b, x, windows, fill)
    inside = _inside(b, values, windows, ragged_only=True)
    return values if inside is None else composite.select(b, inside, values, fill)


def _inside(
    b: Builder, values: Tensor, windows: Sequence[Window], ragged_only: bool, lengths: Sequence[Expr] = ()
) -> Tensor | None:
    """Which elements (i1) of the unfolded `values` belong to their window (and, with `lengths`, to the
    input).
    """
    count = len(windows)
    tests: list[Tensor] = []
    for axis, w in enumerate(windows):
        o, k = values.rank - 2 * count + axis, values.rank - count + axis
        if w.end is not None:
            past = b.iota(values.shape, lambda *c, w=w, o=o, k=k: w.position(c[o], c[k]) - w.end(c[o]))
            tests.append(b.less_than(past, 0))
        elif w.padded and not ragged_only:
            place = b.iota(values.shape, lambda *c, w=w, o=o, k=k: w.position(c[o], c[k]))
            tests.append(b.less_than(-1, place))
            tests.append(b.less_than(place, b.scalar(lengths[axis], "i64")))
    if not tests:
        return None
    inside = tests[0]
    for test in tests[1:]:
        inside = b.mul(inside, test)
    return inside


def _window_axes(values: Tensor, count: int) -> list[int]:
    return list(range(values.rank - count, values.rank))


def max_pool(b: Builder, x: Tensor, windows: Sequence[Window]) -> Tensor:
    """The largest element of each window; NaN wins."""
    values = _unfolded(b, x, windows, lowest(x.dtype))
    return b.max_reduce(values, _window_axes(values, len(windows)))


def max_pool_positions(b: Builder, x: Tensor, windows: Sequence[Window], largest: Tensor) -> Tensor:
    """i64: where `largest` stands, as a row-major number in the spatial axes. Eager keeps the first of equal
    elements and the last NaN; window order is the order of the numbers, so it is the least, or greatest, one
    that fits."""
    count = len(windows)
    lengths = x.shape[x.rank - count :]
    values = unfold(b, x, windows, lowest(x.dtype))
    axes = _window_axes(values, count)
    kept = values.rank - count
    every = b.view(largest, values.shape, lambda *c: c[:kept])
    found = is_extreme(b, values, every, largest=True)
    inside = _inside(b, values, windows, ragged_only=False, lengths=lengths)
    if inside is not None:
        found = b.mul(found, inside)

    def number(*c: Expr) -> Expr:
        outputs, inner = c[kept - count : kept], c[kept:]
        return ravel([w.position(o, k) for w, o, k in zip(windows, outputs, inner, strict=True)], lengths)

    forward = b.iota(values.shape, number)
    key = composite.neg(b, forward)
    if dtypes.is_float(x.dtype):
        key = composite.select(b, composite.isnan(b, every), forward, key)
    best = b.max_reduce(composite.select(b, found, key, lowest("i64")), axes)
    return composite.absolute(b, best)


def _max_windows(
    x: Tensor,
    count: int,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> list[Window]:
    sizes = per_axis(kernel, count)
    strides = per_axis(stride, count) if not isinstance(stride, Sequence) or len(stride) else sizes
    rest = zip(sizes, strides, per_axis(padding, count), per_axis(dilation, count), strict=True)
    return [
        regular_window(length, expr(size), step, (pad, pad), spacing, ceil_mode)
        for length, (size, step, pad, spacing) in zip(x.shape[x.rank - count :], rest, strict=True)
    ]


def _register_max_pool(count: int) -> None:
    @converter(f"torch.aten.max_pool{count}d")
    def convert_max_pool(
        b: Builder,
        x: Tensor,
        kernel: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> Tensor:
        return max_pool(b, x, _max_windows(x, count, kernel, stride, padding, dilation, ceil_mode))

    @converter(f"torch.aten.max_pool{count}d_with_indices")
    def convert_max_pool_with_indices(
        b: Builder,
        x: Tensor,
        kernel: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        windows = _max_windows(x, count, kernel, stride, padding, dilation, ceil_mode)
        largest = max_pool(b, x, windows)
        return largest, max_pool_positions(b, x, windows, largest)

    @converter(f"torch.aten.adaptive_max_pool{count}d")
    def convert_adaptive_max_pool(
        b: Builder, x: Tensor, sizes: Sequence[int | Expr]
    ) -> tuple[Tensor, Tensor]:
        windows = _adaptive_windows(x, sizes, count)
        largest = max_pool(b, x, windows)
        return largest, max_pool_positions(b, x, windows, largest)


def _adaptive_windows(x: Tensor, sizes: Sequence[int | Expr], count: int) -> list[Window]:
    listed = [expr(size) for size in (sizes if isinstance(sizes, Sequence) else [sizes])]
    return [adaptive_window(n, size) for n, size in zip(x.shape[x.rank - count :], listed, strict=True)]


def _window_sum(b: Builder, x: Tensor, windows: Sequence[Window]) -> Tensor:
    """Sums in the opmath dtype."""
    if not dtypes.is_float(x.dtype):
        raise Unsupported(f"average pooling of {x.dtype}")
    values = b.cast(_unfolded(b, x, windows, 0), dtypes.opmath(x.dtype))
    return b.sum_reduce(values, _window_axes(values, len(windows)))


def _divide_by_lengths(b: Builder, total: Tensor, lengths: Sequence[Tensor | Expr]) -> Tensor:
    """total / the product of the windows' lengths, each the same everywhere (an Expr) or one per output
    (i64).
    """
    constant, product = expr(1), None
    for axis, length in enumerate(lengths):
        if isinstance(length, Expr):
            constant = constant * length
            continue
        place = total.rank - len(lengths) + axis
        along = b.view(length, total.shape, lambda *c, place=place: [c[place]])
        product = along if product is None else b.mul(product, along)
    if product is None:
        return composite.div(b, total, b.scalar(constant, total.dtype))
    if constant is not expr(1):
        product = b.mul(product, b.scalar(constant, "i64"))
    return composite.div(b, total, b.cast(product, total.dtype))


def _clipped_length(
    b: Builder, w: Window, length: Expr, padding: int, ceil_mode: bool, count_include_pad: bool
) -> Tensor | Expr:
    """How many positions of each window count: all within the input and, if asked, the symmetric padding."""
    if not ceil_mode and (count_include_pad or not w.padded):
        return w.size
    start = b.iota([w.outputs], lambda o: w.start(o))
    end = composite.minimum(
        b, b.iota([w.outputs], lambda o: w.start(o) + w.size), b.scalar(length + padding, "i64")
    )
    if not count_include_pad:
        start = composite.maximum(b, start, b.scalar(0, "i64"))
        end = composite.minimum(b, end, b.scalar(length, "i64"))
    return composite.sub(b, end, start)


def avg_pool(
    b: Builder,
    x: Tensor,
    count: int,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    """Mean of each window, over `divisor` elements if given."""
    windows = _max_windows(x, count, kernel, stride, padding, (1,), ceil_mode)
    total = _window_sum(b, x, windows)
    if divisor is not None:
        return b.cast(composite.div(b, total, divisor), x.dtype)
    lengths = [
        _clipped_length(b, w, length, pad, ceil_mode, count_include_pad)
        for w, length, pad in zip(windows, x.shape[x.rank - count :], per_axis(padding, count), strict=True)
    ]
    return b.cast(_divide_by_lengths(b, total, lengths), x.dtype)


def _register_avg_pool(count: int) -> None:
    @converter(f"torch.aten.avg_pool{count}d")
    def convert_avg_pool(
        b: Builder,
        x: Tensor,
        kernel: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor: int | None = None,
    ) -> Tensor:
        return avg_pool(b, x, count, kernel, stride, padding, ceil_mode, count_include_pad, divisor)

    @converter(f"torch.aten.adaptive_avg_pool{count}d", f"torch.aten._adaptive_avg_pool{count}d")
    def convert_adaptive_avg_pool(b: Builder, x: Tensor, sizes: Sequence[int | Expr]) -> Tensor:
        windows = _adaptive_windows(x, sizes, count)
        total = _window_sum(b, x, windows)
        lengths = [
            w.size if w.end is None else b.iota([w.outputs], lambda o, w=w: w.end(o) - w.start(o))
            for w in windows
        ]
        return b.cast(_divide_by_lengths(b, total, lengths), x.dtype)


for _count in (1, 2, 3):
    _register_max_pool(_count)
    _register_avg_pool(_count)
