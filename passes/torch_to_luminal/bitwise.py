"""Bitwise logic and shifts on integers, made of multiplications and comparisons.

Multiplying by a power of two with wraparound moves bit k into the sign, so

    bit_k(x) = less_than(mul(x, P[bits - 1 - k]), 0),     P = [1, 2, 4, ..., 2^(bits - 1)]

and a result is put together again as the sum of its bits times P, along a trailing axis of 64 (32) bits:

    and(x, y) = sum_reduce(mul(cast(mul(bit(x), bit(y))), P)), with add for or, and ne for xor
    x >> s    = sum_reduce(mul(cast(less_than(mul(x, P[bits - 1 - k - s]), 0)), P)), where P[below 0] = P[0]
    x << s    = mul(x, P[s]), or 0 for s outside 0..bits - 1

On bool, and/or/xor are mul/add/ne.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from ...dialects.mlir import ir
from ...dialects.symbolic import Expr
from . import composite
from .builder import Builder, Operand, Tensor
from .promotion import promoted, result_dtype
from .registry import Unsupported, converter
from .shapes import expr

_BITS = {"i32": 32, "i64": 64}

Logic = Callable[[Builder, Tensor, Tensor], Tensor]


def powers_of_two(b: Builder, dtype: str) -> Tensor:
    """(bits,): 1, 2, 4, ..., the last one wrapped to the least integer."""
    bits = _BITS[dtype]
    values = np.array([1 << k for k in range(bits - 1)] + [-(1 << (bits - 1))], f"int{bits}")
    with b.block.owner.context, b.location:
        attribute = ir.DenseElementsAttr.get(values)
    return b.dense(attribute, [bits], dtype)


def bits_of(b: Builder, x: Tensor) -> Tensor:
    """(*shape, bits) i1: the bits of an integer tensor, least significant first."""
    bits = _BITS[x.dtype]
    shape = [*x.shape, expr(bits)]
    factors = b.view(powers_of_two(b, x.dtype), shape, lambda *c: [bits - 1 - c[-1]])
    return b.less_than(b.mul(b.view(x, shape, lambda *c: c[:-1]), factors), 0)


def from_bits(b: Builder, bits: Tensor, dtype: str) -> Tensor:
    """The integers whose bits stand along the last axis."""
    weights = b.view(powers_of_two(b, dtype), bits.shape, lambda *c: [c[-1]])
    return b.sum_reduce(b.mul(b.cast(bits, dtype), weights), [bits.rank - 1])


def _logic(b: Builder, x: Operand, other: Operand, combine: Logic) -> Tensor:
    dtype = result_dtype(x, other)
    if dtype != "i1" and dtype not in _BITS:
        raise Unsupported(f"bitwise operation on {dtype}")
    left, right = promoted(b, dtype, x, other)
    if dtype == "i1":
        return combine(b, left, right)
    return from_bits(b, combine(b, bits_of(b, left), bits_of(b, right)), dtype)


def _and(b: Builder, p: Tensor, q: Tensor) -> Tensor:
    return b.mul(p, q)


def _or(b: Builder, p: Tensor, q: Tensor) -> Tensor:
    return b.add(p, q)


@converter(
    "torch.aten.bitwise_and.Tensor",
    "torch.aten.bitwise_and.Scalar",
    "torch.aten.bitwise_and.Scalar_Tensor",
    "torch.aten.__and__.Tensor",
    "torch.aten.__and__.Scalar",
)
def convert_bitwise_and(b: Builder, x: Operand, other: Operand) -> Tensor:
    """A mask of low bits is a remainder by a power of two."""
    for value, mask in ((x, other), (other, x)):
        low_bits = (
            isinstance(mask, int) and not isinstance(mask, bool) and mask >= 0 and mask & (mask + 1) == 0
        )
        if (
            isinstance(value, Tensor)
            and low_bits
            and cast(int, mask).bit_length() < 31
            and value.dtype in _BITS
        ):
            return b.mod(value, cast(int, mask) + 1)
    return _logic(b, x, other, _and)


@converter(
    "torch.aten.bitwise_or.Tensor",
    "torch.aten.bitwise_or.Scalar",
    "torch.aten.bitwise_or.Scalar_Tensor",
    "torch.aten.__or__.Tensor",
    "torch.aten.__or__.Scalar",
)
def convert_bitwise_or(b: Builder, x: Operand, other: Operand) -> Tensor:
    return _logic(b, x, other, _or)


@converter(
    "torch.aten.bitwise_xor.Tensor",
    "torch.aten.bitwise_xor.Scalar",
    "torch.aten.bitwise_xor.Scalar_Tensor",
    "torch.aten.__xor__.Tensor",
    "torch.aten.__xor__.Scalar",
)
def convert_bitwise_xor(b: Builder, x: Operand, other: Operand) -> Tensor:
    return _logic(b, x, other, composite.ne)


@converter("torch.aten.bitwise_not")
def convert_bitwise_not(b: Builder, x: Tensor) -> Tensor:
    if x.dtype == "i1":
        return composite.logical_not(b, x)
    if x.dtype not in _BITS:
        raise Unsupported(f"bitwise operation on {x.dtype}")
    return composite.complement(b, x)


def _shift_operands(b: Builder, x: Operand, amount: Operand) -> tuple[Tensor, Tensor]:
    dtype = result_dtype(x, amount)
    if dtype not in _BITS:
        raise Unsupported(f"shift of {dtype}")
    value, places = promoted(b, dtype, x, amount)
    return value, b.cast(places, "i64")


@converter(
    "torch.aten.bitwise_left_shift.Tensor",
    "torch.aten.bitwise_left_shift.Tensor_Scalar",
    "torch.aten.bitwise_left_shift.Scalar_Tensor",
    "torch.aten.__lshift__.Tensor",
    "torch.aten.__lshift__.Scalar",
)
def convert_left_shift(b: Builder, x: Operand, amount: Operand) -> Tensor:
    value, places = _shift_operands(b, x, amount)
    bits = _BITS[value.dtype]
    if isinstance(amount, int):
        return b.mul(value, 1 << amount) if 0 <= amount < bits else b.full(value.shape, 0, value.dtype)
    factor = b.gather(powers_of_two(b, value.dtype), [places], value.shape, lambda *c: [c[-1]])
    valid = b.mul(b.less_than(-1, places), b.less_than(places, bits))
    return composite.select(b, valid, b.mul(value, factor), 0)


@converter(
    "torch.aten.bitwise_right_shift.Tensor",
    "torch.aten.bitwise_right_shift.Tensor_Scalar",
    "torch.aten.bitwise_right_shift.Scalar_Tensor",
    "torch.aten.__rshift__.Tensor",
    "torch.aten.__rshift__.Scalar",
)
def convert_right_shift(b: Builder, x: Operand, amount: Operand) -> Tensor:
    """Arithmetic: the sign fills in. Amounts outside 0..bits - 1 leave only the sign, as in eager."""
    value, places = _shift_operands(b, x, amount)
    bits = _BITS[value.dtype]
    shape = [*value.shape, expr(bits)]

    def factor_index(*c: Expr) -> list[Expr]:
        return [bits - 1 - c[-2] - c[-1]]

    if isinstance(amount, int):
        places = b.full(value.shape, amount if 0 <= amount < bits else bits - 1, "i64")
    else:
        places = composite.select(b, b.less_than(places, 0), bits - 1, places)
    spread = b.view(places, shape, lambda *c: c[:-1])
    factors = b.gather(powers_of_two(b, value.dtype), [spread], shape, factor_index)
    shifted = b.less_than(b.mul(b.view(value, shape, lambda *c: c[:-1]), factors), 0)
    return from_bits(b, shifted, value.dtype)
