"""Maps from iteration coordinates to coordinates of an operand: all data movement is one of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..mlir import ir
from .affine import from_affine, to_affine
from .expr import ZERO, Atom, DimVar, Expr, Sym, as_expr
from .scope import current_symbols


def dim_vars(extents: Sequence[Expr | int | None]) -> tuple[DimVar, ...]:
    """The coordinates `d0..` of an iteration domain."""
    return tuple(DimVar(index, extent) for index, extent in enumerate(extents))


def symbol_count(expressions: Sequence[Expr]) -> int:
    """How many symbols a map or type over these expressions declares: none, or all of the function's."""
    used = [atom.index for expr in expressions for atom in expr.atoms() if isinstance(atom, Sym)]
    return max(max(used) + 1, len(current_symbols())) if used else 0


_READ: dict[tuple[Any, ...], IndexMap] = {}
_READ_LIMIT = 1 << 15


@dataclass(frozen=True)
class IndexMap:
    """`results` are expressions over the coordinates `dim_vars(extents)` and symbols.

    An extent of None is a coordinate that may be any integer (the value of an index tensor).
    """

    extents: tuple[Expr | None, ...]
    results: tuple[Expr, ...]

    @staticmethod
    def of(extents: Sequence[Expr | int | None], results: Sequence[Expr | int]) -> IndexMap:
        """Build from integers or expressions."""
        domain = tuple(None if extent is None else as_expr(extent) for extent in extents)
        return IndexMap(domain, tuple(as_expr(result) for result in results))

    @staticmethod
    def identity(extents: Sequence[Expr | int]) -> IndexMap:
        """Every coordinate as it is."""
        return IndexMap.of(extents, dim_vars(extents))

    @staticmethod
    def permutation(source_dims: Sequence[Expr | int], order: Sequence[int]) -> IndexMap:
        """Map of `torch.permute(source, order)`: result axis k is source axis order[k]."""
        dims = dim_vars([source_dims[axis] for axis in order])
        inverse = {axis: position for position, axis in enumerate(order)}
        return IndexMap.of([d.extent for d in dims], [dims[inverse[axis]] for axis in range(len(order))])

    @staticmethod
    def broadcast(source_dims: Sequence[Expr | int], target_dims: Sequence[Expr | int]) -> IndexMap:
        """Map of a broadcast with trailing axes aligned. ValueError if the shapes do not broadcast."""
        source = [as_expr(dim) for dim in source_dims]
        dims = dim_vars(target_dims)
        offset = len(dims) - len(source)
        results: list[Expr] = []
        for axis, extent in enumerate(source):
            if offset < 0 or not (
                extent.is_const and extent.value == 1 or extent is dims[offset + axis].extent
            ):
                raise ValueError(
                    f"shape {shape_text(source)} does not broadcast to {shape_text(target_dims)}"
                )
            results.append(dims[offset + axis] if extent is dims[offset + axis].extent else ZERO)
        return IndexMap.of([d.extent for d in dims], results)

    @property
    def dims(self) -> tuple[DimVar, ...]:
        """The coordinates this map is over."""
        return dim_vars(self.extents)

    @property
    def is_identity(self) -> bool:
        """Whether result k is coordinate k for every coordinate."""
        return self.results == self.dims

    def compose(self, other: IndexMap) -> IndexMap:
        """`self` after `other`: c -> self(other(c)). ValueError if their coordinate counts differ."""
        if len(other.results) != len(self.extents):
            raise ValueError(
                f"cannot compose: the inner map gives {len(other.results)} coordinates, "
                f"the outer one takes {len(self.extents)}"
            )
        replacements: dict[Atom, Expr] = dict(zip(self.dims, other.results, strict=True))
        return IndexMap(other.extents, tuple(result.substitute(replacements) for result in self.results))

    def apply(self, coordinates: Sequence[Expr]) -> tuple[Expr, ...]:
        """The results at the given coordinate expressions."""
        replacements: dict[Atom, Expr] = dict(zip(self.dims, coordinates, strict=True))
        return tuple(result.substitute(replacements) for result in self.results)

    def substitute(self, replacements: Mapping[Atom, Expr]) -> IndexMap:
        """Replace symbols, in extents and results alike."""
        extents = [None if extent is None else extent.substitute(replacements) for extent in self.extents]
        moved: dict[Atom, Expr] = {**replacements, **dict(zip(self.dims, dim_vars(extents), strict=True))}
        return IndexMap.of(extents, [result.substitute(moved) for result in self.results])

    def evaluate(
        self, coordinates: Sequence[int], symbols: Mapping[Atom, int] | None = None
    ) -> tuple[int, ...]:
        """The results at a point."""
        values: dict[Atom, Any] = {**(symbols or {}), **dict(zip(self.dims, coordinates, strict=True))}
        return tuple(result.evaluate(values) for result in self.results)

    def to_affine_map(self, context: ir.Context | None = None) -> ir.AffineMap:
        """The map `(d0..)[s0..] -> (...)`. ValueError if a result is not affine."""
        results = [to_affine(result, context) for result in self.results]
        return ir.AffineMap.get(len(self.extents), symbol_count(self.results), results, context)

    def to_attr(self, context: ir.Context | None = None) -> ir.AffineMapAttr:
        """The attribute form of `to_affine_map`."""
        return ir.AffineMapAttr.get(self.to_affine_map(context))

    @staticmethod
    def from_attr(
        attr: ir.AffineMapAttr | ir.AffineMap,
        extents: Sequence[Expr | int | None],
        symbols: Sequence[Expr] | None = None,
    ) -> IndexMap:
        """Read an affine map whose dims have the given extents; `symbols` default to those in scope."""
        domain = tuple(None if extent is None else as_expr(extent) for extent in extents)
        known = current_symbols() if symbols is None else tuple(symbols)
        # By text, not by attribute: a cached attribute would keep its whole context alive.
        key = (str(attr), domain, known)
        found = _READ.get(key)
        if found is None:
            affine_map = attr if isinstance(attr, ir.AffineMap) else attr.value
            if affine_map.n_dims != len(domain):
                raise ValueError(f"the map has {affine_map.n_dims} dims where {len(domain)} are expected")
            dims = dim_vars(domain)
            symbols = current_symbols(affine_map.n_symbols) if symbols is None else known
            found = IndexMap(
                domain, tuple(from_affine(result, dims, symbols) for result in affine_map.results)
            )
            if len(_READ) > _READ_LIMIT:
                _READ.clear()
            _READ[key] = found
        return found

    def __str__(self) -> str:
        dims = ", ".join(str(dim) for dim in self.dims)
        return f"({dims}) -> ({', '.join(map(str, self.results))})"


def shape_text(dims: Sequence[Expr | int]) -> str:
    """A shape for messages: `(s0, 64)`."""
    return f"({', '.join(map(str, dims))})"
