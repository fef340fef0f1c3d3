"""Dtype conversions and ops that copy."""

from __future__ import annotations

from typing import Any

from .builder import Builder, Tensor
from .dtypes import from_scalar_type
from .registry import converter


@converter(
    "torch.aten._to_copy",
    "torch.prims.convert_element_type",
    "torch.aten.to.dtype",
    "torch.aten.to.dtype_layout",
)
def convert_to_dtype(b: Builder, x: Tensor, dtype: int | None, *_: Any) -> Tensor:
    return x if dtype is None else b.cast(x, from_scalar_type(dtype))


@converter("torch.aten.type_as", "torch.aten.to.other")
def convert_type_as(b: Builder, x: Tensor, other: Tensor, *_: Any) -> Tensor:
    return b.cast(x, other.dtype)


@converter(
    "torch.aten.clone",
    "torch.aten.contiguous",
    "torch.aten.detach",
    "torch.aten.detach_copy",
    "torch.aten.alias",
    "torch.aten.alias_copy",
    "torch.aten.lift_fresh_copy",
    "torch.aten.to.device",
    "torch.aten.to.prim_Device",
    "torch.prims.device_put",
    "torch.aten.view_copy.dtype",
    "torch.aten.cpu",
)
def convert_copy(b: Builder, x: Tensor, *rest: Any) -> Tensor:
    return b.cast(x, b.results[0].dtype or x.dtype)


@converter("torch.aten.copy")
def convert_copy_from(b: Builder, target: Tensor, source: Tensor, _non_blocking: bool) -> Tensor:
    return b.broadcast(b.cast(source, target.dtype), target.shape)
