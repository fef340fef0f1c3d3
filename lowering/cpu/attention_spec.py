"""What a `kernel.attention` op asks for, with the dims of each kind flattened into one coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.kernel import score_dtype
from ...dialects.mlir import ir
from ...dialects.symbolic import Atom, DimVar, Expr, product
from ...dialects.types import dims_of, dtype_of
from ...errors import LoweringError
from .contract_epilogue import Epilogue
from .contract_spec import ACCUMULATORS, Axis, ContractSpec
from .tree import Body, Reader, Tensor, read_extents, read_map

_DOMAIN, _FLAT = 1_000_000, 2_000_000


@dataclass(frozen=True)
class Operand:
    """An operand: its position, its element type, and the offset of an element over the axes' atoms."""

    position: int
    dtype: str
    offset: Expr


@dataclass(frozen=True)
class Score:
    """The score's body, and its indices by kind."""

    body: Body
    batch: tuple[DimVar, ...]
    rows: tuple[DimVar, ...]
    keys: tuple[DimVar, ...]


@dataclass(frozen=True)
class AttentionSpec:
    """out[b, m, n] = epilogue(sum over k of softmax_k(score[b, m, k]) * values[b, k, n]); `dtype` is the
    scores'. Without a product of query and key both are None.
    """

    batch: Axis
    rows: Axis
    columns: Axis
    keys: Axis
    depth: Axis
    dtype: str
    values: Operand
    query: Operand | None
    key: Operand | None
    out: Expr
    out_dtype: str
    zero_empty_rows: bool
    score: Score
    epilogue: Epilogue

    @property
    def result(self) -> ContractSpec:
        """Rows and columns of the result, for the epilogue."""
        return ContractSpec(
            self.batch, self.rows, self.columns, self.keys,
            self.dtype, self.out_dtype, product(()), product(()), self.out, None,
        )  # fmt: skip


def read_attention(operation: ir.Operation) -> AttentionSpec:
    """Reads the op; symbols must be in scope. LoweringError on dtypes that have no CPU form."""
    extents = read_extents(operation.attributes["domain"])
    sizes = list(ir.DenseI64ArrayAttr(operation.attributes["sizes"]))
    inner = read_extents(operation.attributes["depth"]) if "depth" in operation.attributes else ()
    groups: list[tuple[Expr, ...]] = []
    first = 0
    for size in sizes:
        groups.append(tuple(extents[first : first + size]))
        first += size
    groups.append(tuple(inner))
    axes = [Axis(DimVar(_FLAT + kind, product(dims)), dims) for kind, dims in enumerate(groups)]
    batch, rows, columns, keys, depth = axes
    domain = [DimVar(_DOMAIN + index, extent) for index, extent in enumerate((*extents, *inner))]
    flat: dict[Atom, Expr] = dict(
        zip(domain, [c for axis in axes for c in axis.coordinates(axis.atom)], strict=True)
    )

    def offset(name: str, type_: ir.Type, dims: Sequence[Expr]) -> Expr:
        coordinates = read_map(operation.attributes[name], dims)
        return Tensor(dtype_of(type_), dims_of(type_)).offset(coordinates).substitute(flat)

    def operand(position: int, name: str, dims: Sequence[Expr]) -> Operand:
        type_ = operation.operands[position].type
        return Operand(position, dtype_of(type_), offset(name, type_, dims))

    dtype = score_dtype(operation.opview)
    values = operand(0, "value_map", domain[: len(extents)])
    query = operand(1, "query_map", domain) if inner or "depth" in operation.attributes else None
    key = operand(2, "key_map", domain) if query is not None else None
    for side in (values, query, key):
        if side is not None and ACCUMULATORS.get(side.dtype) != dtype:
            raise LoweringError(
                f"kernel.attention of {side.dtype} with scores of {dtype} has no CPU lowering at "
                f"{operation.location}"
            )
    reader = Reader()
    score = reader.body(
        operation, [*batch.dims, *rows.dims, *keys.dims], accumulator=dtype if query is not None else None
    )
    epilogue = reader.body(operation, [*batch.dims, *rows.dims, *columns.dims], accumulator=dtype, region=1)
    one, two = len(batch.dims), len(batch.dims) + len(rows.dims)
    result = operation.results[0].type
    return AttentionSpec(
        batch, rows, columns, keys, depth,
        dtype=dtype,
        values=values,
        query=query,
        key=key,
        out=offset("out_map", result, domain[: len(extents)]),
        out_dtype=dtype_of(result),
        zero_empty_rows="zero_empty_rows" in operation.attributes,
        score=Score(score, score.indices[:one], score.indices[one:two], score.indices[two:]),
        epilogue=Epilogue(
            epilogue, epilogue.indices[:one], epilogue.indices[one:two], epilogue.indices[two:]
        ),
    )  # fmt: skip
