"""Shares long reductions out: partial results of equal chunks in a kernel of their own, combined by the next.

A region's lowering shares its domain out among threads. A reduction of everything to one number, or to a few,
leaves them nothing to share, unless its own range is cut. The chunks are the same however many threads there
are, so results are too.

Before::

    %0 = kernel.region (%x) : tensor<f32> { %s = kernel.reduce sum (8192 x) ; yield f(%s) }

After::

    %p = kernel.region (%x) : tensor<64xf32> { ^(%c): %s = kernel.reduce sum (128 x) ; yield %s }
    %0 = kernel.region (%x, %p) : tensor<f32> { %s = kernel.reduce sum (64 x load %p) ; yield f(%s) }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..dialects import kernel as K
from ..dialects.mlir import ir
from ..dialects.symbolic import ONE, ZERO, Expr, IndexMap, as_expr, dim_vars, product
from ..dialects.types import HALVES, dtype_of, scope_of

_SMALL_AXIS = 1024
"""An axis that the number of chunks doesn't divide must be this long: the rest of it isn't shared out."""

_MOST_OPERANDS = 100
"""A kernel op takes few operands more than this: it isn't given another one."""


@dataclass(frozen=True)
class SplitReductionsOptions:
    """Options of `split-reductions`.

    elements: least number of elements combined to one
    groups: a kernel that computes more values than this by reductions has enough to share out
    chunks: most chunks of a reduction
    """

    elements: int = 32768
    groups: int = 8
    chunks: int = 64


def split_reductions(op: ir.Operation, options: SplitReductionsOptions | None = None) -> dict[str, int]:
    """Cut long reductions to few values into chunks that run in parallel."""
    options = options or SplitReductionsOptions()
    count = 0
    with op.context, ir.Location.unknown(op.context):
        for function in list(op.regions[0].blocks[0].operations):
            if function.operation.name != "func.func":
                continue
            with scope_of(function):
                for view in list(function.operation.regions[0].blocks[0].operations):
                    region: ir.Operation | None = view.operation
                    while region is not None and region.name == "kernel.region":
                        region = _split_first(region, options)
                        count += region is not None
    return {"split reductions": count}


@dataclass(frozen=True)
class _Cut:
    """Where to cut a reduction: `count` chunks of `length` along `axis`, and `rest` that is left over."""

    axis: int
    count: int
    length: Expr
    rest: Expr


class _Index:
    """An index of a body that was cut: the new one, `offset`, and a chunk's number times its length."""

    def __init__(self, index: ir.Value, offset: Expr, chunk: ir.Value | None = None) -> None:
        self.index = index
        self.offset = offset
        self.chunk = chunk


def _split_first(region: ir.Operation, options: SplitReductionsOptions) -> ir.Operation | None:
    """The region with its first long reduction split, in its place; None if there is none to split."""
    block = region.regions[0].blocks[0]
    if len(region.operands) > _MOST_OPERANDS:
        return None
    for view in block.operations:
        reduction = view.operation
        if reduction.name != "kernel.reduce":
            continue
        cut = _find_cut(K.extents_of(reduction.attributes["extents"]), options)
        if cut is None:
            continue
        needed = _needed(reduction, block)
        if any(each.name == "kernel.local" for each in needed):
            continue
        splitter = _Splitter(region, reduction, needed, cut)
        groups = product(splitter.extents).bounds()[1]
        if groups is not None and groups <= options.groups:
            return splitter.split()
    return None


def _find_cut(extents: Sequence[Expr], options: SplitReductionsOptions) -> _Cut | None:
    total = product(extents).bounds()[1]
    if total is not None and total < options.elements:
        return None
    least = max(2, options.chunks // 4)
    for axis, extent in enumerate(extents):
        if extent.is_const:
            for count in range(options.chunks, least - 1, -1):
                if extent.value % count == 0:
                    return _Cut(axis, count, as_expr(extent.value // count), ZERO)
    for axis, extent in enumerate(extents):
        high = extent.bounds()[1]
        if high is None or high >= _SMALL_AXIS:
            return _Cut(axis, options.chunks, extent // options.chunks, extent % options.chunks)
    return None


def _nested(op: ir.Operation) -> Iterator[ir.Operation]:
    """An op and everything in its regions."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield from _nested(view.operation)


def _uses(op: ir.Operation) -> Iterator[ir.Value]:
    for each in _nested(op):
        yield from each.operands


def _needed(op: ir.Operation, block: ir.Block) -> list[ir.Operation]:
    """What `op` needs of the block it is in, in order."""
    wanted = set(_uses(op))
    found: list[ir.Operation] = []
    for view in reversed(list(block.operations)):
        other = view.operation
        if other != op and any(result in wanted for result in other.results):
            found.append(other)
            wanted.update(_uses(other))
    return found[::-1]


class _Splitter:
    """Splits `reduction`, an op in the body of `region`."""

    def __init__(
        self, region: ir.Operation, reduction: ir.Operation, needed: list[ir.Operation], cut: _Cut
    ) -> None:
        self.region = region
        self.reduction = reduction
        self.needed = needed
        self.cut = cut
        self.block = region.regions[0].blocks[0]
        arguments = list(self.block.arguments)
        self.tensors = arguments[: len(region.operands)]
        self.indices = arguments[len(region.operands) :]
        self.domain = K.extents_of(region.attributes["domain"])
        used = {value for op in (*needed, reduction) for value in _uses(op)}
        self.used_tensors = [k for k, tensor in enumerate(self.tensors) if tensor in used]
        self.used_indices = [k for k, index in enumerate(self.indices) if index in used]
        self.extents = [self.domain[k] for k in self.used_indices]
        """Extents of the domain that the reduction depends on."""
        self.kind = ir.StringAttr(reduction.attributes["kind"]).value
        self.dtype = dtype_of(reduction.results[0].type)
        self.accumulator = "f32" if self.dtype in HALVES else self.dtype

    def split(self) -> ir.Operation:
        """The region that combines the partial results, in the place of the old one."""
        with ir.InsertionPoint(self.region), self.region.location:
            partial = self._partial_region()
            result = K.region(
                [*self.region.operands, partial],
                self.domain,
                dtype_of(self.region.results[0].type),
                self._body,
            )
        self.region.results[0].replace_all_uses_with(result)
        self.region.erase()
        return result.owner

    def _partial_region(self) -> ir.Value:
        # Chunks come first: threads share them, and vectors run along what the reduction depends on.
        def body(tensors: list[ir.Value], indices: list[ir.Value]) -> ir.Value:
            copier = _Copier()
            copier.map([self.tensors[k] for k in self.used_tensors], tensors)
            copier.map([self.indices[k] for k in self.used_indices], indices[1:])
            copier.copy(self.needed)
            return self._reduce(copier, self.cut.length, ZERO, indices[0])

        operands = [self.region.operands[k] for k in self.used_tensors]
        return K.region(operands, [self.cut.count, *self.extents], self.accumulator, body)

    def _reduce(self, copier: _Copier, extent: Expr, offset: Expr, chunk: ir.Value | None) -> ir.Value:
        """The reduction over a piece of the axis."""
        extents = list(K.extents_of(self.reduction.attributes["extents"]))
        extents[self.cut.axis] = extent
        block = self.reduction.regions[0].blocks[0]

        def body(indices: list[ir.Value]) -> ir.Value:
            copier.map(block.arguments, indices)
            old = block.arguments[self.cut.axis]
            moved = self.cut.length if chunk is not None else offset
            copier.indices[old] = _Index(indices[self.cut.axis], moved, chunk)
            *inner, end = (view.operation for view in block.operations)
            copier.copy(inner)
            return K.cast(copier.values[end.operands[0]], self.accumulator)

        return K.reduce(self.kind, extents, self.accumulator, body)

    def _body(self, tensors: list[ir.Value], indices: list[ir.Value]) -> ir.Value:
        *old_ops, end = (view.operation for view in self.block.operations)
        copier = _Copier()
        copier.map([*self.tensors, *self.indices], [*tensors[:-1], *indices])
        for op in old_ops:
            if op == self.reduction:
                total = self._combine(copier, tensors[-1], [indices[k] for k in self.used_indices])
                copier.values[op.results[0]] = K.cast(total, self.dtype)
            else:
                copier.copy([op])
        return copier.values[end.operands[0]]

    def _combine(self, copier: _Copier, partial: ir.Value, indices: list[ir.Value]) -> ir.Value:
        """The partial results of one group, and the rest, as one."""
        cut = self.cut
        identity = IndexMap.identity([cut.count, *self.extents])
        total = K.reduce(
            self.kind,
            [cut.count],
            self.accumulator,
            lambda chunk: K.load(partial, [*chunk, *indices], identity),
        )
        if cut.rest is ZERO:
            return total
        names = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}
        if self.accumulator == "i1":
            names = {"max": "or", "min": "and"}
        rest = self._reduce(copier, cut.rest, cut.length * cut.count, None)
        return K.scalar(names[self.kind], total, rest)


class _Copier:
    """Copies ops of a body to the insertion point. `values`: old value -> new; `indices`: indices cut."""

    def __init__(self) -> None:
        self.values: dict[ir.Value, ir.Value] = {}
        self.indices: dict[ir.Value, _Index] = {}

    def map(self, old: Iterable[ir.Value], new: Iterable[ir.Value]) -> None:
        """Let each old value be the new one."""
        self.values.update(zip(old, new, strict=True))

    def copy(self, ops: Iterable[ir.Operation]) -> None:
        """Copy ops in order, with everything in their regions."""
        for op in ops:
            operands, attributes = list(op.operands), {a.name: a.attr for a in _attributes(op)}
            if any(value in self.indices for value in operands):
                operands, attributes["map"] = self._cut_map(op, operands)
            new = ir.Operation.create(
                op.name,
                results=[result.type for result in op.results],
                operands=[self.values[value] for value in operands],
                attributes=attributes,
                regions=len(op.regions),
            )
            self.map(op.results, new.results)
            for source, target in zip(op.regions, new.regions, strict=True):
                for block in source.blocks:
                    types = [argument.type for argument in block.arguments]
                    inner = target.blocks.append(*types, arg_locs=[op.location] * len(types))
                    self.map(block.arguments, inner.arguments)
                    with ir.InsertionPoint(inner):
                        self.copy(view.operation for view in block.operations)

    def _cut_map(self, op: ir.Operation, operands: list[ir.Value]) -> tuple[list[ir.Value], ir.AffineMapAttr]:
        """The operands and the map of a load or an index value with the chunks' numbers as indices more."""
        first = 1 if op.name == "kernel.load" else 0
        count = len(operands) - first
        chunks = [(k, cut) for k, value in enumerate(operands[first:]) if (cut := self.indices.get(value))]
        numbers = list(dict.fromkeys(cut.chunk for _, cut in chunks if cut.chunk is not None))
        coordinates: list[Expr] = list(dim_vars([None] * (count + len(numbers))))
        moved = coordinates[:count]
        for k, cut in chunks:
            factor = ONE if cut.chunk is None else coordinates[count + numbers.index(cut.chunk)]
            moved[k] = moved[k] + factor * cut.offset
        old = IndexMap.from_attr(op.attributes["map"], [None] * count)
        for number in numbers:
            self.values[number] = number
        new = IndexMap.of([None] * len(coordinates), old.apply(moved))
        return [*operands, *numbers], new.to_attr()


def _attributes(op: ir.Operation) -> list[ir.NamedAttribute]:
    return [op.attributes[k] for k in range(len(op.attributes))]
