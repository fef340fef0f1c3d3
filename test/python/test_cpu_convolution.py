"""Contractions whose rows are the windows of an image: numbers against float64, in every variant."""

from __future__ import annotations

import numpy as np
import pytest
from contractions import S0, check
from cpu_kernels import Contraction

from luminal.dialects import kernel
from luminal.dialects.symbol_list import SymbolInfo
from luminal.dialects.symbolic import Expr, IndexMap


def convolution(
    batch: Expr | int,
    channels: int,
    size: tuple[int, int],
    outputs: int,
    window: tuple[int, int],
    stride: int = 1,
    dilation: int = 1,
    **options,
) -> Contraction:
    """(batch, channels, padded image) with (outputs, channels, window) to (batch, outputs, *size)."""
    height, width = ((n - 1) * stride + (w - 1) * dilation + 1 for n, w in zip(size, window, strict=True))
    return Contraction(
        (), (batch, *size), (outputs,), (channels, *window),
        lambda b, y, x, o, c, u, v: (b, c, y * stride + u * dilation, x * stride + v * dilation),
        lambda b, y, x, o, c, u, v: (o, c, u, v),
        lambda b, y, x, o, c, u, v: (b, o, y, x),
        [(batch, channels, height, width), (outputs, channels, *window)], **options,
    )  # fmt: skip


CASES = {
    "3x3": ((5, 9), 20, (3, 3), 1, 1),
    "strided": ((4, 7), 17, (3, 3), 2, 1),
    "dilated": ((6, 5), 8, (3, 2), 1, 3),
    "large window": ((3, 5), 9, (7, 7), 2, 1),
    "5x5": ((7, 7), 33, (5, 5), 1, 1),
    "1x1": ((5, 5), 40, (1, 1), 1, 1),
    "1x1 strided": ((5, 5), 6, (1, 1), 2, 1),
    "one pixel": ((1, 1), 6, (3, 3), 1, 1),
    "one row": ((1, 11), 6, (1, 4), 1, 1),
}


@pytest.mark.parametrize("packed", [None, 16])
@pytest.mark.parametrize("name", CASES)
def test_windows(name: str, packed: int | None) -> None:
    size, outputs, window, stride, dilation = CASES[name]
    for batch, channels in ((1, 3), (2, 40)):
        check(
            convolution(batch, channels, size, outputs, window, stride, dilation, packed=packed), threads=(2,)
        )


@pytest.mark.parametrize("packed", [None, 32])
def test_any_number_of_images(packed: int | None) -> None:
    symbol = SymbolInfo(0, 0, 64)
    case = convolution(symbol.sym, 5, (7, 7), 18, (3, 3), packed=packed, symbols=[symbol])
    for images in (0, 1, 3):
        check(case, (images,), threads=(1, 3))


def test_deep_images_are_summed_in_blocks() -> None:
    check(convolution(1, 150, (4, 4), 18, (3, 3), packed=32), threads=(2,))
    check(convolution(1, 600, (4, 4), 18, (1, 1), packed=32), threads=(2,))


def test_images_of_any_size() -> None:
    """The pixels' distances in memory are known at the call only."""
    size = S0.sym
    case = Contraction(
        (), (size, size), (19,), (6, 3, 3),
        lambda y, x, o, c, u, v: (c, y + u, x + v),
        lambda y, x, o, c, u, v: (o, c, u, v),
        lambda y, x, o, c, u, v: (o, y, x),
        [(6, size + 2, size + 2), (19, 6, 3, 3)], symbols=[S0], packed=32,
    )  # fmt: skip
    for side in (1, 4, 9):
        check(case, (side,), threads=(2,))


@pytest.mark.parametrize("size", [(5, 9), (3, 3)])
def test_scale_residual_and_relu_along_pixels(size: tuple[int, int]) -> None:
    outputs = 20
    extents = (2, outputs, *size)

    def body(tensors, indices, acc):
        b, y, x, o = indices
        scale = kernel.load(tensors[2], [o], IndexMap.identity((outputs,)))
        residual = kernel.load(tensors[3], [b, o, y, x], IndexMap.identity(extents))
        column = kernel.load(tensors[4], [x], IndexMap.identity((size[1],)))
        value = kernel.scalar("add", kernel.scalar("mul", acc, scale), residual)
        return kernel.scalar("maximum", kernel.scalar("mul", value, column), kernel.constant(0.0, "f32"))

    def after(extras, sums, grid):
        b, y, x, o = grid
        return np.maximum((sums * extras[0][o] + extras[1][b, o, y, x]) * extras[2][x], 0)

    case = convolution(2, 7, size, outputs, (3, 3), packed=32, body=body, after=after)
    case.shapes = [*case.shapes, (outputs,), extents, (size[1],)]
    check(case, threads=(1, 2))


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16", "i32"])
def test_dtypes(dtype: str) -> None:
    check(convolution(2, 5, (5, 6), 18, (3, 3), packed=16, dtype=dtype), threads=(2,))


def test_groups_are_batches() -> None:
    """Depthwise: one image channel and one filter each."""
    case = Contraction(
        (6,), (2, 5, 7), (1,), (3, 3),
        lambda g, b, y, x, o, u, v: (b, g, y + u, x + v),
        lambda g, b, y, x, o, u, v: (g, o, u, v),
        lambda g, b, y, x, o, u, v: (b, g, o, y, x),
        [(2, 6, 7, 9), (6, 1, 3, 3)],
    )  # fmt: skip
    check(case, threads=(1, 2))
