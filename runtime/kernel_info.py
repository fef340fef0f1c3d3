"""What a reader wants to know of a program's kernels, kept when their module is gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..dialects import kernel as K
from ..dialects.mlir import ir
from ..dialects.symbolic import Expr, as_expr, product
from ..dialects.types import dims_of, dtype_of, scope_of
from ..passes.schedule import Schedule

_FREE = ("load", "constant", "yield", "to_index", "index_value", "cast", "reduce", "local")
"""Ops of a body that are not counted as arithmetic."""


@dataclass(frozen=True)
class KernelInfo:
    """A kernel of a program.

    function: the function that it stands in (`main`, or a repeated layer's). kind: region, contract,
    attention or scatter. operands and result: shapes and dtypes. place: the source location. text: its MLIR.
    flops: arithmetic operations per launch, over the program's symbols; exact for products, and for regions
    the operations of the body times the elements of its loops. search: the row of the search's report, with
    the primitive ops and the rules behind it and what else was measured; empty for kernels that a later pass
    made.
    """

    function: str
    kind: str
    operands: tuple[str, ...]
    result: str
    place: str
    text: str
    flops: Expr
    search: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind} ({', '.join(self.operands)}) -> {self.result}"


def kernel_infos(module: ir.Operation, schedule: Schedule, rows: list[dict[str, Any]]) -> list[KernelInfo]:
    """The kernels of `schedule`, in its order; `rows` are the search's, in the functions' order."""
    found: dict[ir.Operation, KernelInfo] = {}
    for func in (o.operation for o in module.regions[0].blocks[0].operations):
        if func.name != "func.func" or not func.regions[0].blocks:
            continue
        name = ir.StringAttr(func.attributes["sym_name"]).value
        waiting = [row for row in rows if row["function"] == name]
        with scope_of(func):
            for op in (o.operation for o in func.regions[0].blocks[0].operations):
                if op.name.startswith("kernel."):
                    found[op] = _info(name, op, waiting)
    return [found[kernel.op] for kernel in schedule.kernels]


def _info(function: str, op: ir.Operation, waiting: list[dict[str, Any]]) -> KernelInfo:
    kind = op.name.removeprefix("kernel.")
    result = _type_text(op.results[0].type)
    # Rows stand in the order of the kernels; one whose kernel a later pass removed is passed over.
    found = next(
        (i for i, row in enumerate(waiting) if (row["kernel"], row["tensor"]) == (kind, result)), None
    )
    row: dict[str, Any] = {}
    if found is not None:
        row = waiting[found]
        del waiting[: found + 1]
    return KernelInfo(
        function,
        kind,
        tuple(_type_text(value.type) for value in op.operands),
        result,
        str(op.location).removeprefix("loc(").removesuffix(")"),
        str(op),
        _flops(op),
        row,
    )


def _type_text(type_: ir.Type) -> str:
    return "x".join([*map(str, dims_of(type_)), dtype_of(type_)])


def _flops(op: ir.Operation) -> Expr:
    domain = K.extents_of(op.attributes["domain"])
    if op.name == "kernel.contract":
        return product(domain) * 2
    if op.name == "kernel.attention":
        batch, m, n, k = K.contract_groups(op.opview)
        depth = K.extents_of(op.attributes["depth"]) if "depth" in op.attributes else ()
        scores = product([*(domain[d] for d in (*batch, *m, *k)), *depth])
        return (product(domain) + scores) * 2
    total = as_expr(0)
    for count, inner in _arithmetic(op, product(domain)):
        total = total + inner * count
    return total


def _arithmetic(op: ir.Operation, runs: Expr) -> Iterator[tuple[int, Expr]]:
    """(number of operations, times they run) of each block within an op."""
    for region in op.regions:
        for block in region:
            operations = [view.operation for view in block.operations]
            yield sum(o.name.removeprefix("kernel.") not in _FREE for o in operations), runs
            for inner in operations:
                if inner.regions:
                    yield from _arithmetic(inner, runs * product(K.extents_of(inner.attributes["extents"])))
