"""Composite functions, each built from luminal primitives in ONE exact form.

This file is the contract with the egglog rules: a rule that recognises `kernel.exp` matches precisely what
`exp` below emits. Argument order inside add/mul is as written here. Numbers are rank-0 `luminal.constant`s
of the operand's dtype, expanded by a `luminal.view` when the other operand has rank > 0 (`b.add(x, 1)` is
add(x, view(constant 1))). All functions work on one dtype; half inputs are cast to f32 first by the callers
(see `in_opmath` in promotion.py), so a multi-step composite on f16/bf16 normally appears as cast(f(cast(x))).

 name             form (x, a, c: operands; lt = less_than; not/or/and: see below)
 neg(x)           mul(x, -1)
 sub(a, c)        add(a, neg(c))
 div(a, c)        mul(a, recip(c))
 not(p)           lt(p, true)                       bool only
 or / and         add(p, q) / mul(p, q)             bool only
 xor(p, q)        ne(p, q)                          bool only
 isnan(x)         not(or(lt(x, +inf), lt(-inf, x)))           floats; other dtypes never ask
 ne(a, c)         or(lt(a, c), lt(c, a))                                       ints, bool
                  or(or(lt(a, c), lt(c, a)), or(isnan(a), isnan(c)))           floats
 eq(a, c)         not(ne(a, c))
 le(a, c)         not(lt(c, a))                                                ints, bool
                  and(not(lt(c, a)), not(or(isnan(a), isnan(c))))              floats
 stack2(a, c)     scatter(scatter(Z, a) {(i) -> (0, i)}, c) {(i) -> (1, i)}
                  Z = view(constant 0) of shape (2, *shape)
 select(p, a, c)  gather(stack2(c, a), cast_i64(p)) {(i..., k) -> (k, i...)}   p true: a
 maximum(a, c)    max_reduce(stack2(a, c)) axes [0]
 minimum(a, c)    neg(maximum(neg(a), neg(c)))      floats
                  select(lt(c, a), c, a)            ints;    and(a, c) on bool
 exp(x)           exp2(mul(x, log2(e)))
 log(x)           mul(log2(x), ln(2))
 log10(x)         mul(log2(x), log10(2))
 rsqrt(x)         recip(sqrt(x))
 sigmoid(x)       recip(add(exp(neg(x)), 1))
 silu(x)          mul(x, sigmoid(x))
 cos(x)           sin(add(x, pi/2))                 absolute error: half an ulp of x
 tanh(x)          add(mul(recip(add(exp(mul(x, -2)), 1)), 2), -1)              absolute error 2 ulp(1)
 erf(x)           s * (1 - t*(p0 + t*(p1 + t*(p2 + t*(p3 + t*p4)))) * exp(-x*x))
                  t = recip(1 + p*|x|), s = +-1
                  (Abramowitz & Stegun 7.1.26, absolute error 1.5e-7); exact op order in the code
 abs(x)           select(lt(0, x), x, sub(0, x))    -0 gives +0, NaN stays, INT_MIN wraps
 relu(x)          select(lt(x, 0), 0, x)            NaN stays
 signbit(x)       or(lt(x, 0), lt(recip(x), 0))     floats: true for -0
 floor(x)         m = mod(x, 1); select(lt(0, m), sub(x, m), x)                floats; -0, inf, NaN stay
 ceil(x)          neg(floor(neg(x)))
 trunc(x)         select(lt(x, 0), ceil(x), floor(x))
 fmod(a, c)       m = mod(abs(a), abs(c)); select(signbit(a), neg(m), m)       floats (exact; sign of a)

Integer and float division with rounding are in division.py, softmax and normalisation in softmax.py and
normalization.py, matrix products in matmul.py; each documents its form.
"""

from __future__ import annotations

import math

from .builder import Builder, Operand, Tensor
from .dtypes import is_float

LOG2_E = math.log2(math.e)
LN_2 = math.log(2)
LOG10_2 = math.log10(2)
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_P = 0.3275911


# Arithmetic.


def neg(b: Builder, x: Tensor) -> Tensor:
    """mul(x, -1)"""
    return b.mul(x, -1)


def sub(b: Builder, a: Operand, c: Operand) -> Tensor:
    """add(a, neg(c))"""
    left, right = b.align(a, c)
    return b.add(left, neg(b, right))


def div(b: Builder, a: Operand, c: Operand) -> Tensor:
    """mul(a, recip(c)); floats only."""
    left, right = b.align(a, c)
    return b.mul(left, b.recip(right))


# Logic and comparisons (results are i1).


def logical_not(b: Builder, p: Tensor) -> Tensor:
    """lt(p, true)"""
    return b.less_than(p, True)


def isnan(b: Builder, x: Tensor) -> Tensor:
    """not(or(lt(x, inf), lt(-inf, x))): one of the two holds for every number."""
    return logical_not(b, b.add(b.less_than(x, math.inf), b.less_than(-math.inf, x)))


def ne(b: Builder, a: Operand, c: Operand) -> Tensor:
    """or(lt(a, c), lt(c, a)), for floats also true when either is NaN."""
    left, right = b.align(a, c)
    different = b.add(b.less_than(left, right), b.less_than(right, left))
    return b.add(different, _unordered(b, left, right)) if is_float(left.dtype) else different


def eq(b: Builder, a: Operand, c: Operand) -> Tensor:
    """not(ne(a, c))"""
    return logical_not(b, ne(b, a, c))


def le(b: Builder, a: Operand, c: Operand) -> Tensor:
    """not(lt(c, a)), for floats and both ordered."""
    left, right = b.align(a, c)
    result = logical_not(b, b.less_than(right, left))
    if is_float(left.dtype):
        result = b.mul(result, logical_not(b, _unordered(b, left, right)))
    return result


def _unordered(b: Builder, a: Tensor, c: Tensor) -> Tensor:
    return b.add(isnan(b, a), isnan(b, c))


# Choice.


def stack2(b: Builder, a: Operand, c: Operand) -> Tensor:
    """(2, *shape): a at 0 and c at 1 along a new leading axis."""
    left, right = b.align(a, c)
    base = b.full((2, *left.shape), 0, left.dtype)
    base = b.scatter(base, left, [], lambda *i: (0, *i))
    return b.scatter(base, right, [], lambda *i: (1, *i))


def select(b: Builder, p: Tensor, a: Operand, c: Operand) -> Tensor:
    """a where p (i1) is true, else c; exact for every bit pattern. At least one of a, c is a Tensor."""
    left, right = b.align(a, c)
    shape = b.align(p, b.full(left.shape, False, "i1"))[0].shape
    condition = b.broadcast(p, shape)
    pair = stack2(b, b.broadcast(right, shape), b.broadcast(left, shape))
    return b.gather(pair, [b.cast(condition, "i64")], shape, lambda *i: (i[-1], *i[:-1]))


def maximum(b: Builder, a: Operand, c: Operand) -> Tensor:
    """max_reduce(stack2(a, c)); NaN wins."""
    return b.max_reduce(stack2(b, a, c), [0])


def minimum(b: Builder, a: Operand, c: Operand) -> Tensor:
    """Floats: neg(maximum(neg(a), neg(c))); ints: select(lt(c, a), c, a); bool: and."""
    left, right = b.align(a, c)
    if is_float(left.dtype):
        return neg(b, maximum(b, neg(b, left), neg(b, right)))
    if left.dtype == "i1":
        return b.mul(left, right)
    return select(b, b.less_than(right, left), right, left)


def min_reduce(b: Builder, x: Tensor, axes: list[int]) -> Tensor:
    """Floats: neg(max_reduce(neg(x))). Ints: complement(max_reduce(complement(x))), complement(x) =
    add(neg(x), -1) (negation alone would lose INT_MIN). bool: not(max_reduce(not(x)))."""
    if is_float(x.dtype):
        return neg(b, b.max_reduce(neg(b, x), axes))
    if x.dtype == "i1":
        return logical_not(b, b.max_reduce(logical_not(b, x), axes))
    return complement(b, b.max_reduce(complement(b, x), axes))


def complement(b: Builder, x: Tensor) -> Tensor:
    """Integers: add(neg(x), -1), which is the bitwise not."""
    return b.add(neg(b, x), -1)


# Exponentials and their relatives.


def exp(b: Builder, x: Tensor) -> Tensor:
    """exp2(mul(x, log2(e)))"""
    return b.exp2(b.mul(x, LOG2_E))


def log(b: Builder, x: Tensor) -> Tensor:
    """mul(log2(x), ln(2))"""
    return b.mul(b.log2(x), LN_2)


def log10(b: Builder, x: Tensor) -> Tensor:
    """mul(log2(x), log10(2))"""
    return b.mul(b.log2(x), LOG10_2)


def rsqrt(b: Builder, x: Tensor) -> Tensor:
    """recip(sqrt(x))"""
    return b.recip(b.sqrt(x))


def sigmoid(b: Builder, x: Tensor) -> Tensor:
    """recip(add(exp(neg(x)), 1))"""
    return b.recip(b.add(exp(b, neg(b, x)), 1))


def silu(b: Builder, x: Tensor) -> Tensor:
    """mul(x, sigmoid(x))"""
    return b.mul(x, sigmoid(b, x))


def cos(b: Builder, x: Tensor) -> Tensor:
    """sin(add(x, pi/2))"""
    return b.sin(b.add(x, math.pi / 2))


def tanh(b: Builder, x: Tensor) -> Tensor:
    """add(mul(recip(add(exp(mul(x, -2)), 1)), 2), -1): 2 sigmoid(2x) - 1"""
    return b.add(b.mul(b.recip(b.add(exp(b, b.mul(x, -2)), 1)), 2), -1)


def erf(b: Builder, x: Tensor) -> Tensor:
    """Abramowitz & Stegun 7.1.26 on |x|, then the sign: select(lt(0, x), y, neg(y)) with
    y = add(mul(mul(P, t), neg(exp(neg(mul(x, x))))), 1), t = recip(add(mul(abs(x), p), 1)), P by Horner's
    rule."""
    t = b.recip(b.add(b.mul(absolute(b, x), _ERF_P), 1))
    polynomial = horner(b, t, _ERF)
    decay = exp(b, neg(b, b.mul(x, x)))
    y = b.add(b.mul(b.mul(polynomial, t), neg(b, decay)), 1)
    return select(b, b.less_than(0, x), y, neg(b, y))


def horner(b: Builder, x: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    """c0 + x*(c1 + x*(c2 + ...)): add(mul(inner, x), c) from the last coefficient inwards."""
    result = b.full(x.shape, coefficients[-1], x.dtype)
    for coefficient in reversed(coefficients[:-1]):
        result = b.add(b.mul(result, x), coefficient)
    return result


# Sign and rounding.


def absolute(b: Builder, x: Tensor) -> Tensor:
    """select(lt(0, x), x, sub(0, x)); bool is itself."""
    return x if x.dtype == "i1" else select(b, b.less_than(0, x), x, sub(b, 0, x))


def relu(b: Builder, x: Tensor) -> Tensor:
    """select(lt(x, 0), 0, x)"""
    return select(b, b.less_than(x, 0), 0, x)


def signbit(b: Builder, x: Tensor) -> Tensor:
    """or(lt(x, 0), lt(recip(x), 0)) for floats (true for -0); lt(x, 0) for ints."""
    negative = b.less_than(x, 0)
    return b.add(negative, b.less_than(b.recip(x), 0)) if is_float(x.dtype) else negative


def floor(b: Builder, x: Tensor) -> Tensor:
    """m = mod(x, 1); select(lt(0, m), sub(x, m), x). Integers are themselves."""
    if not is_float(x.dtype):
        return x
    fraction = b.mod(x, 1)
    return select(b, b.less_than(0, fraction), sub(b, x, fraction), x)


def ceil(b: Builder, x: Tensor) -> Tensor:
    """neg(floor(neg(x)))"""
    return neg(b, floor(b, neg(b, x))) if is_float(x.dtype) else x


def trunc(b: Builder, x: Tensor) -> Tensor:
    """select(lt(x, 0), ceil(x), floor(x))"""
    return select(b, b.less_than(x, 0), ceil(b, x), floor(b, x)) if is_float(x.dtype) else x


def fmod(b: Builder, a: Operand, c: Operand) -> Tensor:
    """C fmod on floats: m = mod(abs(a), abs(c)); select(signbit(a), neg(m), m). Ints: the same with lt(a,
    0)."""
    left, right = b.align(a, c)
    magnitude = b.mod(absolute(b, left), absolute(b, right))
    return select(b, signbit(b, left), neg(b, magnitude), magnitude)
