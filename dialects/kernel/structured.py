"""Structured ops of the `kernel` dialect: regions over a domain, contractions, ordered scatters.

A body is a pure graph of scalars. A lowering places each value at the shallowest loop where the coordinates
it
depends on are known; dims are looped over in order, outermost first.
"""

# mypy: disable-error-code="call-arg,name-defined,misc,attr-defined,type-var"
# `ext` builds op classes at run time, from annotations that no static checker understands.

from collections.abc import Sequence
from typing import Any

from ..definition import mixed_trailing_operands, trailing_operands
from ..mlir import ext, ir
from ..symbolic import ONE, ZERO, DimVar, Expr, IndexMap, product
from ..types import DTYPES, HALVES, dims_of, dtype_of
from ..verify import (
    require,
    require_dims,
    require_dtype,
    require_map,
    require_same_type,
    require_tensor,
    verifier,
)
from .contract_schedule import ContractSchedule, read_schedule
from .scalars import Kernel, require_index_operands, require_scalar

REDUCE_KINDS = ("sum", "max", "min", "prod")
SCATTER_MODES = ("set", "add")
LIBRARIES = ("blas",)


def extents_of(attr: ir.AffineMapAttr) -> tuple[Expr, ...]:
    """The extents that a domain attribute `affine_map<()[s..] -> (...)>` lists."""
    return IndexMap.from_attr(attr, ()).results


def entry_block(op: ir.OpView, region: int = 0) -> ir.Block:
    """The one block of a region."""
    require(len(op.regions[region].blocks) == 1, "needs a region with exactly one block")
    return op.regions[region].blocks[0]


def require_arguments(block: ir.Block, expected: Sequence[ir.Type | None]) -> None:
    """Block arguments must have these types; None stands for index."""
    found = [argument.type for argument in block.arguments]
    require(len(found) == len(expected), f"the body takes {len(found)} arguments, expected {len(expected)}")
    for position, (type_, wanted) in enumerate(zip(found, expected, strict=True)):
        matches = isinstance(type_, ir.IndexType) if wanted is None else type_ == wanted
        name = "index" if wanted is None else str(wanted)
        require(matches, f"argument {position} of the body has type '{type_}', expected '{name}'")


def _yielded(block: ir.Block) -> list[ir.Type]:
    operations = list(block.operations)
    require(
        bool(operations) and operations[-1].operation.name == "kernel.yield",
        "the body must end in kernel.yield",
    )
    return [value.type for value in operations[-1].operation.operands]


def require_yield(block: ir.Block, expected: Sequence[ir.Type]) -> None:
    """The body must end in a yield of values of these types."""
    found = _yielded(block)
    require(
        found == list(expected),
        f"the body yields ({', '.join(map(str, found))}), expected ({', '.join(map(str, expected))})",
    )


@trailing_operands
class YieldOp(Kernel.Operation, name="yield", traits=[ir.IsTerminatorTrait]):
    """The scalar that a body computes; for a scatter also the i64 coordinates where it goes."""

    value: ext.Operand[Any]
    coordinates: Sequence[ext.Operand[Any]]


def _verify_load(op: ir.OpView) -> None:
    dims = require_tensor(op.operands[0].type, "source")
    require_index_operands(list(op.operands)[1:])
    require_map(op.map, len(op.operands) - 1, len(dims))
    require_scalar(op.results[0].type, (dtype_of(op.operands[0].type),), "result")


@trailing_operands
class LoadOp(Kernel.Operation, name="load", traits=[ext.Pure]):
    """tensor[map(indices)]. With `masked`, a coordinate out of range reads 0 and touches no memory."""

    source: ext.Operand[Any]
    indices: Sequence[ext.Operand[Any]]
    map: ir.AffineMapAttr
    result: ext.Result[Any]

    OPTIONAL = {"masked": ir.UnitAttr}
    verify_invariants = verifier(_verify_load)

    @property
    def masked(self) -> bool:
        """Whether coordinates may be out of range."""
        return "masked" in self.attributes


def _verify_region(op: ir.OpView) -> None:
    extents = extents_of(op.domain)
    require_dims(op.results[0].type, extents, "result")
    block = entry_block(op)
    require_arguments(block, [*(operand.type for operand in op.operands), *[None] * len(extents)])
    require_yield(block, [op.results[0].type.element_type])


@mixed_trailing_operands
class RegionOp(Kernel.Operation, name="region", traits=[ext.Pure]):
    """result[c] = body(operands, c) for every c in the domain."""

    ins: Sequence[ext.Operand[Any]]
    domain: ir.AffineMapAttr
    body: ext.Region
    result: ext.Result[Any]

    verify_invariants = verifier(_verify_region)


def _verify_reduce(op: ir.OpView) -> None:
    require(
        op.kind.value in REDUCE_KINDS, f'kind must be one of {", ".join(REDUCE_KINDS)}, got "{op.kind.value}"'
    )
    extents = extents_of(op.extents)
    dtype = require_scalar(op.results[0].type, DTYPES, "result")
    require(dtype != "i1" or op.kind.value in ("max", "min"), f'kind "{op.kind.value}" is not defined on i1')
    block = entry_block(op)
    require_arguments(block, [None] * len(extents))
    require_yield(block, [op.results[0].type])


class ReduceOp(Kernel.Operation, name="reduce", traits=[ext.Pure]):
    """Combine body(c) over all c in `extents`. A sum of half types accumulates in f32 and rounds once."""

    kind: ir.StringAttr
    extents: ir.AffineMapAttr
    body: ext.Region
    result: ext.Result[Any]

    verify_invariants = verifier(_verify_reduce)


def _verify_local(op: ir.OpView) -> None:
    extents = extents_of(op.extents)
    require_dims(op.results[0].type, extents, "result")
    dtype_of(op.results[0].type)
    block = entry_block(op)
    require_arguments(block, [None] * len(extents))
    require_yield(block, [op.results[0].type.element_type])


class LocalOp(Kernel.Operation, name="local", traits=[ext.Pure]):
    """A scratch tensor of body(c) over `extents`, local to the enclosing coordinates."""

    extents: ir.AffineMapAttr
    body: ext.Region
    result: ext.Result[Any]

    verify_invariants = verifier(_verify_local)


def contract_groups(op: ir.OpView) -> tuple[list[int], list[int], list[int], list[int]]:
    """Positions in the domain of the batch, m, n and k dims of a contraction."""
    groups: list[list[int]] = []
    start = 0
    for size in op.sizes:
        groups.append(list(range(start, start + size)))
        start += size
    return groups[0], groups[1], groups[2], groups[3]


def accumulator_dtype(dtype: str) -> str:
    """The dtype that sums of products are kept in: f32 for half types, else the type itself."""
    return "f32" if dtype in HALVES else dtype


def packed_shape(batch: Sequence[Expr], n: Sequence[Expr], k: Sequence[Expr], width: int) -> tuple[Expr, ...]:
    """Shape of a panel tensor: (*batch, ceil(N / width), K, width)."""
    return (*batch, (product(n) + width - 1) // width, product(k), product([width]))


def used_dims(index_map: IndexMap) -> set[int]:
    """Positions of the dims that a map's results depend on."""
    atoms = {atom for result in index_map.results for atom in result.atoms()}
    return {position for position, dim in enumerate(index_map.dims) if dim in atoms}


def _verify_side(
    op: ir.OpView, name: str, attr: ir.AffineMapAttr, operand: ir.Value, allowed: set[int]
) -> None:
    domain = extents_of(op.domain)
    require_map(attr, len(domain), len(dims_of(operand.type)), f"{name}_map")
    outside = sorted(used_dims(IndexMap.from_attr(attr, domain)) - allowed)
    require(
        not outside, f"{name}_map uses dims that {name} does not have: {', '.join(f'd{d}' for d in outside)}"
    )


def _verify_contract(op: ir.OpView) -> None:
    domain = extents_of(op.domain)
    sizes = list(op.sizes)
    require(len(sizes) == 4 and min(sizes) >= 0, f"sizes must be [batch, m, n, k] counts, got {sizes}")
    require(sum(sizes) == len(domain), f"sizes {sizes} do not add up to the domain's rank {len(domain)}")
    batch, m, n, k = contract_groups(op)
    lhs, rhs = op.operands[0], op.operands[1]
    require_tensor(lhs.type, "lhs")
    rhs_dims = require_tensor(rhs.type, "rhs")
    dtype = require_dtype(lhs.type, DTYPES[:-1], "lhs's element type")
    require_dtype(rhs.type, (dtype,), "rhs's element type")
    _verify_side(op, "lhs", op.lhs_map, lhs, {*batch, *m, *k})
    require((op.packed is None) != (op.rhs_map is None), "needs exactly one of 'packed' and 'rhs_map'")
    if op.rhs_map is not None:
        _verify_side(op, "rhs", op.rhs_map, rhs, {*batch, *n, *k})
    else:
        require(op.packed >= 1, f"packed must be a positive panel width, got {op.packed}")
        batch_dims, n_dims, k_dims = ([domain[position] for position in group] for group in (batch, n, k))
        require(
            rhs_dims == packed_shape(batch_dims, n_dims, k_dims, op.packed),
            "rhs is not the panel tensor of this domain",
        )
    require_permutation(op, domain, [*batch, *m, *n])
    read_schedule(op.attributes["schedule"] if "schedule" in op.attributes else None)
    require(
        op.library in (None, *LIBRARIES), f"library must be one of {', '.join(LIBRARIES)}, got {op.library!r}"
    )
    require(op.library is None or "schedule" not in op.attributes, "a library takes no schedule")
    indices: list[ir.Type | None] = [None] * (len(domain) - len(k))
    accumulator = ir.Type.parse(accumulator_dtype(dtype), op.context)
    block = entry_block(op)
    require_arguments(block, [*(operand.type for operand in op.operands), *indices, accumulator])
    require_yield(block, [op.results[0].type.element_type])


def require_permutation(op: ir.OpView, domain: Sequence[Expr], kept: Sequence[int]) -> None:
    """`out_map` must permute the dims `kept` of the domain to the result's dims, or merge some of them; dims
    of extent 1 may be left out, and put in.
    """
    dims = require_tensor(op.results[0].type, "result")
    require_map(op.out_map, len(domain), len(dims), "out_map")
    results = IndexMap.from_attr(op.out_map, domain).results
    variables = IndexMap.identity(domain).dims
    parts = [merged_dims(result, variables) for result in results]
    found = [position for part in parts for position in part or ()]
    missing = set(kept).difference(found)
    require(
        None not in parts
        and len(set(found)) == len(found)
        and set(found) <= set(kept)
        and all(domain[position] is ONE for position in missing),
        "out_map must permute the batch, m and n dims, or merge some of them row-major",
    )
    extents = tuple(product([domain[position] for position in part or ()]) for part in parts)
    require(extents == dims, "result dims do not match out_map")


def merged_dims(result: Expr, variables: Sequence[DimVar]) -> list[int] | None:
    """The positions of the variables, outermost first, that are merged row-major to one coordinate `result`;
    None if it is anything else.
    """
    used = [position for position, variable in enumerate(variables) if variable in result.atoms()]
    merged: list[int] = []
    stride, total = ONE, ZERO
    while used:
        inner = next((p for p in used if result.coefficient(variables[p]) is stride), None)
        extent = None if inner is None else variables[inner].extent
        if inner is None or extent is None:
            return None
        total = total + variables[inner] * stride
        stride = stride * extent
        merged.insert(0, inner)
        used.remove(inner)
    return merged if total is result else None


@mixed_trailing_operands
class ContractOp(Kernel.Operation, name="contract", traits=[ext.Pure]):
    """acc = sum over k of lhs * rhs; result[out_map] = epilogue(acc).

    The domain lists batch, m, n and k dims; `sizes` says how many of each. With `packed = w` rhs is a panel
    tensor
    (*batch, ceil(N/w), K, w), zero padded, and rhs_map is absent. The epilogue's arguments: all operands, an
    index per
    batch, m and n dim, the accumulator (f32 for half types). `schedule` says how the CPU cuts it up
    (contract_schedule.py), `library` names one that computes the sums there; other targets ignore both.
    """

    lhs: ext.Operand[Any]
    rhs: ext.Operand[Any]
    extras: Sequence[ext.Operand[Any]]
    domain: ir.AffineMapAttr
    lhs_map: ir.AffineMapAttr
    out_map: ir.AffineMapAttr
    body: ext.Region
    result: ext.Result[Any]

    REQUIRED = {"sizes": ir.DenseI64ArrayAttr}
    OPTIONAL = {
        "rhs_map": ir.AffineMapAttr,
        "packed": ir.IntegerAttr,
        "schedule": ir.DictAttr,
        "library": ir.StringAttr,
    }
    verify_invariants = verifier(_verify_contract)

    @property
    def sizes(self) -> ir.DenseI64ArrayAttr:
        """Counts of batch, m, n and k dims."""
        return self.attributes["sizes"]

    @property
    def rhs_map(self) -> ir.AffineMapAttr | None:
        """Map from the domain to rhs coordinates; None if rhs is packed."""
        return self.attributes["rhs_map"] if "rhs_map" in self.attributes else None

    @property
    def packed(self) -> int | None:
        """Panel width of rhs, None if it is not packed."""
        return self.attributes["packed"].value if "packed" in self.attributes else None

    @property
    def library(self) -> str | None:
        """The library whose routine computes the sums on the CPU; None: our own code."""
        return self.attributes["library"].value if "library" in self.attributes else None

    @property
    def schedule(self) -> ContractSchedule:
        """How it is cut up; fields that the attribute leaves out are None."""
        return read_schedule(self.attributes["schedule"] if "schedule" in self.attributes else None)


def _verify_scatter(op: ir.OpView) -> None:
    extents = extents_of(op.domain)
    base = op.operands[0].type
    base_dims = require_tensor(base, "base")
    require_same_type(base, op.results[0].type, "result type differs from the base's")
    require(op.mode.value in SCATTER_MODES, f'mode must be "set" or "add", got "{op.mode.value}"')
    block = entry_block(op)
    require_arguments(block, [*(operand.type for operand in op.operands), *[None] * len(extents)])
    i64 = ir.IntegerType.get_signless(64, op.context)
    require_yield(block, [base.element_type, *[i64] * len(base_dims)])


@mixed_trailing_operands
class ScatterOp(Kernel.Operation, name="scatter", traits=[ext.Pure]):
    """base with body(c) = (value, coordinates...) written in row-major order of c.

    Coordinates out of range drop the write.

    With `in_place` the result shares base's memory.
    """

    base: ext.Operand[Any]
    ins: Sequence[ext.Operand[Any]]
    domain: ir.AffineMapAttr
    mode: ir.StringAttr
    body: ext.Region
    result: ext.Result[Any]

    OPTIONAL = {"in_place": ir.UnitAttr}
    verify_invariants = verifier(_verify_scatter)

    @property
    def in_place(self) -> bool:
        """Whether the result shares the base's memory."""
        return "in_place" in self.attributes
