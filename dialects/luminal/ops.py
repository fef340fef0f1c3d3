"""The `luminal` dialect: fifteen primitives, `constant` and `view`, on whole tensors with value semantics.

Dtypes are f64 f32 f16 bf16 i64 i32 i1. Half types compute in f32 and round once. Integers wrap. There is no
broadcasting: operands have equal types, and `view` makes them equal.
"""

# mypy: disable-error-code="call-arg,name-defined,misc,attr-defined,type-var"
# `ext` builds op classes at run time, from annotations that no static checker understands.

from collections.abc import Sequence
from typing import Any

from ...errors import VerifyError
from ..definition import trailing_operands
from ..mlir import ext, ir
from ..symbolic import IndexMap
from ..types import DTYPES, FLOATS, dims_of, dtype_of, is_tensor
from ..verify import (
    require,
    require_dims,
    require_dtype,
    require_in_bounds,
    require_map,
    require_same_type,
    require_tensor,
    verifier,
)

_NUMBERS = tuple(dtype for dtype in DTYPES if dtype != "i1")


class Luminal(ext.Dialect, name="luminal"):
    """The primitive ops that every imported model is made of (L1)."""


def _verify_unary(op: ir.OpView) -> None:
    require_tensor(op.operands[0].type, "operand")
    require_dtype(op.operands[0].type, FLOATS, "operand's element type")
    require_same_type(op.operands[0].type, op.results[0].type, "result type differs from the operand's")


class UnaryOp(Luminal.Operation):
    """A function of one float tensor, element by element; IEEE special values as in C's libm."""

    x: ext.Operand[Any]
    result: ext.Result[Any]

    verify_invariants = verifier(_verify_unary)


class Log2Op(UnaryOp, name="log2", traits=[ext.Pure]):
    """Base-2 logarithm: log2(0) = -inf, NaN below zero."""


class Exp2Op(UnaryOp, name="exp2", traits=[ext.Pure]):
    """2 to the power x."""


class SinOp(UnaryOp, name="sin", traits=[ext.Pure]):
    """Sine of x in radians; NaN at infinities."""


class SqrtOp(UnaryOp, name="sqrt", traits=[ext.Pure]):
    """Square root: sqrt(-0) = -0, NaN below zero."""


class RecipOp(UnaryOp, name="recip", traits=[ext.Pure]):
    """1 / x: a signed infinity at signed zero."""


def _verify_binary(op: ir.OpView) -> None:
    require_tensor(op.operands[0].type, "operand")
    dtype_of(op.operands[0].type)
    require_same_type(op.operands[0].type, op.operands[1].type, "operand types differ")
    require_same_type(op.operands[0].type, op.results[0].type, "result type differs from the operands'")


class BinaryOp(Luminal.Operation):
    """A function of two tensors of one type, element by element."""

    a: ext.Operand[Any]
    b: ext.Operand[Any]
    result: ext.Result[Any]

    verify_invariants = verifier(_verify_binary)


class AddOp(BinaryOp, name="add", traits=[ext.Pure]):
    """a + b; logical or for i1."""


class MulOp(BinaryOp, name="mul", traits=[ext.Pure]):
    """a * b; logical and for i1."""


def _verify_mod(op: ir.OpView) -> None:
    _verify_binary(op)
    require_dtype(op.operands[0].type, _NUMBERS, "operands' element type")


class ModOp(BinaryOp, name="mod", traits=[ext.Pure]):
    """Exact remainder with the divisor's sign; x mod 0 is NaN for floats, 0 for integers."""

    verify_invariants = verifier(_verify_mod)


def _verify_less_than(op: ir.OpView) -> None:
    dims = require_tensor(op.operands[0].type, "operand")
    dtype_of(op.operands[0].type)
    require_same_type(op.operands[0].type, op.operands[1].type, "operand types differ")
    require_dtype(op.results[0].type, ("i1",), "result's element type")
    require_dims(op.results[0].type, dims, "result")


class LessThanOp(BinaryOp, name="less_than", traits=[ext.Pure]):
    """a < b as i1; false wherever one is NaN; false < true."""

    verify_invariants = verifier(_verify_less_than)


def _verify_reduce(op: ir.OpView) -> None:
    dims = require_tensor(op.operands[0].type, "operand")
    dtype = dtype_of(op.operands[0].type)
    axes = list(op.axes)
    require(bool(axes), "needs at least one axis")
    require(axes == sorted(set(axes)), f"axes must be increasing, got {axes}")
    require(0 <= axes[0] and axes[-1] < len(dims), f"axes {axes} are out of range for rank {len(dims)}")
    require_dtype(op.results[0].type, (dtype,), "result's element type")
    require_dims(op.results[0].type, [dim for axis, dim in enumerate(dims) if axis not in axes], "result")


class ReduceOp(Luminal.Operation):
    """Combine along `axes`, which are dropped from the shape."""

    x: ext.Operand[Any]
    result: ext.Result[Any]

    REQUIRED = {"axes": ir.DenseI64ArrayAttr}
    verify_invariants = verifier(_verify_reduce)

    @property
    def axes(self) -> ir.DenseI64ArrayAttr:
        """The axes that are dropped, increasing."""
        return self.attributes["axes"]


def _verify_sum(op: ir.OpView) -> None:
    _verify_reduce(op)
    require_dtype(op.operands[0].type, _NUMBERS, "operand's element type")


class SumReduceOp(ReduceOp, name="sum_reduce", traits=[ext.Pure]):
    """Sum; half types accumulate in f32 and round once; the empty sum is 0."""

    verify_invariants = verifier(_verify_sum)


class MaxReduceOp(ReduceOp, name="max_reduce", traits=[ext.Pure]):
    """Maximum; NaN wins; the empty maximum is -inf, the least integer, or false."""


def _verify_iota(op: ir.OpView) -> None:
    dims = require_tensor(op.results[0].type, "result")
    require_dtype(op.results[0].type, ("i64",), "result's element type")
    require_map(op.map, len(dims), 1)
    IndexMap.from_attr(op.map, dims)


class IotaOp(Luminal.Operation, name="iota", traits=[ext.Pure]):
    """The value of an index expression at each coordinate, as i64."""

    map: ir.AffineMapAttr
    result: ext.Result[Any]

    verify_invariants = verifier(_verify_iota)


def _verify_gather(op: ir.OpView) -> None:
    source, result = op.operands[0].type, op.results[0].type
    source_dims = require_tensor(source, "source")
    dims = require_tensor(result, "result")
    require_dtype(result, (dtype_of(source),), "result's element type")
    indices = list(op.operands)[1:]
    for position, index in enumerate(indices):
        require_dtype(index.type, ("i64",), f"element type of index {position}")
        require_dims(index.type, dims, f"index {position}")
    require_map(op.map, len(dims) + len(indices), len(source_dims))


@trailing_operands
class GatherOp(Luminal.Operation, name="gather", traits=[ext.Pure]):
    """result[c] = source[map(c, indices[c])]; a coordinate outside the source is clamped to its edge.

    Indices are i64 tensors of the result's shape. Reading a source without elements gives 0.
    """

    source: ext.Operand[Any]
    indices: Sequence[ext.Operand[Any]]
    map: ir.AffineMapAttr
    result: ext.Result[Any]

    verify_invariants = verifier(_verify_gather)


SCATTER_MODES = ("set", "add")


def _verify_scatter(op: ir.OpView) -> None:
    base, updates = op.operands[0].type, op.operands[1].type
    base_dims = require_tensor(base, "base")
    update_dims = require_tensor(updates, "updates")
    require_dtype(updates, (dtype_of(base),), "element type of the updates")
    require_same_type(base, op.results[0].type, "result type differs from the base's")
    indices = list(op.operands)[2:]
    for position, index in enumerate(indices):
        require_dtype(index.type, ("i64",), f"element type of index {position}")
        require_dims(index.type, update_dims, f"index {position}")
    require_map(op.map, len(update_dims) + len(indices), len(base_dims))
    require(op.mode.value in SCATTER_MODES, f'mode must be "set" or "add", got "{op.mode.value}"')


@trailing_operands
class ScatterOp(Luminal.Operation, name="scatter", traits=[ext.Pure]):
    """A copy of `base` with out[map(c, indices[c])] set or added to, c in row-major order of the updates.

    Coordinates outside the base drop the write; of duplicates in mode "set" the last wins.
    """

    base: ext.Operand[Any]
    updates: ext.Operand[Any]
    indices: Sequence[ext.Operand[Any]]
    map: ir.AffineMapAttr
    mode: ir.StringAttr
    result: ext.Result[Any]

    verify_invariants = verifier(_verify_scatter)


def _verify_cast(op: ir.OpView) -> None:
    dims = require_tensor(op.operands[0].type, "operand")
    dtype_of(op.operands[0].type)
    dtype_of(op.results[0].type)
    require_dims(op.results[0].type, dims, "result")


class CastOp(Luminal.Operation, name="cast", traits=[ext.Pure]):
    """Convert the element type.

    Float to integer truncates, NaN and values out of range give the least integer. To i1: x != 0 (NaN is
    true).
    Integer to integer wraps. To a half type rounds once, to nearest even.
    """

    x: ext.Operand[Any]
    result: ext.Result[Any]

    verify_invariants = verifier(_verify_cast)


def _verify_constant(op: ir.OpView) -> None:
    type_ = op.results[0].type
    if not is_tensor(type_) or not type_.has_static_shape:
        raise VerifyError(f"result must be a tensor of static shape, got '{type_}'")
    dtype_of(type_)
    if op.value.type != type_:
        raise VerifyError(f"value has type '{op.value.type}', result '{type_}'")


class ConstantOp(Luminal.Operation, name="constant", traits=[ext.Pure]):
    """A small literal tensor. Weights are never constants: they are arguments of the function."""

    result: ext.Result[Any]

    REQUIRED = {"value": ir.DenseElementsAttr}
    verify_invariants = verifier(_verify_constant)

    @property
    def value(self) -> ir.DenseElementsAttr:
        """The elements."""
        return self.attributes["value"]


def _verify_view(op: ir.OpView) -> None:
    source_dims = require_tensor(op.operands[0].type, "operand")
    dims = require_tensor(op.results[0].type, "result")
    require_dtype(op.results[0].type, (dtype_of(op.operands[0].type),), "result's element type")
    require_map(op.map, len(dims), len(source_dims))
    require_in_bounds(IndexMap.from_attr(op.map, dims), source_dims, "map")


class ViewOp(Luminal.Operation, name="view", traits=[ext.Pure]):
    """result[c] = x[map(c)]; the map stays inside x. Moves no data: consumers read through the map."""

    x: ext.Operand[Any]
    map: ir.AffineMapAttr
    result: ext.Result[Any]

    verify_invariants = verifier(_verify_view)


def map_of(op: ir.OpView) -> IndexMap:
    """The map of an iota, gather, scatter or view, with extents; index values are unbounded."""
    if isinstance(op, ScatterOp):
        extents, index_values = dims_of(op.operands[1].type), len(op.operands) - 2
    else:
        extents = dims_of(op.results[0].type)
        index_values = len(op.operands) - 1 if isinstance(op, GatherOp) else 0
    return IndexMap.from_attr(op.attributes["map"], (*extents, *[None] * index_values))
