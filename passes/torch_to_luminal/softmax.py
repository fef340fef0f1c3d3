"""Softmax and its logarithm, stable: exp(x - max) / sum."""

from __future__ import annotations

import math

from . import composite
from .builder import Builder, Tensor
from .dtypes import from_scalar_type, is_float, opmath
from .reductions import keep_axes
from .registry import converter
from .shapes import normalize_axis


def softmax(b: Builder, x: Tensor, axis: int) -> Tensor:
    """div(e, sum_reduce(e)) with e = exp(sub(x, max_reduce(x))); x is f32 or f64."""
    if x.rank == 0:
        return composite.exp(b, composite.sub(b, x, x))
    largest = keep_axes(b, b.max_reduce(x, [axis]), [axis], x.rank)
    exponentials = composite.exp(b, composite.sub(b, x, largest))
    total = keep_axes(b, b.sum_reduce(exponentials, [axis]), [axis], x.rank)
    return composite.div(b, exponentials, total)


def log_softmax(b: Builder, x: Tensor, axis: int) -> Tensor:
    """sub(s, log(sum_reduce(exp(s)))) with s = sub(x, max_reduce(x))."""
    if x.rank == 0:
        return composite.sub(b, x, x)
    shifted = composite.sub(b, x, keep_axes(b, b.max_reduce(x, [axis]), [axis], x.rank))
    total = b.sum_reduce(composite.exp(b, shifted), [axis])
    return composite.sub(b, shifted, keep_axes(b, composite.log(b, total), [axis], x.rank))


@converter("torch.aten._softmax")
def convert_softmax(b: Builder, x: Tensor, axis: int, _half_to_float: bool) -> Tensor:
    target = b.results[0].dtype or x.dtype
    return b.cast(softmax(b, b.cast(x, opmath(target)), normalize_axis(axis, x.rank)), target)


@converter("torch.aten.softmax.int")
def convert_softmax_int(b: Builder, x: Tensor, axis: int, dtype: int | None) -> Tensor:
    return convert_softmax(b, b.cast(x, _result(x, dtype)), axis, False)


@converter("torch.aten._safe_softmax")
def convert_safe_softmax(b: Builder, x: Tensor, axis: int, dtype: int | None) -> Tensor:
    """Rows that are entirely -inf give zeros instead of NaN."""
    target = _result(x, dtype)
    wide = b.cast(x, opmath(target))
    return b.cast(masked_softmax(b, wide, normalize_axis(axis, x.rank)), target)


def masked_softmax(b: Builder, x: Tensor, axis: int) -> Tensor:
    """softmax with zeros in rows that are entirely -inf."""
    result = softmax(b, x, axis)
    if x.rank == 0:
        return composite.select(b, composite.eq(b, x, -math.inf), 0, result)
    empty = composite.eq(b, b.max_reduce(x, [axis]), -math.inf)
    return composite.select(b, keep_axes(b, empty, [axis], x.rank), 0, result)


@converter("torch.aten._log_softmax")
def convert_log_softmax(b: Builder, x: Tensor, axis: int, _half_to_float: bool) -> Tensor:
    target = b.results[0].dtype or x.dtype
    return b.cast(log_softmax(b, b.cast(x, opmath(target)), normalize_axis(axis, x.rank)), target)


@converter("torch.aten.log_softmax.int")
def convert_log_softmax_int(b: Builder, x: Tensor, axis: int, dtype: int | None) -> Tensor:
    return convert_log_softmax(b, b.cast(x, _result(x, dtype)), axis, False)


def _result(x: Tensor, dtype: int | None) -> str:
    if dtype is not None:
        return from_scalar_type(dtype)
    return x.dtype if is_float(x.dtype) else "f32"
