"""lgamma, digamma, trigamma and erfinv: rational approximations and asymptotic series.

Relative errors away from zeros of the function: 2e-15 in f64 and 6e-7 in f32 (trigamma: eager's own 5e-10).

 lgamma    fdlibm's pieces: around 1.46 and 2, below, on [2, 8), Stirling's series above; reflection below 0
 digamma   the asymptotic series at x + 10 less 1 / x + ... + 1 / (x + 9); reflection below 0
 trigamma  eager's own formula, term by term
 erfinv    Wichura's algorithm AS 241 (PPND16) for the normal quantile
"""

from __future__ import annotations

import math
from collections.abc import Callable

from . import composite
from .builder import Builder, Tensor
from .promotion import float_dtype, in_opmath
from .registry import Unsupported, converter

# lgamma on [1, 2], by distance y: to 2 (A, even and odd powers apart), to the minimum (T, by thirds), to 1.
_A_EVEN = (
    7.72156649015328655494e-02,
    6.73523010531292681824e-02,
    7.38555086081402883957e-03,
    1.19270763183362067845e-03,
    2.20862790713908385557e-04,
    2.52144565451257326939e-05,
)
_A_ODD = (
    3.22467033424113591611e-01,
    2.05808084325167332806e-02,
    2.89051383673415629091e-03,
    5.10069792153511336608e-04,
    1.08011567247583939954e-04,
    4.48640949618915160150e-05,
)
_MINIMUM_AT, _MINIMUM, _MINIMUM_TAIL = (
    1.46163214496836224576e00,
    -1.21486290535849611461e-01,
    -3.63867699703950536541e-18,
)
_T = (
    (
        4.83836122723810047042e-01,
        -3.27885410759859649565e-02,
        6.10053870246291332635e-03,
        -1.40346469989232843813e-03,
        3.15632070903625950361e-04,
    ),
    (
        -1.47587722994593911752e-01,
        1.79706750811820387126e-02,
        -3.68452016781138256760e-03,
        8.81081882437654011382e-04,
        -3.12754168375120860518e-04,
    ),
    (
        6.46249402391333854778e-02,
        -1.03142241298341437450e-02,
        2.25964780900612472250e-03,
        -5.38595305356740546715e-04,
        3.35529192635519073543e-04,
    ),
)
_U = (
    -7.72156649015328655494e-02,
    6.32827064025093366517e-01,
    1.45492250137234768737e00,
    9.77717527963372745603e-01,
    2.28963728064692451092e-01,
    1.33810918536787660377e-02,
)
_V = (
    1.0,
    2.45597793713041134822e00,
    2.12848976379893395361e00,
    7.69285150456672783825e-01,
    1.04222645593369134254e-01,
    3.21709242282423911810e-03,
)
# lgamma on [2, 3), by the distance to 2.
_S = (
    -7.72156649015328655494e-02,
    2.14982415960608852501e-01,
    3.25778796408930981787e-01,
    1.46350472652464452805e-01,
    2.66422703033638609560e-02,
    1.84028451407337715652e-03,
    3.19475326584100867617e-05,
)
_R = (
    1.0,
    1.39200533467621045958e00,
    7.21935547567138069525e-01,
    1.71933865632803078993e-01,
    1.86459191715652901344e-02,
    7.77942496381893596434e-04,
    7.32668430744625636189e-06,
)
# Stirling's series in 1 / x.
_W = (
    8.33333333333329678849e-02,
    -2.77777777728775536470e-03,
    7.93650558643019558500e-04,
    -5.95187557450339963135e-04,
    8.36339918996282139126e-04,
    -1.63092934096575273989e-03,
)
_W_CONSTANT = 4.18938533204672725052e-01


def _ratio(b: Builder, x: Tensor, above: tuple[float, ...], below: tuple[float, ...]) -> Tensor:
    return composite.div(b, composite.horner(b, x, above), composite.horner(b, x, below))


def _lgamma_below_2(b: Builder, x: Tensor) -> Tensor:
    """0 <= x < 2; below 0.9 it is the value at x + 1 less log x, with distances that are exact."""
    small = composite.le(b, x, 0.9)
    shift = b.cast(small, x.dtype)
    start = composite.select(b, small, composite.neg(b, composite.log(b, x)), 0)
    place = b.add(x, shift)

    y = composite.sub(b, composite.sub(b, 2, shift), x)
    z = b.mul(y, y)
    odd = b.mul(z, composite.horner(b, z, _A_ODD))
    near_two = b.add(b.mul(y, composite.horner(b, z, _A_EVEN)), odd)
    near_two = composite.sub(b, near_two, b.mul(y, 0.5))

    y = composite.sub(
        b, x, composite.select(b, small, _MINIMUM_AT - 1, b.full(x.shape, _MINIMUM_AT, x.dtype))
    )
    z = b.mul(y, y)
    w = b.mul(z, y)
    first, second, third = (composite.horner(b, w, part) for part in _T)
    tail = composite.sub(b, _MINIMUM_TAIL, b.mul(w, b.add(second, b.mul(y, third))))
    middle = b.add(composite.sub(b, b.mul(z, first), tail), _MINIMUM)

    y = composite.sub(b, x, composite.sub(b, 1, shift))
    near_one = b.add(b.mul(y, -0.5), b.mul(y, _ratio(b, y, _U, _V)))

    value = composite.select(b, b.less_than(place, 1.7316), middle, near_two)
    return b.add(start, composite.select(b, b.less_than(place, 1.23), near_one, value))


def _lgamma_below_8(b: Builder, x: Tensor) -> Tensor:
    """2 <= x < 8: the value at 2 + (x mod 1), and the logarithm of the factors in between."""
    y = b.mod(x, 1)
    value = b.add(b.mul(y, 0.5), b.mul(y, _ratio(b, y, _S, _R)))
    factors = b.full(x.shape, 1.0, x.dtype)
    for step in range(3, 8):
        factors = composite.select(b, b.less_than(x, step), factors, b.mul(factors, b.add(y, step - 1)))
    return b.add(value, composite.log(b, factors))


def _lgamma_above_8(b: Builder, x: Tensor) -> Tensor:
    z = b.recip(x)
    series = b.add(b.mul(z, composite.horner(b, b.mul(z, z), _W)), _W_CONSTANT)
    return b.add(b.mul(composite.sub(b, x, 0.5), composite.sub(b, composite.log(b, x), 1)), series)


def lgamma(b: Builder, x: Tensor) -> Tensor:
    """log |gamma(x)|; infinite at 0, -1, -2, ... and at both infinities."""
    size = composite.absolute(b, x)
    value = composite.select(b, b.less_than(size, 8), _lgamma_below_8(b, size), _lgamma_above_8(b, size))
    value = composite.select(b, b.less_than(size, 2), _lgamma_below_2(b, size), value)
    fraction = b.mod(size, 1)
    fraction = composite.minimum(b, fraction, composite.sub(b, 1, fraction))
    sine = b.sin(b.mul(fraction, math.pi))
    reflected = composite.log(b, composite.div(b, math.pi, b.mul(sine, size)))
    reflected = composite.sub(b, reflected, value)
    # Closer to 0 than that, the value is -log|x|, and the quotient might overflow.
    value = composite.select(b, b.less_than(x, -1e-18), reflected, value)
    whole = b.mul(composite.eq(b, fraction, 0), composite.le(b, x, 0))
    return composite.select(b, b.add(whole, composite.eq(b, size, math.inf)), math.inf, value)


# The derivatives of Stirling's series, in 1 / x^2.
_PSI = (
    8.33333333333333333333e-2,
    -8.33333333333333333333e-3,
    3.96825396825396825397e-3,
    -4.16666666666666666667e-3,
    7.57575757575757575758e-3,
    -2.10927960927960927961e-2,
    8.33333333333333333333e-2,
)


def digamma(b: Builder, x: Tensor) -> Tensor:
    """The derivative of lgamma: -inf at +0, inf at -0, NaN at the negative integers and at -inf. Computed in
    f64, since terms of size 3 cancel around the zero at 1.46."""
    dtype, x = x.dtype, b.cast(x, "f64")
    negative = b.less_than(x, 0)
    y = composite.select(b, negative, composite.sub(b, 1, x), x)
    shifted = b.add(y, 10)
    inverse = b.recip(shifted)
    square = b.mul(inverse, inverse)
    value = composite.sub(b, composite.log(b, shifted), b.mul(inverse, 0.5))
    value = composite.sub(b, value, b.mul(square, composite.horner(b, square, _PSI)))
    steps = b.recip(b.add(y, 9))
    for step in range(8, -1, -1):
        steps = b.add(steps, b.recip(b.add(y, step) if step else y))
    value = composite.sub(b, value, steps)
    angle = b.mul(composite.fmod(b, x, 1), math.pi)
    cotangent = composite.div(b, composite.cos(b, angle), b.sin(angle))
    value = composite.select(b, negative, composite.sub(b, value, b.mul(cotangent, math.pi)), value)
    pole = b.mul(negative, composite.eq(b, b.mod(composite.absolute(b, x), 1), 0))
    return b.cast(composite.select(b, pole, math.nan, value), dtype)


def trigamma(b: Builder, x: Tensor) -> Tensor:
    """The second derivative of lgamma."""
    low = b.less_than(x, 0.5)
    sine = b.sin(b.mul(x, math.pi))
    pole = composite.div(b, -math.pi * math.pi, b.mul(sine, sine))
    y = composite.select(b, low, composite.sub(b, 1, x), x)
    value = composite.select(b, low, pole, 0)
    for _ in range(6):
        value = b.add(value, b.recip(b.mul(y, y)))
        y = b.add(y, 1)
    inverse = b.recip(y)
    square = b.mul(inverse, inverse)
    series = b.add(b.mul(inverse, 0.5), 1)
    series = b.add(series, b.mul(square, composite.horner(b, square, (1 / 6, -1 / 30, 1 / 42))))
    value = b.add(value, b.mul(series, inverse))
    return composite.select(b, low, composite.neg(b, value), value)


_CENTRAL = (
    (
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ),
    (
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)
_OUTER = (
    (
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)
_TAIL = (
    (
        6.65790464350110377720e0,
        5.46378491116411436990e0,
        1.78482653991729133580e0,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ),
    (
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ),
)


def erfinv(b: Builder, x: Tensor) -> Tensor:
    """Infinite at 1 and -1, NaN beyond."""
    size = composite.absolute(b, x)
    half = b.mul(x, 0.5)
    central = b.mul(half, _ratio(b, composite.sub(b, 0.180625, b.mul(half, half)), *_CENTRAL))
    tail = b.mul(composite.sub(b, 1, size), 0.5)
    depth = b.sqrt(composite.neg(b, composite.log(b, tail)))
    outer = _ratio(b, composite.sub(b, depth, 1.6), *_OUTER)
    far = _ratio(b, composite.sub(b, depth, 5), *_TAIL)
    outer = composite.select(b, b.less_than(5, depth), far, outer)
    outer = composite.select(b, composite.eq(b, size, 1), math.inf, outer)
    outer = composite.select(b, b.less_than(x, 0), composite.neg(b, outer), outer)
    return b.mul(composite.select(b, composite.le(b, size, 0.85), central, outer), math.sqrt(0.5))


_FUNCTIONS: dict[str, Callable[[Builder, Tensor], Tensor]] = {
    "lgamma": lgamma,
    "digamma": digamma,
    "erfinv": erfinv,
}


def _register(name: str, compute: Callable[[Builder, Tensor], Tensor]) -> None:
    @converter(f"torch.aten.{name}")
    def convert(b: Builder, x: Tensor) -> Tensor:
        return in_opmath(b, compute, float_dtype(x), x)


for _name, _compute in _FUNCTIONS.items():
    _register(_name, _compute)


@converter("torch.aten.polygamma")
def convert_polygamma(b: Builder, order: int, x: Tensor) -> Tensor:
    if order not in (0, 1):
        raise Unsupported(f"polygamma of order {order}")
    return in_opmath(b, trigamma if order else digamma, float_dtype(x), x)
