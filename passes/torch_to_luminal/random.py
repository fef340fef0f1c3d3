"""Dropout and random numbers.

Dropout outside training, or with probability zero, is the identity. Anything that draws numbers is refused: a
compiled program is a pure function of its inputs, and numbers baked in at compile time would repeat on every
call.
"""

from __future__ import annotations

from .builder import Builder, Tensor
from .registry import Unsupported, converter


@converter("torch.aten.dropout", "torch.aten.feature_dropout", "torch.aten.alpha_dropout")
def convert_dropout(b: Builder, x: Tensor, p: float, train: bool) -> Tensor:
    if train and p != 0.0:
        raise Unsupported("dropout in training mode draws random numbers; call model.eval() first")
    return x


@converter("torch.aten.native_dropout")
def convert_native_dropout(b: Builder, x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    return convert_dropout(b, x, p, train is not False), b.full(x.shape, True, "i1")


@converter(
    "torch.aten.rand",
    "torch.aten.rand_like",
    "torch.aten.randn",
    "torch.aten.randn_like",
    "torch.aten.randint",
    "torch.aten.randint.low",
    "torch.aten.randint_like",
    "torch.aten.randint_like.low_dtype",
    "torch.aten.randperm",
    "torch.aten.bernoulli",
    "torch.aten.bernoulli.p",
    "torch.aten.uniform",
    "torch.aten.multinomial",
    "torch.aten.normal_functional",
    "torch.aten.exponential",
)
def refuse_random(b: Builder, *operands: object) -> Tensor:
    raise Unsupported("random numbers would be the same on every call; draw them outside and pass them in")
