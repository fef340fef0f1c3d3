"""Vector maths of luminal's own: elementary functions of f32 vectors and scalars in `arith` and `math` ops.

Upstream `math` functions on vectors end as one libm call per element, 10 to 50 times slower. These here use a
handful of fused multiply-adds, on any target, with NaN, infinities, signed zeros and denormals as in C.
Largest errors in units in the last place: exp, exp2, log, log2, sin and cos 2; sigmoid 3; tanh and erf 6
(3.5e-7, next to 1). f64 goes to libm, which is exact to the last place.

Sources: Cody and Waite, Software Manual for the Elementary Functions (range reduction); Moshier's Cephes
(log, sin, cos);
the coefficients of exp, exp2, tanh and erf are minimax fits made for these ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .emit import Scope, type_text

LOG2_E = 1.4426950408889634
_ROUND = 12582912.0  # 1.5 * 2**23: a float sum of about this size has the nearest integer in its low bits
_LN2 = (0.693359375, -2.12194440054690583e-4)  # in two parts: small multiples of the first are exact
_EXP = (
    *(1.0, 0.4999999403953552, 0.16666430234909058),
    *(0.04166800528764725, 0.008374196477234364, 0.0013843602500855923),
)
_EXP2 = (
    *(0.6931471824645996, 0.24022649228572845, 0.05550357326865196),
    *(0.009618237614631653, 0.001339075854048133, 0.00015403491852339357),
)
_LOG = (
    *(3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1, -1.6668057665e-1, 1.4249322787e-1),
    *(-1.2420140846e-1, 1.1676998740e-1, -1.1514610310e-1, 7.0376836292e-2),
)
_SIN = (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4)
_COS = (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)
_HALF_PI = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
_LARGE_ANGLE = 65536.0  # beyond, three parts of pi/2 are too few
_TANH_P = (1.0, 0.1337975710630417, 0.0034940806217491627, 2.0584193407557905e-05, 1.3319962910429695e-08)
_TANH_Q = (1.0, 0.46713072061538696, 0.02587125077843666, 0.00032831664429977536, 7.762404834465997e-07)
_ERF_P = (
    *(1.1283791065216064, 0.19058509171009064, 0.052768200635910034),
    *(0.0037721965927630663, 0.0002848382282536477, 2.046122290266794e-06),
)
_ERF_Q = (
    *(1.0, 0.5022343993186951, 0.11417918652296066),
    *(0.01498248241841793, 0.0011637774296104908, 3.8048496207920834e-05),
)


class Maths:
    """Writes arithmetic into a scope: on values of `lanes` elements (0: scalars) of a float type."""

    def __init__(self, scope: Scope, lanes: int, element: str = "f32") -> None:
        self.scope = scope
        self.lanes = lanes
        self.element = element
        self.type = type_text(element, lanes)
        self.integer = "i" + element[1:]
        self.integers = type_text(self.integer, lanes)

    def constant(self, value: float) -> str:
        """A float constant."""
        return self.scope.kernel.constant(self.element, value, self.lanes)

    def whole(self, value: int) -> str:
        """A constant of the integer type as wide as the float type."""
        return self.scope.kernel.constant(self.integer, value, self.lanes)

    def op(self, op: str, *operands: str) -> str:
        """A float op of `arith` or `math`."""
        return self.scope.assign(f"{op} {', '.join(operands)} : {self.type}")

    def whole_op(self, op: str, *operands: str) -> str:
        """An integer op of `arith`."""
        return self.scope.assign(f"arith.{op} {', '.join(operands)} : {self.integers}")

    def add(self, a: str, b: str) -> str:
        """a + b"""
        return self.op("arith.addf", a, b)

    def sub(self, a: str, b: str) -> str:
        """a - b"""
        return self.op("arith.subf", a, b)

    def mul(self, a: str, b: str) -> str:
        """a * b"""
        return self.op("arith.mulf", a, b)

    def div(self, a: str, b: str) -> str:
        """a / b"""
        return self.op("arith.divf", a, b)

    def fma(self, a: str, b: str, c: str) -> str:
        """a * b + c, rounded once"""
        return self.op("math.fma", a, b, c)

    def compare(self, predicate: str, a: str, b: str) -> str:
        """A float comparison: a vector of i1."""
        return self.scope.assign(f"arith.cmpf {predicate}, {a}, {b} : {self.type}")

    def select(self, condition: str, a: str, b: str) -> str:
        """a where the condition holds, else b"""
        if not self.lanes:
            return self.scope.assign(f"arith.select {condition}, {a}, {b} : {self.type}")
        flags = type_text("i1", self.lanes)
        return self.scope.assign(f"arith.select {condition}, {a}, {b} : {flags}, {self.type}")

    def clamp(self, x: str, low: float, high: float) -> str:
        """x limited to [low, high]; NaN stays."""
        top, bottom = self.constant(high), self.constant(low)
        x = self.select(self.compare("olt", top, x), top, x)
        return self.select(self.compare("ogt", bottom, x), bottom, x)

    def bits(self, x: str) -> str:
        """The bit pattern of a float."""
        return self.scope.assign(f"arith.bitcast {x} : {self.type} to {self.integers}")

    def from_bits(self, x: str) -> str:
        """The float of a bit pattern."""
        return self.scope.assign(f"arith.bitcast {x} : {self.integers} to {self.type}")

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """Horner's scheme; the constant term comes first."""
        result = self.constant(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            result = self.fma(result, x, self.constant(coefficient))
        return result


def _round(m: Maths, x: str, factor: float = 1.0, offset: int = 0) -> tuple[str, str]:
    """n, the integer nearest to x * factor, as a float, and an integer whose low 22 bits are n + offset.

    Both are any value if x is NaN; |n + offset| < 2**21.
    """
    magic = m.constant(_ROUND + offset)
    shifted = m.add(x, magic) if factor == 1.0 else m.fma(x, m.constant(factor), magic)
    return m.sub(shifted, magic), m.bits(shifted)


def _power(m: Maths, exponent: str) -> str:
    """2**(e - 127) for the e in 1..254 that the low bits of `exponent` hold."""
    return m.from_bits(m.whole_op("shli", exponent, m.whole(23)))


def _scale(m: Maths, x: str, exponent: str) -> str:
    """x * 2**(e - 254) for the e in 2..508 that the low bits of `exponent` hold.

    In two exact powers, and one rounding: denormal results are rounded once.
    """
    half = m.whole_op("shrui", exponent, m.whole(1))
    return m.mul(m.mul(x, _power(m, half)), _power(m, m.whole_op("subi", exponent, half)))


def exp2(m: Maths, x: str) -> str:
    """2**x"""
    x = m.clamp(x, -152.0, 129.0)
    whole, exponent = _round(m, x, offset=254)
    rest = m.sub(x, whole)
    return _scale(m, m.fma(rest, m.polynomial(rest, _EXP2), m.constant(1.0)), exponent)


def exp(m: Maths, x: str) -> str:
    """e**x"""
    x = m.clamp(x, -104.5, 89.0)
    whole, exponent = _round(m, x, LOG2_E, 254)
    rest = x
    for part in _LN2:
        rest = m.fma(whole, m.constant(-part), rest)
    return _scale(m, m.fma(rest, m.polynomial(rest, _EXP), m.constant(1.0)), exponent)


def _log_parts(m: Maths, x: str) -> tuple[str, str, str]:
    """(f, t, e) with log(x) = f + t + e * log(2) for finite x > 0; f is exact and t small."""
    tiny = m.compare("olt", x, m.constant(1.1754943508222875e-38))
    scaled = m.select(tiny, m.mul(x, m.constant(8388608.0)), x)
    root = m.whole(0x3F3504F3)  # bits of sqrt(1/2)
    offset = m.whole_op("subi", m.bits(scaled), root)
    exponent = m.scope.assign(
        f"arith.sitofp {m.whole_op('shrsi', offset, m.whole(23))} : {m.integers} to {m.type}"
    )
    exponent = m.select(tiny, m.sub(exponent, m.constant(23.0)), exponent)
    mantissa = m.from_bits(m.whole_op("addi", m.whole_op("andi", offset, m.whole(0x7FFFFF)), root))
    f = m.sub(mantissa, m.constant(1.0))
    square = m.mul(f, f)
    tail = m.mul(m.mul(f, square), m.polynomial(f, _LOG))
    return f, m.fma(square, m.constant(-0.5), tail), exponent


def _log_edges(m: Maths, x: str, result: str) -> str:
    """Put the results for zero, infinity, negative numbers and NaN."""
    infinity = m.constant(float("inf"))
    result = m.select(m.compare("oeq", x, infinity), infinity, result)
    result = m.select(m.compare("oge", x, m.constant(0.0)), result, m.constant(float("nan")))
    return m.select(m.compare("oeq", x, m.constant(0.0)), m.constant(float("-inf")), result)


def log(m: Maths, x: str) -> str:
    """Natural logarithm."""
    f, tail, exponent = _log_parts(m, x)
    tail = m.fma(exponent, m.constant(_LN2[1]), tail)
    return _log_edges(m, x, m.fma(exponent, m.constant(_LN2[0]), m.add(f, tail)))


def log2(m: Maths, x: str) -> str:
    """Logarithm to base 2."""
    f, tail, exponent = _log_parts(m, x)
    excess = m.constant(LOG2_E - 1.0)
    low = m.fma(f, excess, m.mul(tail, excess))
    return _log_edges(m, x, m.add(m.add(m.add(low, tail), f), exponent))


def _trigonometric(m: Maths, x: str, quarter: int, libm: str) -> str:
    """sin(x + quarter * pi/2): reduced to [-pi/4, pi/4], one of two polynomials; libm if large."""
    magnitude = m.op("math.absf", x)
    large = m.compare("ogt", magnitude, m.constant(_LARGE_ANGLE))
    whole, quadrant = _round(m, x, 0.6366197723675814)
    if quarter:
        quadrant = m.whole_op("addi", quadrant, m.whole(quarter))
    rest = x
    for part in _HALF_PI:
        rest = m.fma(whole, m.constant(-part), rest)
    square = m.mul(rest, rest)
    sine = m.fma(m.mul(rest, square), m.polynomial(square, _SIN), rest)
    cosine = m.fma(square, m.constant(-0.5), m.constant(1.0))
    cosine = m.fma(m.mul(square, square), m.polynomial(square, _COS), cosine)
    odd = m.whole_op("cmpi ne,", m.whole_op("andi", quadrant, m.whole(1)), m.whole(0))
    value = m.select(odd, cosine, sine)
    sign = m.whole_op("shli", m.whole_op("andi", quadrant, m.whole(2)), m.whole(30))
    value = m.from_bits(m.whole_op("xori", m.bits(value), sign))
    if not quarter:  # keeps -0, and saves nothing else: sin(x) rounds to x below 2**-12
        value = m.select(m.compare("olt", magnitude, m.constant(2.0**-12)), x, value)
    return _large_angles(m, x, value, large, libm)


def _large_angles(m: Maths, x: str, value: str, large: str, libm: str) -> str:
    """`value`, or what libm says of every lane if any lane's angle is large."""
    any_large = large
    if m.lanes:
        any_large = m.scope.assign(f"vector.reduction <or>, {large} : {type_text('i1', m.lanes)} into i1")
    fallback = m.scope.child()
    exact = call_libm(Maths(fallback, m.lanes, m.element), libm, x)
    result = m.scope.assign(f"scf.if {any_large} -> ({m.type}) {{")
    m.scope.lines += [*fallback.lines, f"scf.yield {exact} : {m.type}"]
    m.scope.lines += ["} else {", f"scf.yield {value} : {m.type}", "}"]
    return result


def sin(m: Maths, x: str) -> str:
    """Sine."""
    return _trigonometric(m, x, 0, "sinf")


def cos(m: Maths, x: str) -> str:
    """Cosine."""
    return _trigonometric(m, x, 1, "cosf")


def _rational(m: Maths, x: str, bound: float, p: Sequence[float], q: Sequence[float]) -> str:
    """The odd function x * p(x*x) / q(x*x), constant beyond `bound`, in [-1, 1]."""
    x = m.clamp(x, -bound, bound)
    square = m.mul(x, x)
    ratio = m.div(m.mul(x, m.polynomial(square, p)), m.polynomial(square, q))
    return m.clamp(ratio, -1.0, 1.0)


def tanh(m: Maths, x: str) -> str:
    """Hyperbolic tangent."""
    return _rational(m, x, 9.02, _TANH_P, _TANH_Q)


def erf(m: Maths, x: str) -> str:
    """Error function."""
    return _rational(m, x, 3.925, _ERF_P, _ERF_Q)


def sigmoid(m: Maths, x: str) -> str:
    """1 / (1 + exp(-x)); next to 1, a tiny exp(-x) may as well be a larger one that needs no second power."""
    x = m.clamp(x, -89.0, 86.0)
    whole, exponent = _round(m, x, -LOG2_E, 126)
    rest = x
    for part in _LN2:
        rest = m.fma(whole, m.constant(part), rest)
    # 2 * exp(-rest), so that the power of two is at most 2**127.
    doubled = [-2.0 * c if k % 2 == 0 else 2.0 * c for k, c in enumerate(_EXP)]
    twice = m.fma(rest, m.polynomial(rest, doubled), m.constant(2.0))
    one = m.constant(1.0)
    return m.div(one, m.fma(twice, _power(m, exponent), one))


FUNCTIONS: dict[str, Callable[[Maths, str], str]] = {
    "exp": exp,
    "exp2": exp2,
    "log": log,
    "log2": log2,
    "sin": sin,
    "cos": cos,
    "tanh": tanh,
    "erf": erf,
    "sigmoid": sigmoid,
}
"""Functions of f32 values."""


def call_libm(m: Maths, function: str, *operands: str) -> str:
    """A function of the C library, called for one lane after the other."""
    types = ", ".join([m.element] * len(operands))
    m.scope.kernel.functions[function] = f"func.func private @{function}({types}) -> {m.element}"
    call = f"func.call @{function}({{}}) : ({types}) -> {m.element}"
    if not m.lanes:
        return m.scope.assign(call.format(", ".join(operands)))
    index = m.scope.kernel.index_constant
    loop = m.scope.loop(index(0), index(m.lanes), index(1), [(operands[0], m.type)])
    lane = [loop.assign(f"llvm.extractelement {x}[{loop.index} : i64] : {m.type}") for x in operands]
    result = loop.assign(call.format(", ".join(lane)))
    vector = loop.arguments[0]
    inserted = loop.assign(f"llvm.insertelement {result}, {vector}[{loop.index} : i64] : {m.type}")
    return loop.close_loop([inserted])[0]


def apply(m: Maths, name: str, x: str) -> str:
    """The function `name` of a float: a polynomial for f32, libm for f64."""
    if m.element == "f32":
        return FUNCTIONS[name](m, x)
    if name != "sigmoid":
        return call_libm(m, name, x)
    one = m.constant(1.0)
    return m.div(one, m.add(one, call_libm(m, "exp", m.op("arith.negf", x))))
