"""Reductions: sum, mean, variance, extrema, any/all, products, norms.

Floats accumulate in f32 or better; halves are cast to f32 before a composite reduction and rounded once at
the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ...dialects.symbolic import Expr
from . import composite
from .builder import Builder, Operand, Tensor
from .comparisons import truth
from .dtypes import from_scalar_type, is_float, opmath
from .pointwise import float_power
from .products import reduce_product
from .registry import Unsupported, converter
from .shapes import element_count, expr, normalize_axes

Axes = Sequence[int] | int | None


def keep_axes(b: Builder, x: Tensor, axes: Sequence[int], rank: int) -> Tensor:
    """Put the reduced axes back with size one."""
    reduced = set(axes)
    sizes = iter(x.shape)
    shape = [expr(1) if axis in reduced else next(sizes) for axis in range(rank)]
    return b.view(x, shape, lambda *dims: [dims[axis] for axis in range(rank) if axis not in reduced])


def reduce(
    b: Builder, compute: Callable[[Builder, Tensor, list[int]], Tensor], x: Tensor, axes: Axes, keepdim: bool
) -> Tensor:
    """compute over the normalized axes, with keepdim."""
    listed = normalize_axes(axes, x.rank)
    result = compute(b, x, listed)
    return keep_axes(b, result, listed, x.rank) if keepdim else result


def count(b: Builder, x: Tensor, axes: Sequence[int], dtype: str) -> Tensor:
    """Number of elements reduced, as a rank-0 tensor."""
    return b.scalar(element_count([x.shape[axis] for axis in axes]), dtype)


def mean_over(b: Builder, x: Tensor, axes: list[int]) -> Tensor:
    """div(sum_reduce(x), number of elements)"""
    return composite.div(b, b.sum_reduce(x, axes), count(b, x, axes, x.dtype))


def centered(b: Builder, x: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    """(x - mean, mean with kept axes)"""
    mean = keep_axes(b, mean_over(b, x, axes), axes, x.rank)
    return composite.sub(b, x, mean), mean


def variance_over(b: Builder, x: Tensor, axes: list[int], correction: float) -> Tensor:
    """sum((x - mean)^2) / max(n - correction, 0), in two passes."""
    difference, _ = centered(b, x, axes)
    total = b.sum_reduce(b.mul(difference, difference), axes)
    size = count(b, x, axes, x.dtype)
    if correction:
        size = composite.relu(b, composite.sub(b, size, correction))
    return composite.div(b, total, size)


def in_float(b: Builder, compute: Callable[[Builder, Tensor], Tensor], x: Tensor, dtype: str) -> Tensor:
    """compute on x cast to the opmath dtype, rounded to `dtype` at the end."""
    return b.cast(compute(b, b.cast(x, opmath(dtype))), dtype)


# Sums and means.


@converter("torch.aten.sum")
def convert_sum_all(b: Builder, x: Tensor, dtype: int | None) -> Tensor:
    return convert_sum(b, x, None, False, dtype)


@converter("torch.aten.sum.dim_IntList")
def convert_sum(b: Builder, x: Tensor, axes: Axes, keepdim: bool, dtype: int | None) -> Tensor:
    target = _accumulator(x, dtype)
    return reduce(b, lambda b, x, axes: b.sum_reduce(x, axes), b.cast(x, target), axes, keepdim)


def _accumulator(x: Tensor, dtype: int | None) -> str:
    if dtype is not None:
        return from_scalar_type(dtype)
    return x.dtype if is_float(x.dtype) else "i64"


@converter("torch.aten.mean")
def convert_mean_all(b: Builder, x: Tensor, dtype: int | None) -> Tensor:
    return convert_mean(b, x, None, False, dtype)


@converter("torch.aten.mean.dim")
def convert_mean(b: Builder, x: Tensor, axes: Axes, keepdim: bool, dtype: int | None) -> Tensor:
    target = x.dtype if dtype is None else from_scalar_type(dtype)
    return in_float(b, lambda b, x: reduce(b, mean_over, x, axes, keepdim), x, target)


@converter("torch.aten.var.correction")
def convert_var(b: Builder, x: Tensor, axes: Axes, correction: float | None, keepdim: bool) -> Tensor:
    amount = 1.0 if correction is None else float(correction)
    return in_float(
        b,
        lambda b, x: reduce(b, lambda b, x, a: variance_over(b, x, a, amount), x, axes, keepdim),
        x,
        x.dtype,
    )


@converter("torch.aten.var.dim")
def convert_var_dim(b: Builder, x: Tensor, axes: Axes, unbiased: bool, keepdim: bool) -> Tensor:
    return convert_var(b, x, axes, float(unbiased), keepdim)


@converter("torch.aten.var")
def convert_var_all(b: Builder, x: Tensor, unbiased: bool) -> Tensor:
    return convert_var(b, x, None, float(unbiased), False)


@converter("torch.aten.std.correction")
def convert_std(b: Builder, x: Tensor, axes: Axes, correction: float | None, keepdim: bool) -> Tensor:
    amount = 1.0 if correction is None else float(correction)
    return in_float(
        b,
        lambda b, x: b.sqrt(reduce(b, lambda b, x, a: variance_over(b, x, a, amount), x, axes, keepdim)),
        x,
        x.dtype,
    )


@converter("torch.aten.var_mean.correction")
def convert_var_mean(
    b: Builder, x: Tensor, axes: Axes, correction: float | None, keepdim: bool
) -> tuple[Tensor, Tensor]:
    mean = in_float(b, lambda b, x: reduce(b, mean_over, x, axes, keepdim), x, x.dtype)
    return convert_var(b, x, axes, correction, keepdim), mean


# Extrema.


def _check_not_empty(x: Tensor, axes: Axes) -> None:
    for axis in normalize_axes(axes, x.rank):
        if x.shape[axis].is_const and x.shape[axis].value == 0:
            raise Unsupported("the maximum or minimum over an empty dimension is an error in PyTorch too")


def _maximum_over(b: Builder, x: Tensor, axes: list[int]) -> Tensor:
    return b.max_reduce(x, axes)


@converter("torch.aten.amax")
def convert_amax(b: Builder, x: Tensor, axes: Axes, keepdim: bool) -> Tensor:
    _check_not_empty(x, axes)
    return reduce(b, _maximum_over, x, axes, keepdim)


@converter("torch.aten.amin")
def convert_amin(b: Builder, x: Tensor, axes: Axes, keepdim: bool) -> Tensor:
    _check_not_empty(x, axes)
    return reduce(b, composite.min_reduce, x, axes, keepdim)


@converter("torch.aten.max")
def convert_max_all(b: Builder, x: Tensor) -> Tensor:
    return convert_amax(b, x, None, False)


@converter("torch.aten.min")
def convert_min_all(b: Builder, x: Tensor) -> Tensor:
    return convert_amin(b, x, None, False)


@converter("torch.aten.aminmax")
def convert_aminmax(b: Builder, x: Tensor, axis: int | None, keepdim: bool) -> tuple[Tensor, Tensor]:
    return convert_amin(b, x, axis, keepdim), convert_amax(b, x, axis, keepdim)


# Logic.


def _all_over(b: Builder, x: Tensor, axes: list[int]) -> Tensor:
    return composite.logical_not(b, b.max_reduce(composite.logical_not(b, x), axes))


@converter("torch.aten.any", "torch.aten.any.dims", "torch.aten.any.dim")
def convert_any(b: Builder, x: Tensor, axes: Axes = None, keepdim: bool = False) -> Tensor:
    return reduce(b, _maximum_over, truth(b, x), axes, keepdim)


@converter("torch.aten.all", "torch.aten.all.dims", "torch.aten.all.dim")
def convert_all(b: Builder, x: Tensor, axes: Axes = None, keepdim: bool = False) -> Tensor:
    return reduce(b, _all_over, truth(b, x), axes, keepdim)


# Products.


def product_over(b: Builder, x: Tensor, axes: list[int]) -> Tensor:
    """The product over several axes."""
    for axis in reversed(axes):
        x = reduce_product(b, x, axis)
    return x


@converter("torch.aten.prod")
def convert_prod_all(b: Builder, x: Tensor, dtype: int | None) -> Tensor:
    target = _accumulator(x, dtype)
    return in_float(b, lambda b, x: reduce(b, product_over, x, None, False), x, target)


@converter("torch.aten.prod.dim_int")
def convert_prod(b: Builder, x: Tensor, axis: int, keepdim: bool, dtype: int | None) -> Tensor:
    target = _accumulator(x, dtype)
    return in_float(b, lambda b, x: reduce(b, product_over, x, [axis], keepdim), x, target)


# Norms.


@converter("torch.aten.linalg_vector_norm")
def convert_vector_norm(
    b: Builder, x: Tensor, order: Operand, axes: Axes, keepdim: bool, dtype: int | None
) -> Tensor:
    if isinstance(order, (Tensor, Expr)):
        raise Unsupported("a norm whose order is computed by the program")
    target = from_scalar_type(dtype) if dtype is not None else x.dtype
    return in_float(
        b, lambda b, x: reduce(b, lambda b, x, a: _norm(b, x, a, float(order)), x, axes, keepdim), x, target
    )


def _norm(b: Builder, x: Tensor, axes: list[int], order: float) -> Tensor:
    if order == 2:
        return b.sqrt(b.sum_reduce(b.mul(x, x), axes))
    magnitude = composite.absolute(b, x)
    if order == math.inf:
        return b.max_reduce(magnitude, axes)
    if order == -math.inf:
        return composite.min_reduce(b, magnitude, axes)
    if order == 0:
        return b.sum_reduce(b.cast(b.cast(x, "i1"), x.dtype), axes)
    if order == 1:
        return b.sum_reduce(magnitude, axes)
    total = b.sum_reduce(float_power(b, magnitude, b.full(x.shape, order, x.dtype)), axes)
    return float_power(b, total, b.full(total.shape, 1 / order, x.dtype))


@converter("torch.aten.logsumexp")
def convert_logsumexp(b: Builder, x: Tensor, axes: Axes, keepdim: bool) -> Tensor:
    target = x.dtype if is_float(x.dtype) else "f32"
    return in_float(b, lambda b, x: reduce(b, log_sum_exp, x, axes, keepdim), x, target)


def log_sum_exp(b: Builder, x: Tensor, axes: list[int]) -> Tensor:
    """log(sum(exp(x - m))) + m with m = max(x), 0 where the maximum is infinite."""
    largest = b.max_reduce(x, axes)
    infinite = composite.eq(b, composite.absolute(b, largest), math.inf)
    shift = composite.select(b, infinite, 0, largest)
    difference = composite.sub(b, x, keep_axes(b, shift, axes, x.rank))
    return b.add(composite.log(b, b.sum_reduce(composite.exp(b, difference), axes)), shift)
