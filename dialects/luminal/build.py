"""Builders of `luminal` ops that infer result types. All use the current insertion point and location."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ..definition import create
from ..mlir import ir
from ..symbolic import Expr, IndexMap, dim_vars, reshape_map
from ..types import FLOATS, dims_of, dtype_of, scalar_type, tensor_type
from . import ops

Scalar = bool | int | float


def _create(
    cls: type[ir.OpView], operands: Sequence[ir.Value], result: ir.Type, **attributes: ir.Attribute
) -> ir.Value:
    return create(cls, operands, [result], attributes).results[0]


def log2(x: ir.Value) -> ir.Value:
    """Base-2 logarithm."""
    return _create(ops.Log2Op, [x], x.type)


def exp2(x: ir.Value) -> ir.Value:
    """2 to the power x."""
    return _create(ops.Exp2Op, [x], x.type)


def sin(x: ir.Value) -> ir.Value:
    """Sine."""
    return _create(ops.SinOp, [x], x.type)


def sqrt(x: ir.Value) -> ir.Value:
    """Square root."""
    return _create(ops.SqrtOp, [x], x.type)


def recip(x: ir.Value) -> ir.Value:
    """1 / x."""
    return _create(ops.RecipOp, [x], x.type)


def add(a: ir.Value, b: ir.Value) -> ir.Value:
    """a + b (types equal)."""
    return _create(ops.AddOp, [a, b], a.type)


def mul(a: ir.Value, b: ir.Value) -> ir.Value:
    """a * b (types equal)."""
    return _create(ops.MulOp, [a, b], a.type)


def mod(a: ir.Value, b: ir.Value) -> ir.Value:
    """Remainder with the divisor's sign (types equal)."""
    return _create(ops.ModOp, [a, b], a.type)


def less_than(a: ir.Value, b: ir.Value) -> ir.Value:
    """a < b as i1 (types equal)."""
    return _create(ops.LessThanOp, [a, b], with_dtype(a.type, "i1"))


def with_dtype(type_: ir.RankedTensorType, dtype: str) -> ir.RankedTensorType:
    """The same dims with another element type."""
    return ir.RankedTensorType.get(type_.shape, scalar_type(dtype), type_.encoding)


def _reduce(cls: type[ir.OpView], x: ir.Value, axes: Sequence[int]) -> ir.Value:
    if not axes:
        return x
    kept = [dim for axis, dim in enumerate(dims_of(x.type)) if axis not in axes]
    return _create(cls, [x], tensor_type(kept, dtype_of(x.type)), axes=ir.DenseI64ArrayAttr.get(sorted(axes)))


def sum_reduce(x: ir.Value, axes: Sequence[int]) -> ir.Value:
    """Sum along axes, which are dropped; x itself if there are none."""
    return _reduce(ops.SumReduceOp, x, axes)


def max_reduce(x: ir.Value, axes: Sequence[int]) -> ir.Value:
    """Maximum along axes, which are dropped; x itself if there are none."""
    return _reduce(ops.MaxReduceOp, x, axes)


MapLike: TypeAlias = Any
"""An IndexMap, an affine map, or its attribute."""


def _map_and_dims(
    index_map: MapLike, dims: Sequence[Expr | int] | None, index_values: int = 0
) -> tuple[ir.AffineMapAttr, Sequence[Expr | int]]:
    if isinstance(index_map, IndexMap):
        extents = index_map.extents[: len(index_map.extents) - index_values]
        return index_map.to_attr(), [extent for extent in extents if extent is not None]
    if dims is None:
        raise ValueError("an affine map does not say the result's dims: pass them, or an IndexMap")
    return index_map if isinstance(index_map, ir.AffineMapAttr) else ir.AffineMapAttr.get(index_map), dims


def iota(index_map: MapLike, dims: Sequence[Expr | int] | None = None) -> ir.Value:
    """i64 tensor holding the map's one result at each coordinate."""
    attr, extents = _map_and_dims(index_map, dims)
    return _create(ops.IotaOp, [], tensor_type(extents, "i64"), map=attr)


def iota_axis(dims: Sequence[Expr | int], axis: int) -> ir.Value:
    """i64 tensor of shape `dims` holding the coordinate along `axis`."""
    return iota(IndexMap.of(dims, [dim_vars(dims)[axis]]))


def symbol_value(expr: Expr) -> ir.Value:
    """Rank-0 i64 tensor with the run-time value of a symbolic expression."""
    return iota(IndexMap.of((), [expr]))


def gather(
    source: ir.Value,
    indices: Sequence[ir.Value],
    index_map: MapLike,
    dims: Sequence[Expr | int] | None = None,
) -> ir.Value:
    """source[map(c, indices[c])], clamped. The map's extents: result dims, then None per index."""
    attr, extents = _map_and_dims(index_map, dims, len(indices))
    result = tensor_type(extents, dtype_of(source.type))
    return _create(ops.GatherOp, [source, *indices], result, map=attr)


def scatter(
    base: ir.Value, updates: ir.Value, indices: Sequence[ir.Value], index_map: MapLike, mode: str = "set"
) -> ir.Value:
    """base with updates written through the map. The map's extents: update dims, then None per index."""
    attr, _ = _map_and_dims(index_map, (), len(indices))
    operands = [base, updates, *indices]
    return _create(ops.ScatterOp, operands, base.type, map=attr, mode=ir.StringAttr.get(mode))


def cast(x: ir.Value, dtype: str) -> ir.Value:
    """Convert to another element type; x itself if it has that type already."""
    if dtype_of(x.type) == dtype:
        return x
    return _create(ops.CastOp, [x], with_dtype(x.type, dtype))


def view(x: ir.Value, index_map: MapLike, dims: Sequence[Expr | int] | None = None) -> ir.Value:
    """result[c] = x[map(c)]; x itself if the map is the identity onto x's dims."""
    attr, extents = _map_and_dims(index_map, dims)
    result = tensor_type(extents, dtype_of(x.type))
    if isinstance(index_map, IndexMap) and index_map.is_identity and index_map.extents == dims_of(x.type):
        return x
    return _create(ops.ViewOp, [x], result, map=attr)


def reshape(x: ir.Value, dims: Sequence[Expr | int]) -> ir.Value:
    """View with other dims and the same row-major order. ValueError if the element counts differ."""
    return view(x, reshape_map(dims_of(x.type), dims))


def permute(x: ir.Value, order: Sequence[int]) -> ir.Value:
    """View whose axis k is x's axis order[k]."""
    return view(x, IndexMap.permutation(dims_of(x.type), order))


def broadcast(x: ir.Value, dims: Sequence[Expr | int]) -> ir.Value:
    """View broadcast to dims, trailing axes aligned. ValueError if the shapes do not broadcast."""
    return view(x, IndexMap.broadcast(dims_of(x.type), dims))


def constant(value: Scalar | np.ndarray, dtype: str, dims: Sequence[Expr | int] = ()) -> ir.Value:
    """A literal. A scalar becomes a rank-0 constant, broadcast to `dims`; an array keeps its own shape."""
    array = np.asarray(value)
    type_ = tensor_type(array.shape, dtype)
    element = scalar_type(dtype)
    if dtype in FLOATS:
        elements = [ir.FloatAttr.get(element, float(item)) for item in array.flat]
    else:
        elements = [ir.IntegerAttr.get(element, int(item)) for item in array.flat]
    literal = _create(ops.ConstantOp, [], type_, value=ir.DenseElementsAttr.get(elements, type_))
    return broadcast(literal, dims) if array.ndim == 0 and len(dims) else literal


def constant_values(attr: ir.DenseElementsAttr) -> np.ndarray:
    """The elements of a constant: float64, int64 or bool array of the attribute's shape."""
    shape, dtype = tuple(attr.type.shape), dtype_of(attr.type)
    kind = np.float64 if dtype in FLOATS else (np.bool_ if dtype == "i1" else np.int64)
    if attr.is_splat and 0 not in shape:
        return np.full(shape, attr.get_splat_value().value, kind)
    if dtype == "bf16":
        return _bfloat16_values(str(attr)).reshape(shape)
    return np.array(attr).astype(kind).reshape(shape)


def _bfloat16_values(text: str) -> np.ndarray:
    """NumPy's buffers know no bfloat16, so its elements are read from the attribute's text."""
    body = text[text.index("<") + 1 : text.rindex(" : ") - 1]
    if body.startswith('"0x'):
        bits = np.frombuffer(bytes.fromhex(body[3:-1]), np.uint16)
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    tokens = re.findall(r"0x[0-9A-Fa-f]+|[-+.0-9eE]+", body)
    values = [_bfloat16_bits(int(token, 16)) if token.startswith("0x") else float(token) for token in tokens]
    return np.array(values, np.float64)


def _bfloat16_bits(bits: int) -> float:
    return float((np.array([bits], np.uint32) << 16).view(np.float32)[0])
