"""Activation functions, each computed in the opmath dtype and rounded once, as eager's kernels do."""

from __future__ import annotations

import math
from collections.abc import Callable

from . import composite
from .builder import Builder, Operand, Tensor
from .pointwise import clamp
from .promotion import in_opmath
from .registry import Unsupported, converter
from .transcendental import expm1, log1p
from .views import narrow


@converter("torch.aten.relu")
def convert_relu(b: Builder, x: Tensor) -> Tensor:
    return composite.relu(b, x)


@converter("torch.aten.relu6")
def convert_relu6(b: Builder, x: Tensor) -> Tensor:
    return clamp(b, x, 0, 6)


@converter("torch.aten.hardtanh")
def convert_hardtanh(b: Builder, x: Tensor, low: Operand, high: Operand) -> Tensor:
    return clamp(b, x, low, high)


def gelu_erf(b: Builder, x: Tensor) -> Tensor:
    """mul(mul(x, 0.5), add(erf(mul(x, sqrt(1/2))), 1))"""
    return b.mul(b.mul(x, 0.5), b.add(composite.erf(b, b.mul(x, math.sqrt(0.5))), 1))


def gelu_tanh(b: Builder, x: Tensor) -> Tensor:
    """mul(mul(x, 0.5), add(tanh(mul(add(x, mul(mul(mul(x, x), x), 0.044715)), sqrt(2/pi))), 1))"""
    cube = b.mul(b.mul(x, x), x)
    inner = b.mul(b.add(x, b.mul(cube, 0.044715)), math.sqrt(2 / math.pi))
    return b.mul(b.mul(x, 0.5), b.add(composite.tanh(b, inner), 1))


@converter("torch.aten.gelu")
def convert_gelu(b: Builder, x: Tensor, approximate: str) -> Tensor:
    if approximate not in ("none", "tanh"):
        raise Unsupported(f"gelu with approximate={approximate!r}")
    return in_opmath(b, gelu_tanh if approximate == "tanh" else gelu_erf, x.dtype, x)


@converter("torch.aten.silu")
def convert_silu(b: Builder, x: Tensor) -> Tensor:
    return in_opmath(b, composite.silu, x.dtype, x)


@converter("torch.aten.mish")
def convert_mish(b: Builder, x: Tensor) -> Tensor:
    return in_opmath(b, lambda b, x: b.mul(x, composite.tanh(b, softplus(b, x, 1, 20))), x.dtype, x)


def softplus(b: Builder, x: Tensor, beta: float, threshold: float) -> Tensor:
    """log1p(exp(beta x)) / beta, x where beta x > threshold"""
    scaled = b.mul(x, beta) if beta != 1 else x
    soft = log1p(b, composite.exp(b, scaled))
    soft = composite.div(b, soft, beta) if beta != 1 else soft
    return composite.select(b, b.less_than(threshold, scaled), x, soft)


@converter("torch.aten.softplus")
def convert_softplus(b: Builder, x: Tensor, beta: float, threshold: float) -> Tensor:
    return in_opmath(b, lambda b, x: softplus(b, x, beta, threshold), x.dtype, x)


@converter("torch.aten.log_sigmoid_forward")
def convert_log_sigmoid_forward(b: Builder, x: Tensor) -> tuple[Tensor, Tensor]:
    """Also gives exp(-|x|), which eager's CPU kernel keeps for the backward."""
    return convert_log_sigmoid(b, x), in_opmath(b, _decay, x.dtype, x)


@converter("torch.aten.log_sigmoid")
def convert_log_sigmoid(b: Builder, x: Tensor) -> Tensor:
    """min(x, 0) - log1p(exp(-|x|))"""

    def compute(b: Builder, x: Tensor) -> Tensor:
        return composite.sub(b, composite.minimum(b, x, 0), log1p(b, _decay(b, x)))

    return in_opmath(b, compute, x.dtype, x)


def _decay(b: Builder, x: Tensor) -> Tensor:
    """exp(-|x|)"""
    return composite.exp(b, composite.neg(b, composite.absolute(b, x)))


def _piecewise(b: Builder, x: Tensor, negative: Callable[[Builder, Tensor], Tensor]) -> Tensor:
    """x where x > 0, else negative(x) (NaN goes to the second)."""
    return composite.select(b, b.less_than(0, x), x, negative(b, x))


@converter("torch.aten.leaky_relu")
def convert_leaky_relu(b: Builder, x: Tensor, slope: float) -> Tensor:
    return in_opmath(b, lambda b, x: _piecewise(b, x, lambda b, x: b.mul(x, slope)), x.dtype, x)


@converter("torch.aten.prelu", "torch.aten._prelu_kernel")
def convert_prelu(b: Builder, x: Tensor, weight: Tensor) -> Tensor:
    if weight.rank == 1 and x.rank > 1 and weight.shape[0].is_const and weight.shape[0].value > 1:
        weight = b.view(weight, [weight.shape[0], *[1] * (x.rank - 2)], lambda *dims: [dims[0]])

    def compute(b: Builder, x: Tensor, w: Tensor) -> Tensor:
        return composite.select(b, b.less_than(0, x), x, b.mul(w, x))

    return in_opmath(b, compute, x.dtype, x, weight)


@converter("torch.aten.elu")
def convert_elu(b: Builder, x: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    def compute(b: Builder, x: Tensor) -> Tensor:
        negative = b.mul(expm1(b, b.mul(x, input_scale)), alpha * scale)
        return composite.select(b, b.less_than(0, x), b.mul(x, scale), negative)

    return in_opmath(b, compute, x.dtype, x)


@converter("torch.aten.celu")
def convert_celu(b: Builder, x: Tensor, alpha: float) -> Tensor:
    return convert_elu(b, x, alpha, 1.0, 1.0 / alpha)


@converter("torch.aten.selu")
def convert_selu(b: Builder, x: Tensor) -> Tensor:
    return convert_elu(b, x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0)


@converter("torch.aten.hardswish")
def convert_hardswish(b: Builder, x: Tensor) -> Tensor:
    def compute(b: Builder, x: Tensor) -> Tensor:
        return composite.div(b, b.mul(x, clamp(b, b.add(x, 3), 0, 6)), 6)

    return in_opmath(b, compute, x.dtype, x)


@converter("torch.aten.hardsigmoid")
def convert_hardsigmoid(b: Builder, x: Tensor) -> Tensor:
    return in_opmath(b, lambda b, x: composite.div(b, clamp(b, b.add(x, 3), 0, 6), 6), x.dtype, x)


@converter("torch.aten.threshold")
def convert_threshold(b: Builder, x: Tensor, threshold: Operand, value: Operand) -> Tensor:
    """value where x <= threshold; NaN stays."""
    bound = b.full(x.shape, threshold, x.dtype)
    return composite.select(b, composite.le(b, x, bound), b.full(x.shape, value, x.dtype), x)


@converter("torch.aten.hardshrink")
def convert_hardshrink(b: Builder, x: Tensor, lambd: float) -> Tensor:
    inside = b.mul(composite.le(b, -lambd, x), composite.le(b, x, lambd))
    return composite.select(b, inside, 0, x)


@converter("torch.aten.softshrink")
def convert_softshrink(b: Builder, x: Tensor, lambd: float) -> Tensor:
    def compute(b: Builder, x: Tensor) -> Tensor:
        low = composite.select(b, b.less_than(x, -lambd), b.add(x, lambd), b.mul(x, 0))
        return composite.select(b, b.less_than(lambd, x), composite.sub(b, x, lambd), low)

    return in_opmath(b, compute, x.dtype, x)


@converter("torch.aten.glu")
def convert_glu(b: Builder, x: Tensor, axis: int) -> Tensor:
    at = axis % x.rank
    half = x.shape[at] // 2
    value, gate = narrow(b, x, at, 0, half), narrow(b, x, at, half, half)
    return in_opmath(b, lambda b, v, g: b.mul(v, composite.sigmoid(b, g)), x.dtype, value, gate)
