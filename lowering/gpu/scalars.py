"""The scalar functions of the `kernel` dialect in `arith` and `math` ops: a table per class of operands.

Half types compute in f32 and round once per op. `math` ops are left for the target: PTX and Metal each have
a table for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...dialects.mlir import ir
from ...dialects.types import HALVES, dtype_of, scalar_type
from .builder import Builder
from .remainder import float_remainder

Emit = Callable[..., ir.Value]


def compute_type(dtype: str) -> str:
    """The dtype that arithmetic on `dtype` is done in."""
    return "f32" if dtype in HALVES else dtype


def widen(b: Builder, value: ir.Value) -> ir.Value:
    """Half types as f32, others as they are."""
    wide = compute_type(dtype_of(value.type))
    return value if wide == dtype_of(value.type) else b.op("arith.extf", [value], scalar_type(wide))


def narrow(b: Builder, value: ir.Value, dtype: str) -> ir.Value:
    """f32 rounded to a half type; other dtypes as they are."""
    return value if dtype_of(value.type) == dtype else b.op("arith.truncf", [value], scalar_type(dtype))


def emit_scalar(b: Builder, name: str, operands: Sequence[ir.Value], result: ir.Type) -> ir.Value | None:
    """The value of the scalar function `name`; None if there is no such function on the operands' type."""
    if name == "select":
        return b.select(*operands)
    dtype = dtype_of(operands[0].type)
    table = _BOOL if dtype == "i1" else _INT if dtype.startswith("i") else _FLOAT
    emit = table.get(name)
    if emit is None:
        return None
    value = emit(b, *(widen(b, operand) for operand in operands))
    return narrow(b, value, dtype) if dtype_of(result) == dtype else value


def _op(name: str) -> Emit:
    return lambda b, *operands: b.op(name, operands)


def _compare(predicate: str) -> Emit:
    return lambda b, lhs, rhs: b.compare(predicate, lhs, rhs)


def _one(b: Builder, like: ir.Value) -> ir.Value:
    return b.constant(1, like.type)


def _recip(b: Builder, x: ir.Value) -> ir.Value:
    return b.op("arith.divf", [_one(b, x), x])


def _sigmoid(b: Builder, x: ir.Value) -> ir.Value:
    return _recip(b, b.op("arith.addf", [b.op("math.exp", [b.op("arith.negf", [x])]), _one(b, x)]))


def maximum_float(b: Builder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The greater value; NaN if either is NaN."""
    keep = b.op("arith.ori", [b.compare("ogt", lhs, rhs), b.compare("uno", lhs, lhs)])
    return b.select(keep, lhs, rhs)


def minimum_float(b: Builder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The smaller value; NaN if either is NaN."""
    keep = b.op("arith.ori", [b.compare("olt", lhs, rhs), b.compare("uno", lhs, lhs)])
    return b.select(keep, lhs, rhs)


def _nonzero_divisor(
    b: Builder, lhs: ir.Value, rhs: ir.Value
) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value]:
    """(is zero, is minus one, divisor that is safe to divide by, zero)."""
    zero, one = b.constant(0, lhs.type), b.constant(1, lhs.type)
    is_zero = b.compare("eq", rhs, zero)
    is_minus_one = b.compare("eq", rhs, b.constant(-1, lhs.type))
    safe = b.select(b.op("arith.ori", [is_zero, is_minus_one]), one, rhs)
    return is_zero, is_minus_one, safe, zero


def _mod_int(b: Builder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    is_zero, is_minus_one, safe, zero = _nonzero_divisor(b, lhs, rhs)
    rest = b.op("arith.remsi", [lhs, safe])
    fixed = b.select(_signs_differ(b, rest, rhs), b.op("arith.addi", [rest, rhs]), rest)
    return b.select(b.op("arith.ori", [is_zero, is_minus_one]), zero, fixed)


def _floor_div_int(b: Builder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    is_zero, is_minus_one, safe, zero = _nonzero_divisor(b, lhs, rhs)
    quotient, rest = b.op("arith.divsi", [lhs, safe]), b.op("arith.remsi", [lhs, safe])
    lower = b.op("arith.subi", [quotient, b.constant(1, lhs.type)])
    floored = b.select(_signs_differ(b, rest, safe), lower, quotient)
    negated = b.op("arith.subi", [zero, lhs])
    return b.select(is_zero, zero, b.select(is_minus_one, negated, floored))


def _signs_differ(b: Builder, rest: ir.Value, divisor: ir.Value) -> ir.Value:
    """Whether a remainder is not zero and has the other sign than the divisor."""
    zero = b.constant(0, rest.type)
    negative = b.compare("slt", b.op("arith.xori", [rest, divisor]), zero)
    return b.op("arith.andi", [negative, b.compare("ne", rest, zero)])


def _negate_int(b: Builder, x: ir.Value) -> ir.Value:
    return b.op("arith.subi", [b.constant(0, x.type), x])


def _abs_int(b: Builder, x: ir.Value) -> ir.Value:
    return b.select(b.compare("slt", x, b.constant(0, x.type)), _negate_int(b, x), x)


def _not(b: Builder, x: ir.Value) -> ir.Value:
    return b.op("arith.xori", [x, b.constant(1 if dtype_of(x.type) == "i1" else -1, x.type)])


_FLOAT: Mapping[str, Emit] = {
    "neg": _op("arith.negf"),
    "abs": _op("math.absf"),
    "recip": _recip,
    "sqrt": _op("math.sqrt"),
    "rsqrt": lambda b, x: _recip(b, b.op("math.sqrt", [x])),
    "exp": _op("math.exp"),
    "exp2": _op("math.exp2"),
    "log": _op("math.log"),
    "log2": _op("math.log2"),
    "sin": _op("math.sin"),
    "cos": _op("math.cos"),
    "tanh": _op("math.tanh"),
    "erf": _op("math.erf"),
    "sigmoid": _sigmoid,
    "floor": _op("math.floor"),
    "add": _op("arith.addf"),
    "sub": _op("arith.subf"),
    "mul": _op("arith.mulf"),
    "div": _op("arith.divf"),
    "mod": float_remainder,
    "minimum": minimum_float,
    "maximum": maximum_float,
    "less_than": _compare("olt"),
    "less_equal": _compare("ole"),
    "equal": _compare("oeq"),
    "not_equal": _compare("une"),
}

_INT: Mapping[str, Emit] = {
    "neg": _negate_int,
    "abs": _abs_int,
    "add": _op("arith.addi"),
    "sub": _op("arith.subi"),
    "mul": _op("arith.muli"),
    "mod": _mod_int,
    "floor_div": _floor_div_int,
    "minimum": _op("arith.minsi"),
    "maximum": _op("arith.maxsi"),
    "less_than": _compare("slt"),
    "less_equal": _compare("sle"),
    "equal": _compare("eq"),
    "not_equal": _compare("ne"),
    "not": _not,
    "and": _op("arith.andi"),
    "or": _op("arith.ori"),
    "xor": _op("arith.xori"),
}

_BOOL: Mapping[str, Emit] = {
    "add": _op("arith.ori"),
    "mul": _op("arith.andi"),
    "maximum": _op("arith.ori"),
    "minimum": _op("arith.andi"),
    # false < true: on unsigned values.
    "less_than": _compare("ult"),
    "less_equal": lambda b, lhs, rhs: b.op("arith.ori", [_not(b, lhs), rhs]),
    "equal": _compare("eq"),
    "not_equal": _compare("ne"),
    "not": _not,
    "and": _op("arith.andi"),
    "or": _op("arith.ori"),
    "xor": _op("arith.xori"),
}
