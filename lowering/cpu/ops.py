"""The scalar functions of the `kernel` dialect as code, on scalars or on vectors of any length.

Half types are f32 values here: an op computes in f32, and its result is rounded to the half type. No integer
op can trap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...errors import LoweringError
from .emit import COMPUTE, Scope, type_text
from .vecmath import FUNCTIONS, Maths, apply, call_libm

_FLOATS = ("f64", "f32", "f16", "bf16")
_EXACT = {"neg", "abs", "floor", "select", "minimum", "maximum"}
"""Ops whose result on half values is a half value: nothing to round."""


@dataclass(frozen=True)
class Operation:
    """One scalar op to emit: where, on how many lanes (0: a scalar), and the dtype of its operands."""

    scope: Scope
    lanes: int
    dtype: str

    @property
    def is_float(self) -> bool:
        """Whether the operands are floats."""
        return self.dtype in _FLOATS

    @property
    def maths(self) -> Maths:
        """Float arithmetic in the compute type of the operands."""
        return Maths(self.scope, self.lanes, COMPUTE[self.dtype])

    @property
    def type(self) -> str:
        """MLIR type of the operands."""
        return type_text(COMPUTE[self.dtype], self.lanes)

    def constant(self, value: float | int) -> str:
        """A constant of the operands' type."""
        return self.scope.kernel.constant(COMPUTE[self.dtype], value, self.lanes)

    def arith(self, op: str, *operands: str) -> str:
        """An op of `arith` on the operands' type."""
        return self.scope.assign(f"arith.{op} {', '.join(operands)} : {self.type}")

    def select(self, condition: str, a: str, b: str) -> str:
        """a where the condition holds, else b."""
        flags = f"{type_text('i1', self.lanes)}, " if self.lanes else ""
        return self.scope.assign(f"arith.select {condition}, {a}, {b} : {flags}{self.type}")

    def flags(self, op: str, a: str, b: str) -> str:
        """An op of `arith` on i1 values."""
        return self.scope.assign(f"arith.{op} {a}, {b} : {type_text('i1', self.lanes)}")


Emitter = Callable[..., str]


def _by_kind(float_op: str, integer_op: str, bool_op: str = "") -> Emitter:
    def emit(o: Operation, *operands: str) -> str:
        op = float_op if o.is_float else bool_op if o.dtype == "i1" else integer_op
        if not op:
            raise LoweringError(f"no such op on {o.dtype}")
        return o.arith(op, *operands)

    return emit


def _comparison(ordered: str, signed: str, unsigned: str) -> Emitter:
    def emit(o: Operation, a: str, b: str) -> str:
        if o.is_float:
            return o.arith(f"cmpf {ordered},", a, b)
        return o.arith(f"cmpi {unsigned if o.dtype == 'i1' else signed},", a, b)

    return emit


def _extreme(predicate: str, integer_op: str, bool_op: str) -> Emitter:
    def emit(o: Operation, a: str, b: str) -> str:
        if not o.is_float:
            return o.arith(bool_op if o.dtype == "i1" else integer_op, a, b)
        # The first selection is one instruction, which gives b if either is NaN; the second keeps a's NaN.
        best = o.select(o.arith(f"cmpf {predicate},", a, b), a, b)
        return o.select(o.arith("cmpf uno,", a, a), a, best)

    return emit


def _negate(o: Operation, x: str) -> str:
    return o.arith("negf", x) if o.is_float else o.arith("subi", o.constant(0), x)


def _absolute(o: Operation, x: str) -> str:
    return o.maths.op("math.absf", x) if o.is_float else o.arith("maxsi", x, _negate(o, x))


def _floor(o: Operation, x: str) -> str:
    return o.maths.op("math.floor", x) if o.is_float else x


def _reciprocal(o: Operation, x: str) -> str:
    return o.maths.div(o.constant(1.0), x)


def _square_root(o: Operation, x: str) -> str:
    return o.maths.op("math.sqrt", x)


def _not(o: Operation, x: str) -> str:
    return o.arith("xori", x, o.constant(1 if o.dtype == "i1" else -1))


def _safe_divisor(o: Operation, divisor: str) -> tuple[str, str, str]:
    """(divisor with 0 and -1 replaced by 1, where it was 0, where it was -1)."""
    zero = o.arith("cmpi eq,", divisor, o.constant(0))
    minus = o.arith("cmpi eq,", divisor, o.constant(-1))
    return o.select(o.flags("ori", zero, minus), o.constant(1), divisor), zero, minus


def _modulo(o: Operation, a: str, b: str) -> str:
    if o.is_float:
        return _float_modulo(o, a, b)
    safe, _, _ = _safe_divisor(o, b)  # the remainder by 1 is the 0 that 0 and -1 give
    remainder = o.arith("remsi", a, safe)
    wrong = o.arith("cmpi slt,", o.arith("xori", remainder, safe), o.constant(0))
    wrong = o.flags("andi", wrong, o.arith("cmpi ne,", remainder, o.constant(0)))
    return o.select(wrong, o.arith("addi", remainder, safe), remainder)


def _float_modulo(o: Operation, a: str, b: str) -> str:
    m, zero = o.maths, o.constant(0.0)
    remainder = call_libm(m, "fmodf" if m.element == "f32" else "fmod", a, b)
    signs = [m.compare("olt", x, zero) for x in (remainder, b)]
    wrong = o.flags("andi", o.flags("xori", *signs), m.compare("one", remainder, zero))
    return m.select(wrong, m.add(remainder, b), remainder)


def _floor_division(o: Operation, a: str, b: str) -> str:
    safe, zero, minus = _safe_divisor(o, b)
    quotient = o.arith("divsi", a, safe)
    remainder = o.arith("subi", a, o.arith("muli", quotient, safe))
    wrong = o.arith("cmpi slt,", o.arith("xori", remainder, safe), o.constant(0))
    wrong = o.flags("andi", wrong, o.arith("cmpi ne,", remainder, o.constant(0)))
    quotient = o.select(wrong, o.arith("subi", quotient, o.constant(1)), quotient)
    quotient = o.select(minus, _negate(o, a), quotient)
    return o.select(zero, o.constant(0), quotient)


def _function(name: str) -> Emitter:
    def emit(o: Operation, x: str) -> str:
        return apply(o.maths, name, x)

    return emit


OPS: dict[str, Emitter] = {
    **{name: _function(name) for name in FUNCTIONS},
    "neg": _negate,
    "abs": _absolute,
    "floor": _floor,
    "recip": _reciprocal,
    "sqrt": _square_root,
    "rsqrt": lambda o, x: _reciprocal(o, _square_root(o, x)),
    "not": _not,
    "add": _by_kind("addf", "addi", "ori"),
    "sub": _by_kind("subf", "subi"),
    "mul": _by_kind("mulf", "muli", "andi"),
    "div": _by_kind("divf", ""),
    "mod": _modulo,
    "floor_div": _floor_division,
    "minimum": _extreme("olt", "minsi", "andi"),
    "maximum": _extreme("ogt", "maxsi", "ori"),
    "less_than": _comparison("olt", "slt", "ult"),
    "less_equal": _comparison("ole", "sle", "ule"),
    "equal": _comparison("oeq", "eq", "eq"),
    "not_equal": _comparison("une", "ne", "ne"),
    "and": _by_kind("", "andi", "andi"),
    "or": _by_kind("", "ori", "ori"),
    "xor": _by_kind("", "xori", "xori"),
}
"""Every scalar op but `select` and `cast`, on operands of one dtype."""


def emit_op(scope: Scope, op: str, lanes: int, dtype: str, operands: Sequence[str]) -> str:
    """The op on operands of `dtype` (for `select`: condition first, `dtype` that of the others).

    Raises LoweringError for an op that this target does not know.
    """
    o = Operation(scope, lanes, dtype)
    if op == "select":
        return o.select(*operands)
    if op not in OPS:
        raise LoweringError(f"the CPU target has no code for 'kernel.{op}'")
    result = OPS[op](o, *operands)
    if dtype in ("f16", "bf16") and op not in _EXACT and op not in COMPARISONS:
        result = round_half(o.maths, dtype, result)
    return result


COMPARISONS = ("less_than", "less_equal", "equal", "not_equal")


def round_half(m: Maths, dtype: str, x: str) -> str:
    """An f32 value rounded (to nearest, ties to even) to one that the half type can hold."""
    if dtype == "f16":
        half = type_text("f16", m.lanes)
        narrow = m.scope.assign(f"arith.truncf {x} : {m.type} to {half}")
        return m.scope.assign(f"arith.extf {narrow} : {half} to {m.type}")
    bits = m.bits(x)
    odd = m.whole_op("andi", m.whole_op("shrui", bits, m.whole(16)), m.whole(1))
    bits = m.whole_op("addi", bits, m.whole_op("addi", odd, m.whole(0x7FFF)))
    rounded = m.from_bits(m.whole_op("andi", bits, m.whole(-65536)))
    return m.select(m.compare("uno", x, x), m.constant(float("nan")), rounded)


def emit_cast(scope: Scope, lanes: int, source: str, target: str, x: str) -> str:
    """`x` of dtype `source` as dtype `target`."""
    if source == target:
        return x
    o = Operation(scope, lanes, source)
    if target == "i1":
        return (
            o.maths.compare("une", x, o.constant(0.0))
            if o.is_float
            else o.arith("cmpi ne,", x, o.constant(0))
        )
    to = type_text(COMPUTE[target], lanes)
    if o.is_float:
        if target in ("i64", "i32"):
            return _float_to_integer(o, target, x)
        return _float_to_float(o, target, to, x)
    if target in _FLOATS:
        op = "uitofp" if source == "i1" else "sitofp"
        value = scope.assign(f"arith.{op} {x} : {o.type} to {to}")
        m = Maths(scope, lanes, COMPUTE[target])
        return round_half(m, target, value) if target in ("f16", "bf16") and source != "i1" else value
    op = "extui" if source == "i1" else "trunci" if target == "i32" else "extsi"
    return scope.assign(f"arith.{op} {x} : {o.type} to {to}")


def _float_to_integer(o: Operation, target: str, x: str) -> str:
    """Truncation; NaN and what is out of range give the least integer (`fptosi` alone would be undefined)."""
    m, bits = o.maths, int(target[1:])
    low, high = -(2.0 ** (bits - 1)), 2.0 ** (bits - 1)
    above = m.compare("oge", x, m.constant(low))
    if target == "i32" and m.element == "f64":
        above = m.compare("ogt", x, m.constant(low - 1.0))
    inside = o.flags("andi", above, m.compare("olt", x, m.constant(high)))
    safe = m.select(inside, x, m.constant(0.0))
    whole = o.scope.assign(f"arith.fptosi {safe} : {m.type} to {type_text(target, o.lanes)}")
    least = o.scope.kernel.constant(target, -(1 << (bits - 1)), o.lanes)
    return Operation(o.scope, o.lanes, target).select(inside, whole, least)


def _float_to_float(o: Operation, target: str, to: str, x: str) -> str:
    m = o.maths
    if target == "f64":
        return o.scope.assign(f"arith.extf {x} : {m.type} to {to}")
    if m.element == "f32":
        return x if target == "f32" else round_half(m, target, x)
    if target == "f32":
        return o.scope.assign(f"arith.truncf {x} : {m.type} to {to}")
    return round_half(Maths(o.scope, o.lanes), target, _truncate_to_odd(o, to, x))


def _truncate_to_odd(o: Operation, to: str, x: str) -> str:
    """f64 to f32, an inexact result made odd: rounding that once more to a half is as rounding x once."""
    wide, narrow = o.maths, Maths(o.scope, o.lanes)
    near = o.scope.assign(f"arith.truncf {x} : {wide.type} to {to}")
    back = o.scope.assign(f"arith.extf {near} : {to} to {wide.type}")
    inexact = wide.compare("one", back, x)
    sizes = [wide.op("math.absf", value) for value in (back, x)]
    bits = narrow.bits(near)
    outside = o.scope.assign(
        f"arith.extui {wide.compare('ogt', *sizes)} : {type_text('i1', o.lanes)} to {narrow.integers}"
    )
    # Towards zero, then the last bit set: the odd neighbour of the two that enclose x.
    odd = narrow.from_bits(narrow.whole_op("ori", narrow.whole_op("subi", bits, outside), narrow.whole(1)))
    return narrow.select(inexact, odd, near)
