"""Reference interpreter of the `luminal` dialect (L1): the meaning of each primitive as NumPy code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ...dialects import luminal as L
from ...dialects.mlir import ir
from ...dialects.scalar_ops import remainder
from ...dialects.types import FLOATS, dims_of, dtype_of
from .functions import Frame, Handler, evaluate_map, run_entry
from .values import COMPUTE_DTYPES, apply, convert, reduce_axes, round_to, scatter_into

_UNARY: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "luminal.log2": np.log2,
    "luminal.exp2": np.exp2,
    "luminal.sin": np.sin,
    "luminal.sqrt": np.sqrt,
    "luminal.recip": lambda x: 1 / x,
}

_BINARY: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "luminal.add": lambda a, b: np.add(a, b),
    "luminal.mul": lambda a, b: np.multiply(a, b),
    "luminal.mod": remainder,
    "luminal.less_than": np.less,
}


def run_l1(
    module_or_func: ir.Module | ir.Operation | ir.OpView, args: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Run a function of `luminal` ops on arrays; bf16 arrays are uint16 bits.

    Symbols are solved from the arguments' shapes. Raises InputError if an argument does not fit.
    """
    return run_entry(module_or_func, args, HANDLERS)


def _elementwise(frame: Frame, op: ir.OpView) -> list[np.ndarray]:
    name = op.operation.name
    function = _UNARY.get(name) or _BINARY[name]
    return [apply(function, dtype_of(op.operands[0].type), *frame.operands(op))]


def _reduce(frame: Frame, op: ir.OpView) -> list[np.ndarray]:
    kind = "sum" if isinstance(op, L.SumReduceOp) else "max"
    return [reduce_axes(frame.operands(op)[0], kind, dtype_of(op.operands[0].type), tuple(op.axes))]


def _grid(shape: Sequence[int]) -> list[np.ndarray]:
    """The coordinate along each axis, broadcastable to the shape."""
    return [
        np.arange(size, dtype=np.int64).reshape([-1 if axis == other else 1 for other in range(len(shape))])
        for axis, size in enumerate(shape)
    ]


def _coordinates(
    frame: Frame, op: ir.OpView, shape: Sequence[int], indices: Sequence[np.ndarray]
) -> list[np.ndarray]:
    results = evaluate_map(L.map_of(op), [*_grid(shape), *indices], frame.symbols)
    return [np.broadcast_to(result, shape) for result in results]


def _iota(frame: Frame, op: ir.OpView) -> list[np.ndarray]:
    return _coordinates(frame, op, frame.shape(dims_of(op.result.type)), [])


def _gather(frame: Frame, op: ir.OpView) -> list[np.ndarray]:
    source, *indices = frame.operands(op)
    shape = frame.shape(dims_of(op.result.type))
    if source.size == 0:
        return [np.zeros(shape, source.dtype)]
    coordinates = _coordinates(frame, op, shape, indices)
    clamped = [np.clip(c, 0, size - 1) for c, size in zip(coordinates, source.shape, strict=True)]
    return [np.array(np.broadcast_to(source[tuple(clamped)], shape))]


def _scatter(frame: Frame, op: ir.OpView) -> list[np.ndarray]:
    base, updates, *indices = frame.operands(op)
    coordinates = _coordinates(frame, op, updates.shape, indices)
    return [scatter_into(base, updates, coordinates, op.mode.value, dtype_of(op.result.type))]


def _cast(frame: Frame, op: ir.OpView) -> list[np.ndarray]:
    return [convert(frame.operands(op)[0], dtype_of(op.operands[0].type), dtype_of(op.results[0].type))]


def _constant(frame: Frame, op: ir.OpView) -> list[np.ndarray]:
    dtype = dtype_of(op.results[0].type)
    values = L.constant_values(op.value)
    return [round_to(values, dtype) if dtype in FLOATS else values.astype(COMPUTE_DTYPES[dtype])]


def _view(frame: Frame, op: ir.OpView) -> list[np.ndarray]:
    (source,) = frame.operands(op)
    shape = frame.shape(dims_of(op.result.type))
    if 0 in shape:
        return [np.zeros(shape, source.dtype)]
    coordinates = _coordinates(frame, op, shape, [])
    for axis, (coordinate, size) in enumerate(zip(coordinates, source.shape, strict=True)):
        if coordinate.min() < 0 or coordinate.max() >= size:
            raise IndexError(f"a view reads outside axis {axis} of size {size} at {op.location}")
    return [np.array(np.broadcast_to(source[tuple(coordinates)], shape))]


HANDLERS: Mapping[str, Handler] = {
    **dict.fromkeys((*_UNARY, *_BINARY), _elementwise),
    "luminal.sum_reduce": _reduce,
    "luminal.max_reduce": _reduce,
    "luminal.iota": _iota,
    "luminal.gather": _gather,
    "luminal.scatter": _scatter,
    "luminal.cast": _cast,
    "luminal.constant": _constant,
    "luminal.view": _view,
}
