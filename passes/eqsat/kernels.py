"""What one tensor class becomes when it is kept in memory: a region, contraction or scatter kernel around an
evaluated body.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ...dialects.symbolic import DimVar, Expr, const
from .body import MAX_VALUES, Evaluator, Value, Var, variables
from .egraph import Node
from .index_table import Contraction, Dims, dims_for, extents_of
from .row_scratch import keep_rows


@dataclass
class Kernel:
    """Computes tensor class `tensor`. `consulted`: the tensors whose place (memory or inlined) the body
    depends on.
    """

    tensor: int
    domain: Dims
    root: Value
    evaluator: Evaluator
    consulted: dict[int, bool] = field(default_factory=dict)
    needs: tuple[int, ...] = ()
    """Tensor classes read from memory, in order of first use."""

    @property
    def operands(self) -> tuple[int, ...]:
        """Tensor classes that must be in memory for this form of kernel."""
        return ()

    @cached_property
    def values(self) -> list[Value]:
        """Every value of the body, operands first."""
        return walk(self.root)


@dataclass
class RegionKernel(Kernel):
    """result[c] = root(c)."""


@dataclass
class ContractKernel(Kernel):
    """`root` is the epilogue around one `contract` value; out[i] is the result axis of contraction dim i."""

    contraction: Contraction | None = None
    lhs: int = -1
    rhs: int = -1
    packed: bool = False
    out: tuple[int, ...] = ()

    @property
    def operands(self) -> tuple[int, ...]:
        return (self.lhs, self.rhs)


@dataclass
class ScatterKernel(Kernel):
    """Writes `root` (the update) at `coords` into a copy of tensor class `base`; `domain` is the update's."""

    base: int = -1
    mode: str = "set"
    coords: tuple[Expr | Value, ...] = ()

    @property
    def operands(self) -> tuple[int, ...]:
        return (self.base,)


def build(evaluator: Evaluator, tensor: int, node: Node) -> Kernel | None:
    """The kernel that producer `node` gives; None if its body is not one kernel (a contraction inside other
    arithmetic than an epilogue).
    """
    if node.op == "Region":
        domain = evaluator.graph.types[tensor].dims
        root = evaluator.at(node.args[1], dims_for(domain))
        return _with_contraction(evaluator, tensor, domain, root)
    if node.op == "Panel":
        return _panel(evaluator, tensor, node)
    return _scatter(evaluator, tensor, node)


def _with_contraction(evaluator: Evaluator, tensor: int, domain: Dims, root: Value) -> Kernel | None:
    values = walk(root)
    contracts = [v for v in values if v.op == "contract"]
    if not contracts:
        evaluator.bodies.limit = 4 * MAX_VALUES  # what rewriting adds, not what the kernel holds
        root = keep_rows(evaluator.bodies, root, tuple(variables(dims_for(domain))))
        return RegionKernel(tensor, domain, root, evaluator, needs=loads(walk(root)))
    if len(contracts) > 1 or any(v.op == "reduce" for v in values):
        return None
    key, lhs, rhs, packed, coords = contracts[0].attrs
    contraction = evaluator.table.get_contraction(key)
    out = _permutation(coords, contraction.result, domain)
    if out is None:
        return None
    needs = tuple(dict.fromkeys((lhs, rhs, *loads(values))))
    return ContractKernel(
        tensor,
        domain,
        root,
        evaluator,
        needs=needs,
        contraction=contraction,
        lhs=lhs,
        rhs=rhs,
        packed=packed,
        out=out,
    )


def _permutation(coords: Dims, result: Dims, domain: Dims) -> tuple[int, ...] | None:
    """Result axis of each contraction dim, when the coordinates are a permutation of the domain (axes of
    extent 1 fill up).
    """
    out, free = [], [i for i, e in enumerate(domain) if e is const(1)]
    axes = {v: i for i, v in enumerate(dims_for(domain)) if isinstance(v, DimVar)}
    for coord, extent in zip(coords, result, strict=True):
        if extent is const(1):
            out.append(-1)
        elif isinstance(coord, DimVar) and coord in axes and coord.extent is extent:
            out.append(axes.pop(coord))
        else:
            return None
    if axes:
        return None
    if len(free) != out.count(-1):
        return None
    return tuple(free.pop(0) if o == -1 else o for o in out)


def _panel(evaluator: Evaluator, tensor: int, node: Node) -> Kernel:
    """Panels [*batch, ceil(N/w), K, w] of a contraction's right operand; columns past N are zero."""
    key, width, operand = node.args
    contraction = evaluator.table.get_contraction(key)
    domain = evaluator.graph.types[tensor].dims
    coords = dims_for(domain)
    columns = coords[-3] * width + coords[-1]
    inner = split(coords[-2], contraction.summed)
    outer: list[Expr] = [const(0)] * len(contraction.result)
    for i, c in zip(contraction.batch, coords[:-3], strict=True):
        outer[i] = c
    for i, c in zip(
        contraction.columns,
        split(columns, tuple(contraction.result[i] for i in contraction.columns)),
        strict=True,
    ):
        outer[i] = c
    at = contraction.rhs.apply((*outer, *inner))
    root = evaluator.at(operand, at, masked=True)
    total = const(1)
    for i in contraction.columns:
        total = total * contraction.result[i]
    slack = (total - 1 - columns).bounds()[0]
    if slack is None or slack < 0:
        bodies = evaluator.bodies
        valid = bodies.scalar("less_equal", bodies.integer(columns), bodies.integer(total - 1))
        root = bodies.scalar("select", valid, root, bodies.constant(_zero(root.dtype), root.dtype))
    return RegionKernel(tensor, domain, root, evaluator, needs=loads(walk(root)))


def _zero(dtype: str) -> str:
    return "0.0" if dtype[0] in "fb" else "0"


def split(position: Expr, extents: Dims) -> Dims:
    """Row-major coordinates of a linear position; the first one is not reduced modulo its extent, so a
    position past the end stays past it.
    """
    coords = []
    for i, extent in reversed(list(enumerate(extents))):
        coords.append(position if i == 0 else position % extent)
        position = position // extent
    return tuple(reversed(coords))


def _scatter(evaluator: Evaluator, tensor: int, node: Node) -> Kernel | None:
    mode, key, base, update, *indices = node.args
    table = evaluator.table
    gather = table.get_gather(key) if indices else None
    domain = extents_of(table.get_map(key)) if gather is None else gather.extents
    at = dims_for(domain)
    root = evaluator.at(update, at)
    values = [evaluator.at(i, at) for i in indices]
    coords: list[Expr | Value] = []
    for expr in table.get_map(key).apply(at) if gather is None else gather.apply(at):
        used = {} if gather is None else {gather.value_var(k): v for k, v in enumerate(values)}
        used = {var: value for var, value in used.items() if var in expr.atoms()}
        coords.append(evaluator.index_expression(expr, used) if used else expr)
    pieces = [v for c in (root, *coords) if isinstance(c, Value) for v in walk(c)]
    if any(v.op == "contract" for v in pieces):
        return None
    needs = tuple(dict.fromkeys((base, *loads(pieces))))
    return ScatterKernel(
        tensor, domain, root, evaluator, needs=needs, base=base, mode=mode, coords=tuple(coords)
    )


def walk(root: Value) -> list[Value]:
    """Every value of a body, operands first."""
    order: dict[Value, None] = {}

    def visit(value: Value) -> None:
        if value in order:
            return
        for a in value.args:
            visit(a)
        order[value] = None

    visit(root)
    return list(order)


def loads(values: list[Value]) -> tuple[int, ...]:
    """Tensor classes loaded, in order of first use."""
    return tuple(dict.fromkeys(v.attrs[0] for v in values if v.op == "load" and isinstance(v.attrs[0], int)))


def loop_vars(kernel: Kernel) -> tuple[Var, ...]:
    """The domain's coordinate variables (axes of extent 1 have none)."""
    return tuple(variables(dims_for(kernel.domain)))
