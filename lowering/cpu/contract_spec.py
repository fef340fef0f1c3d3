"""What a `kernel.contract` op asks for, with the dims of each kind flattened into one coordinate.

Merging is left to the canonical expressions: the offset of an operand over a flattened coordinate is linear
exactly when
the dims lie behind each other in memory, and has divisions and remainders otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.mlir import ir
from ...dialects.symbolic import ONE, ZERO, Atom, DimVar, Expr, product
from ...dialects.types import dims_of, dtype_of
from ...errors import LoweringError
from .tree import Tensor, read_extents, read_map

# Numbers of coordinates that no body reader hands out: domain dims, then flattened kinds.
_DOMAIN, _FLAT = 1_000_000, 2_000_000

ACCUMULATORS = {"f64": "f64", "f32": "f32", "f16": "f32", "bf16": "f32", "i64": "i64", "i32": "i32"}
"""Accumulator type of a contraction by its operands' dtype."""


@dataclass(frozen=True)
class Axis:
    """All dims of one kind as a single coordinate `atom`, row-major; `dims` are the extents it is made of."""

    atom: DimVar
    dims: tuple[Expr, ...]

    @property
    def size(self) -> Expr:
        """Number of coordinates."""
        return product(self.dims)

    def coordinates(self, position: Expr) -> tuple[Expr, ...]:
        """The dims' coordinates at a flattened position."""
        result: list[Expr] = []
        stride = product(())
        for index in range(len(self.dims) - 1, -1, -1):
            if self.size is ZERO:
                result.append(ZERO)
                continue
            digit = position // stride
            result.append(digit if index == 0 else digit % self.dims[index])
            stride = stride * self.dims[index]
        return tuple(reversed(result))


@dataclass(frozen=True)
class ContractSpec:
    """A contraction: out[b, m, n] = epilogue(sum over k of lhs[b, m, k] * rhs[b, k, n]).

    `lhs`, `rhs`, `out` are element offsets over the axes' atoms; `rhs` is None if it is a panel tensor of
    width `packed`.
    `swapped`: `lhs` is the op's second operand and `rhs` the first. `moved`: how many of the op's m dims are
    batch dims here; panels don't depend on them.
    """

    batch: Axis
    rows: Axis
    columns: Axis
    depth: Axis
    dtype: str
    out_dtype: str
    lhs: Expr
    rhs: Expr | None
    out: Expr
    packed: int | None
    swapped: bool = False
    moved: int = 0

    @property
    def panel_batch(self) -> Expr:
        """The batch coordinate of the panels."""
        if not self.moved:
            return self.batch.atom
        return self.batch.atom // product(self.batch.dims[len(self.batch.dims) - self.moved :])

    @property
    def accumulator(self) -> str:
        """Type of the sums."""
        return ACCUMULATORS[self.dtype]

    def transposed(self) -> ContractSpec:
        """The same contraction with its operands, and with them rows and columns, exchanged (unpacked form
        only).
        """
        assert self.rhs is not None
        return ContractSpec(
            self.batch, self.columns, self.rows, self.depth,
            self.dtype, self.out_dtype, self.rhs, self.lhs, self.out, None, not self.swapped, self.moved,
        )  # fmt: skip


def read_contract(operation: ir.Operation) -> ContractSpec:
    """Reads the op; symbols must be in scope. LoweringError on a dtype that cannot be multiplied.

    Where the rows lie side by side in the result, but only those of the last m dims (the pixels of an image
    after a convolution), the m dims before become batch dims.
    """
    sizes = list(ir.DenseI64ArrayAttr(operation.attributes["sizes"]))
    spec = _read(operation, sizes, 0)
    if spec.out.coefficient(spec.rows.atom) is not None or spec.out.coefficient(spec.columns.atom) is ONE:
        return spec
    for moved in range(1, sizes[1]):
        found = _read(operation, [sizes[0] + moved, sizes[1] - moved, *sizes[2:]], moved)
        if found.out.coefficient(found.rows.atom) is ONE:
            return found
    return spec


def _read(operation: ir.Operation, sizes: Sequence[int], moved: int) -> ContractSpec:
    extents = read_extents(operation.attributes["domain"])
    lhs_type, rhs_type = (operand.type for operand in list(operation.operands)[:2])
    out_type = operation.results[0].type
    dtype = dtype_of(lhs_type)
    if dtype not in ACCUMULATORS or dtype_of(rhs_type) != dtype:
        raise LoweringError(
            f"kernel.contract of {dtype} and {dtype_of(rhs_type)} has no CPU lowering at {operation.location}"
        )
    groups: list[tuple[Expr, ...]] = []
    first = 0
    for size in sizes:
        groups.append(tuple(extents[first : first + size]))
        first += size
    axes = [Axis(DimVar(_FLAT + kind, product(dims)), dims) for kind, dims in enumerate(groups)]
    batch, rows, columns, depth = axes
    packed = operation.attributes["packed"] if "packed" in operation.attributes else None
    domain = [DimVar(_DOMAIN + index, extent) for index, extent in enumerate(extents)]
    flat: dict[Atom, Expr] = dict(
        zip(domain, [c for axis in axes for c in axis.coordinates(axis.atom)], strict=True)
    )

    def offset(name: str, type_: ir.Type, dims: Sequence[Expr]) -> Expr:
        coordinates = read_map(operation.attributes[name], dims)
        return Tensor(dtype_of(type_), dims_of(type_)).offset(coordinates).substitute(flat)

    return ContractSpec(
        batch,
        rows,
        columns,
        depth,
        dtype=dtype,
        out_dtype=dtype_of(out_type),
        lhs=offset("lhs_map", lhs_type, domain),
        rhs=None if packed is not None else offset("rhs_map", rhs_type, domain),
        out=offset("out_map", out_type, domain),
        packed=None if packed is None else ir.IntegerAttr(packed).value,
        moved=moved,
    )
