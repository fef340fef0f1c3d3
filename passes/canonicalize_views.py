"""The pass `canonicalize-views`: what the import leaves redundant in index maps goes away before the search.

It only composes and shares; it chooses nothing. Run right after `torch-to-luminal`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..dialects.mlir import ir
from ..dialects.symbolic import IndexMap
from ..dialects.types import NUMPY_DTYPES, dims_of, dtype_of, scope_of


@dataclass(frozen=True)
class CanonicalizeViewsOptions:
    """The pass has no options."""


def canonicalize_views(op: ir.Operation, options: CanonicalizeViewsOptions) -> dict[str, object]:
    """Compose views of views, drop identity views, fold scalar constants, share equal ops, remove dead ones.

    before:  %1 = view(%0) {(d0, d1) -> (d1, d0)};  %2 = view(%1) {(d0, d1) -> (d1, d0)};  add(%2, %2)
    after:   add(%0, %0)

    Also: a view of an iota is an iota, and a view of a splat constant is a view of a rank-0 constant.
    Arithmetic on rank-0 constants is folded where the result is exact, so no rounding moves.
    """
    before = after = 0
    with op.context, ir.Location.unknown():
        for function in op.regions[0].blocks[0].operations:
            if function.operation.name == "func.func" and len(function.regions[0].blocks) == 1:
                sweep = _Sweep(function.operation)
                before += sweep.count
                after += sweep.run()
    return {"ops before": before, "ops after": after}


class _Sweep:
    """One forward pass over a function, then removal of what nothing uses."""

    def __init__(self, function: ir.Operation) -> None:
        self.function = function
        self.operations = [view.operation for view in function.regions[0].blocks[0].operations]
        self.count = len(self.operations)
        self.producers: dict[ir.Value, ir.Operation] = {}
        self.seen: dict[Any, ir.Operation] = {}
        self.maps: dict[Any, IndexMap] = {}

    def run(self) -> int:
        """Rewrite in place and return how many ops are left."""
        kept: list[ir.Operation] = []
        with scope_of(self.function):
            for operation in self.operations:
                if not operation.name.startswith("luminal."):
                    kept.append(operation)
                    continue
                operation = self._fold(operation)
                replacement = self._equal_value(operation)
                if replacement is None:
                    self.producers[operation.results[0]] = operation
                    kept.append(operation)
                else:
                    operation.results[0].replace_all_uses_with(replacement)
                    operation.erase()
        return _erase_dead(kept)

    def _fold(self, operation: ir.Operation) -> ir.Operation:
        if operation.name == "luminal.view":
            return self._fold_view(operation)
        fold = _SCALAR_FOLDS.get(operation.name)
        return operation if fold is None else self._fold_scalar(operation, fold)

    def _map(self, operation: ir.Operation) -> IndexMap:
        """The map of a view or an iota over its result's coordinates."""
        key = (operation.attributes["map"], operation.results[0].type)
        if key not in self.maps:
            self.maps[key] = IndexMap.from_attr(
                operation.attributes["map"], dims_of(operation.results[0].type)
            )
        return self.maps[key]

    def _fold_view(self, view: ir.Operation) -> ir.Operation:
        source = self.producers.get(view.operands[0])
        if source is None:
            return view
        if source.name == "luminal.view":
            composed = self._map(source).compose(self._map(view))
            view.operands[0] = source.operands[0]
            view.attributes["map"] = composed.to_attr()
        elif source.name == "luminal.iota":
            composed = self._map(source).compose(self._map(view))
            return _replace(view, "luminal.iota", [], {"map": composed.to_attr()})
        elif source.name == "luminal.constant":
            value = ir.DenseElementsAttr(source.attributes["value"])
            if value.is_splat and ir.RankedTensorType(source.results[0].type).rank:
                kind = ir.RankedTensorType.get([], ir.RankedTensorType(source.results[0].type).element_type)
                scalar = ir.DenseElementsAttr.get_splat(kind, value.get_splat_value())
                constant = ir.Operation.create(
                    "luminal.constant",
                    [kind],
                    [],
                    {"value": scalar},
                    loc=source.location,
                    ip=ir.InsertionPoint(source),
                )
                extents = self._map(view).extents
                view.operands[0] = constant.result
                view.attributes["map"] = IndexMap(extents, ()).to_attr()
        return view

    def _fold_scalar(self, operation: ir.Operation, fold: Callable[..., Any]) -> ir.Operation:
        sources = [self.producers.get(operand) for operand in operation.operands]
        values = [None if source is None else _scalar_constant(source) for source in sources]
        if any(value is None for value in values) or not operation.operands:
            return operation
        dtype = dtype_of(operation.results[0].type)
        with np.errstate(all="ignore"):
            result = fold(*values, NUMPY_DTYPES[dtype].type) if dtype not in ("f16", "bf16") else None
        if result is None:
            return operation
        attribute = _scalar_attribute(result, operation.results[0].type, dtype)
        return _replace(operation, "luminal.constant", [], {"value": attribute})

    def _equal_value(self, operation: ir.Operation) -> ir.Value | None:
        """The value that this op's result is equal to, if there is one already."""
        if operation.name == "luminal.view" and operation.operands[0].type == operation.results[0].type:
            if self._map(operation).is_identity:
                return operation.operands[0]
        attributes = tuple((name, operation.attributes[name]) for name in operation.attributes)
        key = (operation.name, tuple(operation.operands), attributes, operation.results[0].type)
        found = self.seen.setdefault(key, operation)
        return None if found is operation else found.results[0]


def _replace(
    operation: ir.Operation, name: str, operands: list[ir.Value], attributes: dict[str, ir.Attribute]
) -> ir.Operation:
    new = ir.Operation.create(
        name,
        [operation.results[0].type],
        operands,
        attributes,
        loc=operation.location,
        ip=ir.InsertionPoint(operation),
    )
    operation.results[0].replace_all_uses_with(new.results[0])
    operation.erase()
    return new


def _erase_dead(operations: list[ir.Operation]) -> int:
    left = 0
    for operation in reversed(operations):
        if operation.name.startswith("luminal.") and next(iter(operation.results[0].uses), None) is None:
            operation.erase()
        else:
            left += 1
    return left


# Exact arithmetic on rank-0 constants. Each function gets NumPy scalars and the result's NumPy type, and
# returns None where the result would be rounded.


def _scalar_constant(operation: ir.Operation) -> Any | None:
    if operation.name != "luminal.constant":
        return None
    kind = ir.RankedTensorType(operation.results[0].type)
    dtype = dtype_of(kind)
    if kind.rank or dtype in ("f16", "bf16"):
        return None
    attribute = ir.DenseElementsAttr(operation.attributes["value"]).get_splat_value()
    value = ir.FloatAttr(attribute).value if dtype in ("f32", "f64") else ir.IntegerAttr(attribute).value
    return NUMPY_DTYPES[dtype].type(value)


def _scalar_attribute(value: Any, kind: ir.Type, dtype: str) -> ir.Attribute:
    element = ir.RankedTensorType(kind).element_type
    if dtype in ("f32", "f64"):
        return ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(element, float(value)))
    return ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(element, int(value)))


def _exact(value: Any) -> Fraction | None:
    return Fraction(value.item()) if np.isfinite(value) else None


def _arithmetic(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Any], Any | None]:
    def fold(a: Any, b: Any, kind: Any) -> Any | None:
        result = apply(a, b)
        if not isinstance(result, np.floating):
            return result
        left, right, rounded = _exact(a), _exact(b), _exact(result)
        if left is None or right is None or rounded is None:
            return None
        return result if apply(left, right) == rounded else None

    return fold


def _fold_recip(a: Any, kind: Any) -> Any | None:
    value = _exact(a)
    result = kind(1) / a
    inverse = _exact(result)
    return result if value and inverse and value * inverse == 1 else None


def _fold_sqrt(a: Any, kind: Any) -> Any | None:
    result = np.sqrt(a)
    value, root = _exact(a), _exact(result)
    return result if value is not None and root is not None and root * root == value else None


def _fold_cast(a: Any, kind: Any) -> Any | None:
    value = _exact(a)
    if value is None:
        return None
    limits = np.iinfo(kind) if issubclass(kind, np.integer) else None
    if limits is not None and not limits.min <= value <= limits.max:
        return None
    result = kind(a)
    # To bool everything but zero is true; elsewhere a change of value would be a rounding.
    return result if kind is np.bool_ or Fraction(result.item()) == value else None


_SCALAR_FOLDS: dict[str, Callable[..., Any]] = {
    "luminal.add": _arithmetic(lambda a, b: a + b),
    "luminal.mul": _arithmetic(lambda a, b: a * b),
    "luminal.recip": _fold_recip,
    "luminal.sqrt": _fold_sqrt,
    "luminal.cast": _fold_cast,
}
