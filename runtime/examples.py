"""Example inputs that torch.export can trace: it takes a size of 0 or 1 for a constant, even where the caller
says that the dim is dynamic.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

_TRACED = 2
"""The least size that torch.export does not take for a constant."""


def traceable(module: torch.nn.Module, example: Arguments, dynamic_shapes: Any) -> Arguments:
    """The example with its dims of size 0 or 1 that `dynamic_shapes` gives a `torch.export.Dim` made larger.

    Elements are repeated, so values that index stay in range. Dims whose largest size is 1, and expressions
    such as `2 * dim`, are left as they are.
    """
    args, kwargs = example
    places = dim_places(module, example, dynamic_shapes)
    derived = {dim.root.__name__ for _, _, dim in places if hasattr(dim, "root")}
    larger: dict[int, dict[int, int]] = {}
    for tensor, axis, dim in places:
        named = not hasattr(dim, "root") and dim.__name__ not in derived
        if named and tensor.shape[axis] < _TRACED <= dim.max:
            larger.setdefault(id(tensor), {})[axis] = max(_TRACED, dim.min)

    def enlarge(leaf: Any) -> Any:
        for axis, size in larger.get(id(leaf), {}).items():
            shape = [*leaf.shape[:axis], size, *leaf.shape[axis + 1 :]]
            leaf = leaf.expand(shape).clone() if leaf.shape[axis] else leaf.new_zeros(shape)
        return leaf

    return pytree.tree_map(enlarge, args), pytree.tree_map(enlarge, kwargs)


def dim_places(
    module: torch.nn.Module, example: Arguments, dynamic_shapes: Any
) -> list[tuple[torch.Tensor, int, Any]]:
    """Where `dynamic_shapes` gives a `torch.export.Dim`: tensor of the example, axis, Dim."""
    args, kwargs = example
    places: list[tuple[torch.Tensor, int, Any]] = []
    values: Any = args
    if isinstance(dynamic_shapes, Mapping):
        try:
            values = inspect.signature(module.forward).bind(*args, **kwargs).arguments
        except TypeError:
            return places  # torch.export says what is wrong
    _collect(values, dynamic_shapes, places)
    return places


def _collect(value: Any, spec: Any, places: list[tuple[torch.Tensor, int, Any]]) -> None:
    if isinstance(value, torch.Tensor):
        items = spec.items() if isinstance(spec, Mapping) else enumerate(spec or ())
        rank = value.dim()
        places += [(value, axis % rank, dim) for axis, dim in items if isinstance(dim, Dim) and rank]
    elif isinstance(value, Mapping) and isinstance(spec, Mapping):
        for key in value:
            _collect(value[key], spec.get(key), places)
    elif isinstance(value, list | tuple) and isinstance(spec, list | tuple):
        for item, inner in zip(value, spec, strict=False):
            _collect(item, inner, places)
