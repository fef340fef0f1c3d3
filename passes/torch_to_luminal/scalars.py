"""Integers that the program computes from sizes, evaluated to symbolic expressions; and scalars that become
tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...dialects.symbolic import Expr, maximum, minimum
from . import composite
from .builder import Builder, Tensor
from .registry import Unsupported, converter
from .shapes import expr, normalize_axis

Scalar = int | float | bool | Expr | Tensor


def simplified(value: Expr) -> int | Expr:
    """A constant expression as a Python int."""
    return value.value if value.is_const else value


@converter("torch.aten.size.int", "torch.aten.sym_size.int")
def convert_size(b: Builder, x: Tensor, axis: int) -> int | Expr:
    return simplified(x.shape[normalize_axis(axis, x.rank)])


@converter("torch.aten.sym_numel", "torch.aten.numel")
def convert_numel(b: Builder, x: Tensor) -> int | Expr:
    total = expr(1)
    for size in x.shape:
        total = total * size
    return simplified(total)


_INTEGER: dict[str, Callable[[Expr, Expr], Expr]] = {
    "torch.aten.add.int": lambda a, c: a + c,
    "torch.aten.sub.int": lambda a, c: a - c,
    "torch.aten.mul.int": lambda a, c: a * c,
    "torch.aten.floordiv.int": lambda a, c: a // c,
    "torch.aten.remainder.int": lambda a, c: a % c,
    "torch.aten.fmod.int": lambda a, c: a % c,
    "torch.prim.max.int": maximum,
    "torch.prim.min.int": minimum,
    "torch.sym_max": maximum,
    "torch.sym_min": minimum,
}


def _register_integer(name: str, compute: Callable[[Expr, Expr], Expr]) -> None:
    @converter(name)
    def convert(b: Builder, a: int | Expr, c: int | Expr) -> int | Expr:
        return simplified(compute(expr(a), expr(c)))


for _name, _compute in _INTEGER.items():
    _register_integer(_name, _compute)


@converter("torch.aten.neg.int")
def convert_neg_int(b: Builder, a: int | Expr) -> int | Expr:
    return simplified(-expr(a))


_FLOAT: dict[str, tuple[Callable[[float, float], float], Callable[[Builder, Tensor, Tensor], Tensor]]] = {
    "add": (lambda p, q: p + q, lambda b, p, q: b.add(p, q)),
    "sub": (lambda p, q: p - q, composite.sub),
    "mul": (lambda p, q: p * q, lambda b, p, q: b.mul(p, q)),
    "div": (lambda p, q: p / q, composite.div),
}


def _register_float(name: str) -> None:
    exact, build = _FLOAT[name]
    overloads = ["float", "int_float", "float_int", *(["int"] if name == "div" else [])]

    @converter(*(f"torch.aten.{name}.{overload}" for overload in overloads))
    def convert(b: Builder, p: Scalar, q: Scalar) -> Scalar:
        if isinstance(p, (int, float)) and isinstance(q, (int, float)):
            return float(exact(p, q))
        return build(b, b.scalar(p, "f64"), b.scalar(q, "f64"))


for _name in _FLOAT:
    _register_float(_name)


@converter("torch.aten.Float.Scalar", "torch.aten.Float.int")
def convert_to_float(b: Builder, value: Scalar) -> Scalar:
    return float(value) if isinstance(value, (int, float)) else b.scalar(value, "f64")


@converter("torch.aten.sqrt.int", "torch.aten.sqrt.float", "torch.aten.sqrt.Scalar")
def convert_sqrt_scalar(b: Builder, value: Scalar) -> Scalar:
    return math.sqrt(value) if isinstance(value, (int, float)) else b.sqrt(b.scalar(value, "f64"))


@converter("torch.aten.Int.bool", "torch.aten.Float.bool")
def convert_bool_to_number(b: Builder, value: bool) -> Any:
    return int(value)


@converter("torch.prim.NumToTensor.Scalar")
def convert_number_to_tensor(b: Builder, value: Scalar) -> Scalar:
    """The importer wraps Python numbers so; they stay numbers, which promote as such."""
    return value


@converter("torch.aten.scalar_tensor")
def convert_scalar_tensor(b: Builder, value: Scalar, *_: Any) -> Tensor:
    return b.scalar(value, b.results[0].dtype or "f32")


_PREDICATES: dict[str, Callable[[tuple[int | None, int | None]], bool | None]] = {
    "eq": lambda r: True if r == (0, 0) else False if _excludes_zero(r) else None,
    "ne": lambda r: False if r == (0, 0) else True if _excludes_zero(r) else None,
    "lt": lambda r: (
        True if r[1] is not None and r[1] < 0 else False if r[0] is not None and r[0] >= 0 else None
    ),
    "le": lambda r: (
        True if r[1] is not None and r[1] <= 0 else False if r[0] is not None and r[0] > 0 else None
    ),
    "gt": lambda r: (
        True if r[0] is not None and r[0] > 0 else False if r[1] is not None and r[1] <= 0 else None
    ),
    "ge": lambda r: (
        True if r[0] is not None and r[0] >= 0 else False if r[1] is not None and r[1] < 0 else None
    ),
}


def _excludes_zero(bounds: tuple[int | None, int | None]) -> bool:
    return (bounds[0] is not None and bounds[0] > 0) or (bounds[1] is not None and bounds[1] < 0)


def _register_predicate(name: str) -> None:
    decide = _PREDICATES[name]

    @converter(f"torch.aten.{name}.int")
    def convert(b: Builder, a: int | Expr, c: int | Expr) -> bool:
        result = decide((expr(a) - expr(c)).bounds())
        if result is None:
            raise Unsupported(f"the comparison of {a} and {c} depends on a symbol")
        return result


for _name in _PREDICATES:
    _register_predicate(_name)


@converter("torch.aten.item", "torch.aten._local_scalar_dense", "torch.aten.Float.Tensor")
def convert_item(b: Builder, x: Tensor) -> Tensor:
    """A float read from a tensor stays a rank-0 tensor; integers would be sizes that depend on data."""
    if b.results[0].dtype is None and x.dtype in ("i64", "i32", "i1"):
        raise Unsupported("a Python integer read from a tensor (its value would decide shapes)")
    return b.cast(b.view(x, (), lambda: [0] * x.rank), "f64")
