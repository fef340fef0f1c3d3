"""Reference interpreter of the `kernel` dialect (L2): bodies are evaluated on whole grids of coordinates.

Inside a body a value is an array with one axis per enclosing coordinate (size 1 where it does not vary); a
nested
reduction appends axes for its own coordinates and removes them again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects import kernel as K
from ...dialects.mlir import ir
from ...dialects.symbolic import Expr, IndexMap
from ...dialects.types import FLOATS, dims_of, dtype_of
from ...errors import RuntimeFailure
from .functions import Frame, Handler, evaluate_map, run_entry
from .values import COMPUTE_DTYPES, apply, convert, reduce_axes, round_to, scatter_into


def run_l2(
    module_or_func: ir.Module | ir.Operation | ir.OpView, args: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Run a function of `kernel` ops and calls on arrays; bf16 arrays are uint16 bits.

    Symbols are solved from the arguments' shapes. Raises InputError if an argument does not fit,
    RuntimeFailure if
    an unmasked load leaves its tensor.
    """
    return run_entry(module_or_func, args, HANDLERS)


@dataclass
class Local:
    """A `kernel.local` tensor: `depth` axes of enclosing coordinates, then its own."""

    array: np.ndarray
    depth: int


class Body:
    """Evaluates the ops of a body on the grid of `shape` (enclosing coordinates, outermost first)."""

    def __init__(self, frame: Frame, shape: tuple[int, ...]) -> None:
        self.frame = frame
        self.shape = shape
        self.values: dict[ir.Value, np.ndarray | Local] = {}

    def run(
        self, block: ir.Block, tensors: Sequence[np.ndarray], scalars: Sequence[np.ndarray] = ()
    ) -> list[np.ndarray]:
        """What a block yields for these arguments: tensors, an index per axis of the grid, scalars."""
        arguments = list(block.arguments)
        self.values.update(zip(arguments, tensors, strict=False))
        self.bind_indices(arguments[len(tensors) : len(arguments) - len(scalars)])
        self.values.update(zip(arguments[len(arguments) - len(scalars) :], scalars, strict=True))
        return self.run_block(block)

    def bind_indices(self, arguments: Sequence[ir.Value]) -> None:
        """The last axes of the grid are the coordinates `arguments`."""
        depth = len(self.shape)
        for offset, argument in enumerate(arguments):
            axis = depth - len(arguments) + offset
            form = [-1 if axis == other else 1 for other in range(depth)]
            self.values[argument] = np.arange(self.shape[axis], dtype=np.int64).reshape(form)

    def run_block(self, block: ir.Block) -> list[np.ndarray]:
        """Evaluate a block whose arguments are bound."""
        for op in block.operations:
            name = op.operation.name
            if name == "kernel.yield":
                return [self.read(operand) for operand in op.operands]
            evaluate = _BODY_OPS.get(name, _scalar_function)
            self.values[op.operation.results[0]] = evaluate(self, op)
        raise RuntimeFailure("a body does not end in kernel.yield")

    def read(self, value: ir.Value) -> np.ndarray:
        """A scalar's array, with axes of size 1 appended for coordinates bound since it was computed."""
        array = self.values[value]
        if isinstance(array, Local):
            raise RuntimeFailure("a local tensor is used as a scalar")
        return array.reshape(array.shape + (1,) * (len(self.shape) - array.ndim))

    def nested(self, extents: tuple[int, ...], block: ir.Block) -> np.ndarray:
        """The yielded scalar of an inner region, its own axes in full."""
        outer = self.shape
        self.shape = outer + extents
        try:
            self.bind_indices(list(block.arguments))
            (value,) = self.run_block(block)
        finally:
            self.shape = outer
        return np.broadcast_to(value, value.shape[: len(outer)] + extents)


def _load(body: Body, op: ir.OpView) -> np.ndarray:
    indices = [body.read(index) for index in list(op.operands)[1:]]
    index_map = IndexMap.from_attr(op.map, [None] * len(indices))
    coordinates = evaluate_map(index_map, indices, body.frame.symbols)
    tensor = body.values.get(op.operands[0])
    if tensor is None:
        tensor = body.frame.values[op.operands[0]]
    depth = len(body.shape)
    lead: list[np.ndarray] = []
    if isinstance(tensor, Local):
        for axis, size in enumerate(tensor.array.shape[: tensor.depth]):
            lead.append(np.arange(size).reshape([-1 if axis == other else 1 for other in range(depth)]))
        tensor = tensor.array
    return _read_tensor(tensor, lead, coordinates, op.masked, depth, op)


def _read_tensor(
    tensor: np.ndarray,
    lead: list[np.ndarray],
    coordinates: list[np.ndarray],
    masked: bool,
    depth: int,
    op: ir.OpView,
) -> np.ndarray:
    sizes = tensor.shape[len(lead) :]
    shape = np.broadcast_shapes((1,) * depth, *(c.shape for c in (*lead, *coordinates)))
    inside = np.ones(shape, bool)
    for coordinate, size in zip(coordinates, sizes, strict=True):
        inside = inside & (coordinate >= 0) & (coordinate < size)
    if not masked and not inside.all():
        raise RuntimeFailure(f"a load leaves its tensor of shape {sizes} at {op.location}")
    if 0 in tensor.shape:
        return np.zeros(shape, tensor.dtype)
    clamped = [np.clip(c, 0, size - 1) for c, size in zip(coordinates, sizes, strict=True)]
    values = np.broadcast_to(tensor[(*lead, *clamped)], shape)
    return np.where(inside, values, np.zeros((), tensor.dtype))


def _to_index(body: Body, op: ir.OpView) -> np.ndarray:
    extent = body.frame.size(K.extents_of(op.extent)[0])
    return np.clip(body.read(op.operands[0]).astype(np.int64), 0, max(extent - 1, 0))


def _index_value(body: Body, op: ir.OpView) -> np.ndarray:
    indices = [body.read(index) for index in op.operands]
    (value,) = evaluate_map(IndexMap.from_attr(op.map, [None] * len(indices)), indices, body.frame.symbols)
    return value.reshape(value.shape + (1,) * (len(body.shape) - value.ndim))


def _reduce(body: Body, op: ir.OpView) -> np.ndarray:
    extents = body.frame.shape(K.extents_of(op.extents))
    values = body.nested(extents, op.regions[0].blocks[0])
    axes = tuple(range(len(body.shape), len(body.shape) + len(extents)))
    return reduce_axes(values, op.kind.value, dtype_of(op.results[0].type), axes)


def _local(body: Body, op: ir.OpView) -> Local:
    extents = body.frame.shape(K.extents_of(op.extents))
    return Local(body.nested(extents, op.regions[0].blocks[0]), len(body.shape))


def _cast(body: Body, op: ir.OpView) -> np.ndarray:
    return convert(body.read(op.operands[0]), dtype_of(op.operands[0].type), dtype_of(op.results[0].type))


def _constant(body: Body, op: ir.OpView) -> np.ndarray:
    dtype = dtype_of(op.results[0].type)
    value = np.full((1,) * len(body.shape), op.value.value)
    return round_to(value, dtype) if dtype in FLOATS else value.astype(COMPUTE_DTYPES[dtype])


def _scalar_function(body: Body, op: ir.OpView) -> np.ndarray:
    function = K.scalar_function_of(op)
    if function is None:
        raise RuntimeFailure(
            f"the reference interpreter does not know '{op.operation.name}' at {op.location}"
        )
    operands = [body.read(operand) for operand in op.operands]
    if function.name == "select":
        return np.where(*operands)
    return apply(function.evaluate, dtype_of(op.operands[0].type), *operands)


_BODY_OPS: Mapping[str, Callable[[Body, ir.OpView], np.ndarray | Local]] = {
    "kernel.load": _load,
    "kernel.to_index": _to_index,
    "kernel.index_value": _index_value,
    "kernel.reduce": _reduce,
    "kernel.local": _local,
    "kernel.cast": _cast,
    "kernel.constant": _constant,
}


def _region(frame: Frame, op: ir.OpView) -> list[np.ndarray]:
    shape = frame.shape(K.extents_of(op.domain))
    (value,) = Body(frame, shape).run(op.regions[0].blocks[0], frame.operands(op))
    return [np.array(np.broadcast_to(value, shape))]


def _scatter(frame: Frame, op: ir.OpView) -> list[np.ndarray]:
    shape = frame.shape(K.extents_of(op.domain))
    tensors = frame.operands(op)
    value, *coordinates = Body(frame, shape).run(op.regions[0].blocks[0], tensors)
    updates = np.broadcast_to(value, shape)
    return [scatter_into(tensors[0], updates, coordinates, op.mode.value, dtype_of(op.results[0].type))]


def _contract(frame: Frame, op: ir.OpView) -> list[np.ndarray]:
    domain = K.extents_of(op.domain)
    shape = frame.shape(domain)
    batch, m, n, k = K.contract_groups(op)
    tensors = frame.operands(op)
    lhs = _read_side(frame, op, op.lhs_map, tensors[0], [*batch, *m, *k], shape)
    if op.packed is None:
        rhs = _read_side(frame, op, op.rhs_map, tensors[1], [*batch, *n, *k], shape)
    else:
        rhs = _unpack(tensors[1], [[shape[d] for d in group] for group in (batch, n, k)], op.packed)
    dtype = dtype_of(op.lhs.type)
    wide = np.float64 if dtype in FLOATS else lhs.dtype
    with np.errstate(all="ignore"):
        kept = [*batch, *m, *n]
        sums = np.einsum(lhs.astype(wide), [*batch, *m, *k], rhs.astype(wide), [*batch, *n, *k], kept)
    accumulator = round_to(sums, K.accumulator_dtype(dtype)) if dtype in FLOATS else sums
    body = Body(frame, tuple(shape[d] for d in kept))
    (value,) = body.run(op.regions[0].blocks[0], tensors, [accumulator])
    return [_permuted(frame, op, domain, np.broadcast_to(value, body.shape), kept)]


def _attention(frame: Frame, op: ir.OpView) -> list[np.ndarray]:
    domain = K.extents_of(op.domain)
    shape = frame.shape(domain)
    batch, m, n, k = K.contract_groups(op)
    tensors = frame.operands(op)
    scalars = [] if op.depth is None else [_products(frame, op, tensors, shape, (batch, m, k))]
    rows = tuple(shape[d] for d in (*batch, *m))
    keys = tuple(shape[d] for d in k)
    score = Body(frame, (*rows, *keys))
    (scores,) = score.run(op.regions[0].blocks[0], tensors, scalars)
    dtype = K.score_dtype(op)
    flat = np.broadcast_to(scores, score.shape).reshape(*rows, -1).astype(np.float64)
    values = _read_side(frame, op, op.value_map, tensors[0], [*batch, *k, *n], shape)
    values = values.reshape(*(shape[d] for d in batch), flat.shape[-1], *(shape[d] for d in n))
    with np.errstate(all="ignore"):
        largest = np.max(flat, axis=-1, keepdims=True, initial=-np.inf)
        weights = np.exp(flat - largest)
        axis = len(shape)
        sums = np.einsum(
            weights, [*batch, *m, axis], values.astype(np.float64), [*batch, axis, *n], [*batch, *m, *n]
        )
        totals = weights.sum(axis=-1).reshape(*rows, *[1] * len(n))
        attended = sums / totals if flat.shape[-1] else sums
    if op.zero_empty_rows:
        empty = (largest == -np.inf).reshape(*rows, *[1] * len(n))
        attended = np.where(empty, 0.0, attended)
    body = Body(frame, attended.shape)
    (value,) = body.run(op.regions[1].blocks[0], tensors, [round_to(attended, dtype)])
    return [_permuted(frame, op, domain, np.broadcast_to(value, body.shape), [*batch, *m, *n])]


def _products(
    frame: Frame,
    op: ir.OpView,
    tensors: Sequence[np.ndarray],
    shape: tuple[int, ...],
    groups: tuple[list[int], list[int], list[int]],
) -> np.ndarray:
    """Sums over depth of query * key, on the grid of (batch, m, k) dims."""
    batch, m, k = groups
    full = (*shape, *frame.shape(K.extents_of(op.depth)))
    depth = range(len(shape), len(full))
    query = _read_side(frame, op, op.query_map, tensors[1], [*batch, *m, *depth], full)
    key = _read_side(frame, op, op.key_map, tensors[2], [*batch, *k, *depth], full)
    dtype = dtype_of(op.operands[1].type)
    wide = np.float64 if dtype in FLOATS else query.dtype
    with np.errstate(all="ignore"):
        kept = [*batch, *m, *k]
        sums = np.einsum(
            query.astype(wide), [*batch, *m, *depth], key.astype(wide), [*batch, *k, *depth], kept
        )
    return round_to(sums, K.accumulator_dtype(dtype)) if dtype in FLOATS else sums


def _permuted(
    frame: Frame, op: ir.OpView, domain: tuple[Expr, ...], result: np.ndarray, kept: list[int]
) -> np.ndarray:
    """A result over the domain dims `kept`, in the order that out_map asks for."""
    variables = IndexMap.identity(domain).dims
    parts = [K.merged_dims(r, variables) or [] for r in IndexMap.from_attr(op.out_map, domain).results]
    order = [kept.index(d) for part in parts for d in part]
    ones = [axis for axis in range(len(kept)) if axis not in order]
    ordered = np.transpose(result, [*order, *ones])
    return np.ascontiguousarray(ordered).reshape(frame.shape(dims_of(op.results[0].type)))


def _read_side(
    frame: Frame,
    op: ir.OpView,
    attr: ir.AffineMapAttr,
    tensor: np.ndarray,
    dims: list[int],
    shape: tuple[int, ...],
) -> np.ndarray:
    """An operand on the grid of the domain dims it has, in that order."""
    grid: list[np.ndarray] = []
    for position in range(len(shape)):
        size = shape[position] if position in dims else 1
        form = [-1 if position == other else 1 for other in dims]
        grid.append(np.arange(size, dtype=np.int64).reshape(form if position in dims else [1] * len(dims)))
    coordinates = evaluate_map(IndexMap.from_attr(attr, [None] * len(shape)), grid, frame.symbols)
    values = _read_tensor(tensor, [], coordinates, False, len(dims), op)
    return np.broadcast_to(values, [shape[d] for d in dims])


def _unpack(panels: np.ndarray, groups: list[list[int]], width: int) -> np.ndarray:
    """A panel tensor (*batch, ceil(N/w), K, w) as an array over (batch, n, k) dims."""
    batch, n, k = groups
    rank = len(batch)
    columns = np.moveaxis(panels, -1, rank + 1)
    flat = columns.reshape(*batch, panels.shape[rank] * width, panels.shape[rank + 1])
    return flat[(*[slice(None)] * rank, slice(0, int(np.prod(n, dtype=np.int64))))].reshape(*batch, *n, *k)


HANDLERS: Mapping[str, Handler] = {
    "kernel.region": _region,
    "kernel.attention": _attention,
    "kernel.contract": _contract,
    "kernel.scatter": _scatter,
}
