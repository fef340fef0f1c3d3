"""Checks that a kernel at given sizes stays within its tensors, before it runs on real memory.

A program's sizes come from shapes that were checked; those of a measurement are a guess, and a guess that
breaks a relation between two sizes (a slice longer than what it is taken from) must not be run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...dialects.mlir import ir
from ...dialects.symbolic import Atom, IndexMap, as_expr
from ...errors import InputError
from .signature import shape_at

_SIDES: Mapping[str, Mapping[str, int]] = {
    "kernel.contract": {"lhs_map": 0, "rhs_map": 1},
    "kernel.attention": {"value_map": 0, "query_map": 1, "key_map": 2},
}
"""Ops that read operands themselves: which map serves which operand. Maps take the domain, then `depth`."""

_GROUPS: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "kernel.contract": ((0, 1, 2),),
    "kernel.attention": ((0, 1, 3), (0, 1, 2)),
}
"""Their regions: each runs over these of the groups batch, m, n and k of the domain."""


def check_accesses(op: ir.Operation, values: Mapping[Atom, int]) -> None:
    """InputError if an unmasked access may leave its tensor where the symbols have these values, in order."""
    checker = _Checker(values)
    domain = checker.sizes(op.attributes["domain"])
    if op.name in _SIDES:
        checker.sides(op, domain)
    groups = _split(op, domain)
    for region, chosen in zip(op.regions, _GROUPS.get(op.name, [range(len(groups))]), strict=True):
        checker.block(region.blocks[0], [size for group in chosen for size in groups[group]])


def _split(op: ir.Operation, domain: list[int]) -> list[list[int]]:
    """The extents of each group of dims; one group where the op has no groups."""
    if "sizes" not in op.attributes:
        return [domain]
    rest = iter(domain)
    return [[next(rest) for _ in range(count)] for count in ir.DenseI64ArrayAttr(op.attributes["sizes"])]


class _Checker:
    def __init__(self, values: Mapping[Atom, int]) -> None:
        self.values = values
        self.constants = [as_expr(value) for value in values.values()]
        self.extents: dict[ir.Value, int] = {}

    def sizes(self, attr: ir.Attribute) -> list[int]:
        """The extents that an attribute lists."""
        return [e.value for e in IndexMap.from_attr(ir.AffineMapAttr(attr), (), self.constants).results]

    def sides(self, op: ir.Operation, domain: list[int]) -> None:
        """The operands that the op itself reads."""
        full = domain + (self.sizes(op.attributes["depth"]) if "depth" in op.attributes else [])
        for name, position in _SIDES[op.name].items():
            if name in op.attributes and 0 not in full:
                attr = ir.AffineMapAttr(op.attributes[name])
                self.access(op, op.operands[position], attr, full[: attr.value.n_dims])

    def block(self, block: ir.Block, sizes: Sequence[int]) -> None:
        """A body whose index arguments have these extents."""
        if 0 in sizes:
            return  # it never runs
        indices = [argument for argument in block.arguments if isinstance(argument.type, ir.IndexType)]
        self.extents.update(zip(indices, sizes, strict=True))
        for item in block.operations:
            op = item.operation
            if op.name == "kernel.to_index":
                self.extents[op.results[0]] = max(self.sizes(op.attributes["extent"])[0], 1)
            elif op.name == "kernel.load" and "masked" not in op.attributes:
                extents = [self.extents[index] for index in list(op.operands)[1:]]
                self.access(op, op.operands[0], ir.AffineMapAttr(op.attributes["map"]), extents)
            for region in op.regions:
                self.block(region.blocks[0], self.sizes(op.attributes["extents"]))

    def access(
        self, op: ir.Operation, tensor: ir.Value, attr: ir.AffineMapAttr, sizes: Sequence[int]
    ) -> None:
        """One access through a map whose coordinates have these extents."""
        coordinates = IndexMap.from_attr(attr, sizes, self.constants).results
        dims = shape_at(tensor.type, self.values)
        for axis, coordinate in enumerate(coordinates):
            low, high = coordinate.bounds()
            if low is None or high is None or low < 0 or high >= dims[axis]:
                raise InputError(
                    f"the sizes make '{op.name}' read coordinates {low} to {high} of axis {axis}"
                    f" of a tensor of shape {dims}"
                )
