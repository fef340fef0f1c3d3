"""Ops that make tensors: full, zeros, ones, arange, eye, linspace and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dialects.symbolic import Expr, maximum
from . import composite
from .builder import Builder, Operand, Tensor
from .dtypes import is_float
from .registry import Unsupported, converter
from .shapes import expr

Size = Expr | int


def _dtype(b: Builder) -> str:
    """The result dtype as the importer recorded it (it knows the defaults)."""
    dtype = b.results[0].dtype
    assert dtype is not None
    return dtype


@converter("torch.aten.full")
def convert_full(b: Builder, sizes: Sequence[Size], value: Operand, *_: Any) -> Tensor:
    return b.full(sizes, value, _dtype(b))


@converter("torch.aten.new_full")
def convert_new_full(b: Builder, _x: Tensor, sizes: Sequence[Size], value: Operand, *_: Any) -> Tensor:
    return b.full(sizes, value, _dtype(b))


@converter("torch.aten.full_like")
def convert_full_like(b: Builder, x: Tensor, value: Operand, *_: Any) -> Tensor:
    return b.full(x.shape, value, _dtype(b))


@converter("torch.aten.fill.Scalar", "torch.aten.fill.Tensor")
def convert_fill(b: Builder, x: Tensor, value: Operand) -> Tensor:
    return b.full(x.shape, value, x.dtype)


def _register_filled(name: str, value: int) -> None:
    @converter(f"torch.aten.{name}", *([f"torch.aten.{name}.memory_format"] if name == "empty" else []))
    def convert(b: Builder, sizes: Sequence[Size], *_: Any) -> Tensor:
        return b.full(sizes, value, _dtype(b))

    @converter(f"torch.aten.{name}_like")
    def convert_like(b: Builder, x: Tensor, *_: Any) -> Tensor:
        return b.full(x.shape, value, _dtype(b))

    @converter(f"torch.aten.new_{name}")
    def convert_new(b: Builder, _x: Tensor, sizes: Sequence[Size], *_: Any) -> Tensor:
        return b.full(sizes, value, _dtype(b))


for _name, _value in (("zeros", 0), ("ones", 1), ("empty", 0)):
    _register_filled(_name, _value)


@converter("torch.aten.zero")
def convert_zero(b: Builder, x: Tensor) -> Tensor:
    return b.full(x.shape, 0, x.dtype)


@converter("torch.aten.empty_strided", "torch.aten.empty_permuted", "torch.aten.new_empty_strided")
def convert_empty_strided(b: Builder, *operands: Any) -> Tensor:
    sizes = operands[1] if isinstance(operands[0], Tensor) else operands[0]
    return b.full(sizes, 0, _dtype(b))


@converter("torch.prims.iota")
def convert_iota(b: Builder, length: Size, start: Size, step: Size, *_: Any) -> Tensor:
    first, stride = expr(start), expr(step)
    return b.cast(b.iota([length], lambda i: first + i * stride), _dtype(b))


@converter("torch.aten.arange")
def convert_arange(b: Builder, end: Operand, *_: Any) -> Tensor:
    return _arange(b, 0, end, 1)


@converter("torch.aten.arange.start")
def convert_arange_start(b: Builder, start: Operand, end: Operand, *_: Any) -> Tensor:
    return _arange(b, start, end, 1)


@converter("torch.aten.arange.start_step")
def convert_arange_step(b: Builder, start: Operand, end: Operand, step: Operand, *_: Any) -> Tensor:
    return _arange(b, start, end, step)


def _arange(b: Builder, start: Operand, end: Operand, step: Operand) -> Tensor:
    """start + i*step; integer bounds give exact integers, float bounds follow eager's start + step*i in
    f64."""
    dtype = _dtype(b)
    if any(isinstance(bound, Tensor) for bound in (start, end, step)):
        raise Unsupported("arange with a bound computed by the program")
    if not any(isinstance(bound, float) for bound in (start, end, step)):
        first, last, stride = expr(start), expr(end), expr(step)  # type: ignore[arg-type]
        if not stride.is_const:
            count = (last - first) // stride
            positive = all((size.bounds()[0] or 0) > 0 for size in (stride, count + 1))
            if not positive or count * stride is not last - first:
                raise Unsupported(f"arange from {first} to {last} with step {stride}")
            return b.cast(b.iota([count], lambda i: first + i * stride), dtype)
        amount = stride.value
        if amount == 0:
            raise Unsupported("arange with step 0")
        span = last - first if amount > 0 else first - last
        length = maximum((span + (abs(amount) - 1)) // abs(amount), 0)
        return b.cast(b.iota([length], lambda i: first + i * amount), dtype)
    size = b.results[0].dims[0]
    if size is None or any(isinstance(bound, Expr) for bound in (start, end, step)):
        raise Unsupported("arange with float bounds and a length that depends on a symbol")
    wide = "f64" if is_float(dtype) else dtype
    index = b.cast(b.iota([size], lambda i: i), wide)
    return b.cast(b.add(b.mul(index, step), b.scalar(start, wide)), dtype)


@converter("torch.aten.linspace")
def convert_linspace(b: Builder, start: Operand, end: Operand, steps: Size, *_: Any) -> Tensor:
    """Computed from the nearer end, as eager does, so that both ends are exact."""
    dtype, count = _dtype(b), b.static(steps)
    if not isinstance(start, (int, float)) or not isinstance(end, (int, float)) or not is_float(dtype):
        raise Unsupported("linspace over integers or computed bounds")
    if count <= 1:
        return b.full([count], start, dtype)
    wide = "f64" if dtype == "f64" else "f32"
    step = (end - start) / (count - 1)
    up = b.cast(b.iota([count], lambda i: i), wide)
    down = b.cast(b.iota([count], lambda i: (count - 1) - i), wide)
    low = b.add(b.mul(up, step), start)
    high = composite.sub(b, b.full([count], end, wide), b.mul(down, step))
    first_half = b.less_than(b.iota([count], lambda i: i), count // 2)
    return b.cast(composite.select(b, first_half, low, high), dtype)


@converter("torch.aten.eye")
def convert_eye(b: Builder, rows: Size, *_: Any) -> Tensor:
    return _eye(b, rows, rows)


@converter("torch.aten.eye.m")
def convert_eye_m(b: Builder, rows: Size, columns: Size, *_: Any) -> Tensor:
    return _eye(b, rows, columns)


def _eye(b: Builder, rows: Size, columns: Size) -> Tensor:
    diagonal = composite.eq(b, b.iota((rows, columns), lambda i, j: i - j), 0)
    return b.cast(diagonal, _dtype(b))
