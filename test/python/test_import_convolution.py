"""Convolution, pooling, padding and resizing: the import, interpreted, against eager."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from import_check import DYNAMIC, INF, NAN, check, randn

IMAGE = randn(2, 3, 5, 6)
KERNEL, BIAS = randn(4, 3, 3, 3, seed=1), randn(4, seed=2)
NEGATIVE = -randn(1, 2, 6, 7).abs() - 1
SPECIAL = torch.tensor([[1, 1, NAN, 3], [NAN, 1, 2, 2], [-INF, -INF, 5, 5], [-INF, -INF, 5, NAN]])[None]
SMALL = randn(1, 2, 3, 5)
CASES = {
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b), IMAGE, KERNEL, BIAS),
    "stride, padding": (
        lambda x, w, b: F.conv2d(x, w, b, stride=(2, 1), padding=(1, 2)),
        IMAGE,
        KERNEL,
        BIAS,
    ),
    "dilation": (lambda x, w: F.conv2d(x, w, padding=(0, 2), dilation=(2, 1)), IMAGE, KERNEL),
    "same": (lambda x, w: F.conv2d(x, w, padding="same", dilation=2), IMAGE, KERNEL[..., :2]),
    "no batch": (lambda x, w, b: F.conv2d(x[0], w, b), IMAGE, KERNEL, BIAS),
    "groups": (lambda x, w, b: F.conv2d(x, w, b, groups=2), randn(2, 4, 4, 5), randn(8, 2, 3, 3), randn(8)),
    "depthwise": (lambda x, w: F.conv2d(x, w, groups=3, padding=1), IMAGE, randn(6, 1, 3, 3)),
    "pointwise": (lambda x, w: F.conv2d(x, w), IMAGE, randn(5, 3, 1, 1)),
    "all axes of one": (lambda x, w: F.conv2d(x, w), randn(1, 1, 2, 2), randn(1, 1, 1, 1)),
    "conv1d": (lambda x, w: F.conv1d(x, w, padding=2), randn(2, 3, 9), randn(4, 3, 5)),
    "conv3d": (lambda x, w: F.conv3d(x, w, stride=2, padding=1), randn(1, 2, 4, 4, 5), randn(3, 2, 3, 2, 3)),
    "empty batch": (lambda x, w: F.conv2d(x, w), torch.empty(0, 3, 5, 5), KERNEL),
    "transposed": (
        lambda x, w, b: F.conv_transpose2d(x, w, b, 2, 1, output_padding=1, groups=2, dilation=2),
        randn(1, 6, 3, 4),
        randn(6, 2, 3, 3),
        BIAS,
    ),
    "transposed, cropped": (
        lambda x, w: F.conv_transpose2d(x, w, padding=2),
        randn(1, 6, 4, 4),
        randn(6, 2, 3, 3),
    ),
    "transposed 1-D": (
        lambda x, w: F.conv_transpose1d(x, w, stride=3, groups=4),
        randn(2, 4, 5),
        randn(4, 2, 4),
    ),
    "max pool": (lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True), NEGATIVE),
    "max pool dilated": (lambda x: F.max_pool2d(x, 2, 1, 1, dilation=2), NEGATIVE),
    "max pool of integers": (lambda x: F.max_pool2d(x, 3, 1, 1), torch.arange(-16, 0).reshape(1, 1, 4, 4)),
    "max pool 1-D": (lambda x: F.max_pool1d(x[0], 3, 2, 1), NEGATIVE),
    "max pool 3-D": (lambda x: F.max_pool3d(x[None], 2, return_indices=True), NEGATIVE),
    "max pool NaN": (lambda x: F.max_pool2d(x, 2, return_indices=True), SPECIAL),
    "max pool NaN, overlapping": (lambda x: F.max_pool2d(x, 3, 1, 1, return_indices=True), SPECIAL),
    "adaptive max": (lambda x: F.adaptive_max_pool2d(x, (2, 3), return_indices=True), NEGATIVE),
    "adaptive max NaN": (lambda x: F.adaptive_max_pool2d(x, 3, return_indices=True), SPECIAL),
    "average pool": (
        lambda x: (F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)),
        NEGATIVE,
    ),
    "average pool, ceil": (
        lambda x: (F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool2d(x, 2, divisor_override=3)),
        NEGATIVE,
    ),
    "average pool 1-D, 3-D": (
        lambda x: (F.avg_pool1d(x[0], 3, 2, 1, ceil_mode=True, count_include_pad=False), F.avg_pool3d(x, 2)),
        NEGATIVE,
    ),
    "adaptive average": (
        lambda x: (
            F.adaptive_avg_pool2d(x, (3, 4)),
            F.adaptive_avg_pool2d(x, (None, 9)),
            F.adaptive_avg_pool2d(x, 1),
        ),
        NEGATIVE,
    ),
    "adaptive average 1-D, 3-D": (
        lambda x: (F.adaptive_avg_pool1d(x[0], 5), F.adaptive_avg_pool3d(x[None], (1, 3, 4))),
        NEGATIVE,
    ),
    "half pools": (
        lambda x: (F.avg_pool2d(x, 3, 2, 1), F.adaptive_avg_pool2d(x, (3, 4))),
        NEGATIVE.bfloat16(),
    ),
    "constant pads": (
        lambda x: (F.pad(x, (-1, 2, 1, -1)), F.pad(x, (1, 1), value=-INF), F.pad(x, (-1, -1))),
        SMALL,
    ),
    "integer and bool pads": (lambda x: (F.pad(x, (1, 0), value=7), F.pad(x > 3, (0, 2))), torch.arange(6)),
    "circular pads": (
        lambda x: (F.pad(x, (2, 0, 0, 1), mode="circular"), F.pad(x, (-1, 2, 1, -1), mode="circular")),
        SMALL,
    ),
    "reflect pads": (
        lambda x: (F.pad(x, (2, 1, 1, 0), mode="reflect"), F.pad(x[0], (-1, 2), mode="reflect")),
        SMALL,
    ),
    "replicate pads": (
        lambda x: (F.pad(x, (2, 1, 1, 3), mode="replicate"), F.pad(x[0], (1, -2), mode="replicate")),
        SMALL,
    ),
    "bilinear": (
        lambda x: (
            F.interpolate(x, scale_factor=1.5, mode="bilinear"),
            F.interpolate(x, size=(7, 4), mode="bilinear", align_corners=True),
            F.interpolate(x, size=(1, 1), mode="bilinear", align_corners=True),
        ),
        SMALL,
    ),
    "bicubic": (
        lambda x: (
            F.interpolate(x, scale_factor=2.3, mode="bicubic"),
            F.interpolate(x, size=(4, 9), mode="bicubic", align_corners=True),
        ),
        SMALL,
    ),
    "linear, trilinear, area": (
        lambda x: (
            F.interpolate(x[0], scale_factor=0.7, mode="linear"),
            F.interpolate(x[None], size=(3, 4, 3), mode="trilinear"),
            F.interpolate(x, size=(2, 2), mode="area"),
        ),
        SMALL,
    ),
    "channels last": (lambda x: F.interpolate(x.permute(0, 3, 1, 2), scale_factor=1.5), SMALL),
}
NEAREST = [
    {"scale_factor": 1.5},
    {"scale_factor": 2},
    {"scale_factor": 3},
    {"scale_factor": 4},
    {"scale_factor": 0.7},
    {"scale_factor": (2, 1.2)},
    {"size": (5, 2)},
    {"size": (7, 4)},
]


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_eager(name: str) -> None:
    function, *arguments = CASES[name]
    check(function, *arguments)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("options", NEAREST, ids=str)
def test_nearest_picks_eagers_pixels(options: dict, mode: str) -> None:
    check(lambda x: F.interpolate(x, mode=mode, **options), SMALL, exact=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int64])
def test_convolution_dtypes(dtype: torch.dtype) -> None:
    x, w = (randn(1, 3, 5, 5) * 4).to(dtype), (randn(2, 3, 3, 3) * 4).to(dtype)
    check(lambda x, w: F.conv2d(x, w, padding=1), x, w)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_resize_dtypes(dtype: torch.dtype) -> None:
    check(
        lambda x: (F.interpolate(x, scale_factor=1.5, mode="bilinear"), F.interpolate(x, scale_factor=1.5)),
        SMALL.to(dtype),
    )


def test_dynamic_images() -> None:
    check(
        lambda x, w: (
            F.conv2d(x, w, stride=2, padding=1),
            F.max_pool2d(x, 3, 2, 1),
            F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
            F.adaptive_avg_pool2d(x, 1),
            F.avg_pool2d(x, 2),
        ),
        randn(2, 3, 6, 7),
        KERNEL[:2],
        dynamic=({0: DYNAMIC, 2: DYNAMIC, 3: DYNAMIC}, None),
        more=[(randn(4, 3, 5, 4), KERNEL[:2]), (randn(3, 3, 4, 4), KERNEL[:2])],
    )


def test_dynamic_adaptive_pools_and_pads() -> None:
    check(
        lambda x: (
            F.adaptive_avg_pool2d(x, (3, 4)),
            F.adaptive_max_pool2d(x, 2),
            F.pad(x, (1, 2, 0, 1)),
            F.pad(x[0], (2, 1), mode="reflect"),
            F.pad(x[0], (1, 2), mode="circular"),
        ),
        randn(1, 2, 8, 8),
        dynamic=({2: DYNAMIC, 3: DYNAMIC},),
        more=[(randn(1, 2, 9, 5),)],
    )


def test_dynamic_resizes() -> None:
    check(
        lambda x: (
            F.interpolate(x, scale_factor=2, mode="bilinear"),
            F.interpolate(x, size=(5, 4), mode="bilinear"),
            F.interpolate(x, scale_factor=2),
            F.interpolate(x, size=(5, 4)),
        ),
        randn(1, 1, 3, 5),
        dynamic=({2: DYNAMIC, 3: DYNAMIC},),
        more=[(randn(1, 1, 7, 3),)],
    )
