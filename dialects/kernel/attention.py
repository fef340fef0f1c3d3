"""Attention in one pass: scores, softmax and the weighted sum of values without the matrix of weights.

Where the scores themselves are a product of queries and keys, this is flash attention.
"""

# mypy: disable-error-code="call-arg,name-defined,misc,attr-defined,type-var"
# `ext` builds op classes at run time, from annotations that no static checker understands.

from collections.abc import Sequence
from typing import Any

from ..definition import mixed_trailing_operands
from ..mlir import ext, ir
from ..symbolic import Expr, IndexMap
from ..types import DTYPES, dims_of, dtype_of
from ..verify import require, require_dtype, require_map, require_tensor, verifier
from .scalars import Kernel
from .structured import (
    accumulator_dtype,
    contract_groups,
    entry_block,
    extents_of,
    require_arguments,
    require_permutation,
    require_yield,
    used_dims,
)

SCORE_DTYPES = ("f32", "f64")


def _verify_attention(op: ir.OpView) -> None:
    domain = extents_of(op.domain)
    sizes = list(op.sizes)
    require(len(sizes) == 4 and min(sizes) >= 0, f"sizes must be [batch, m, n, k] counts, got {sizes}")
    require(sum(sizes) == len(domain), f"sizes {sizes} do not add up to the domain's rank {len(domain)}")
    batch, m, n, k = contract_groups(op)
    require_dtype(op.operands[0].type, DTYPES[:-1], "the values' element type")
    _verify_map(op, "value_map", op.value_map, domain, op.operands[0], {*batch, *n, *k})
    require_permutation(op, domain, [*batch, *m, *n])
    given: list[ir.Type] = []
    if op.depth is None:
        extra = [name for name in ("query_map", "key_map") if name in op.attributes]
        require(not extra, f"{' and '.join(extra)} without depth")
    else:
        given = [_verify_product(op, domain, batch, m, k)]
    operands = [operand.type for operand in op.operands]
    score = entry_block(op, 0)
    require_arguments(score, [*operands, *[None] * len((*batch, *m, *k)), *given])
    yielded = [value.type for value in list(score.operations)[-1].operation.operands]
    require(
        len(yielded) == 1 and str(yielded[0]) in SCORE_DTYPES,
        f"the score must be one of {', '.join(SCORE_DTYPES)}, not ({', '.join(map(str, yielded))})",
    )
    epilogue = entry_block(op, 1)
    require_arguments(epilogue, [*operands, *[None] * len((*batch, *m, *n)), yielded[0]])
    require_yield(epilogue, [op.results[0].type.element_type])


def _verify_product(
    op: ir.OpView, domain: tuple[Expr, ...], batch: list[int], m: list[int], k: list[int]
) -> ir.Type:
    """Checks queries and keys; returns the type of their products' sum."""
    require(len(op.operands) >= 3, "with depth, operands 1 and 2 are the queries and the keys")
    for name in ("query_map", "key_map"):
        require(name in op.attributes, f"depth needs {name}")
    full = (*domain, *extents_of(op.depth))
    depth = set(range(len(domain), len(full)))
    query, key = op.operands[1], op.operands[2]
    dtype = require_dtype(query.type, DTYPES[:-1], "the queries' element type")
    require_dtype(key.type, (dtype,), "the keys' element type")
    _verify_map(op, "query_map", op.query_map, full, query, {*batch, *m, *depth})
    _verify_map(op, "key_map", op.key_map, full, key, {*batch, *k, *depth})
    return ir.Type.parse(accumulator_dtype(dtype), op.context)


def _verify_map(
    op: ir.OpView,
    name: str,
    attr: ir.AffineMapAttr,
    domain: tuple[Expr, ...],
    operand: ir.Value,
    allowed: set[int],
) -> None:
    require_tensor(operand.type, name.removesuffix("_map"))
    require_map(attr, len(domain), len(dims_of(operand.type)), name)
    outside = sorted(used_dims(IndexMap.from_attr(attr, domain)) - allowed)
    require(
        not outside, f"{name} uses dims that its operand does not have: {', '.join(f'd{d}' for d in outside)}"
    )


@mixed_trailing_operands
class AttentionOp(Kernel.Operation, name="attention", traits=[ext.Pure]):
    """attended[b, m, n] = sum over k of softmax over k of score[b, m, k] * values[b, k, n].

    The domain lists batch, m, n and k dims; `sizes` says how many of each. With `depth`, operands 1 and 2 are
    queries and keys, and acc[b, m, k] = sum over depth of query * key (f32 for half types) is the last
    argument of the score region; its maps take the domain's dims, then depth's. Region `score`: all operands,
    an index per batch, m and k dim, acc; yields f32 or f64. Region `epilogue`: all operands, an index per
    batch, m and n dim, the attended value in the score's dtype.

    A row whose scores are all -inf is 0/0 = NaN, with `zero_empty_rows` it is 0. The sum over no keys is 0.
    """

    values: ext.Operand[Any]
    others: Sequence[ext.Operand[Any]]
    domain: ir.AffineMapAttr
    value_map: ir.AffineMapAttr
    out_map: ir.AffineMapAttr
    score: ext.Region
    epilogue: ext.Region
    result: ext.Result[Any]

    REQUIRED = {"sizes": ir.DenseI64ArrayAttr}
    OPTIONAL = {
        "depth": ir.AffineMapAttr,
        "query_map": ir.AffineMapAttr,
        "key_map": ir.AffineMapAttr,
        "zero_empty_rows": ir.UnitAttr,
    }
    verify_invariants = verifier(_verify_attention)

    @property
    def sizes(self) -> ir.DenseI64ArrayAttr:
        """Counts of batch, m, n and k dims."""
        return self.attributes["sizes"]

    @property
    def depth(self) -> ir.AffineMapAttr | None:
        """Extents that queries and keys are multiplied over; None if the score needs no product."""
        return self.attributes["depth"] if "depth" in self.attributes else None

    @property
    def query_map(self) -> ir.AffineMapAttr:
        """Map from the domain's and depth's dims to coordinates of the queries."""
        return self.attributes["query_map"]

    @property
    def key_map(self) -> ir.AffineMapAttr:
        """Map from the domain's and depth's dims to coordinates of the keys."""
        return self.attributes["key_map"]

    @property
    def zero_empty_rows(self) -> bool:
        """Whether a row without a finite score is 0 instead of NaN."""
        return "zero_empty_rows" in self.attributes


def score_dtype(op: ir.OpView) -> str:
    """The dtype of the scores and of the softmax."""
    return dtype_of(list(op.regions[0].blocks[0].operations)[-1].operation.operands[0].type)
