"""What one tensor class becomes when it is kept in memory: a region, contraction or scatter kernel around an
evaluated body.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...dialects.symbolic import Atom, DimVar, Expr, FloorDiv, Mod, const
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


@dataclass(frozen=True)
class Product:
    """The contraction inside a score: `value` stands for sum over depth of query * key, each read at
    coordinates over the kernel's variables and `loop`.
    """

    value: Value
    query: int
    key: int
    query_coords: Dims
    key_coords: Dims
    loop: tuple[Var, ...]


@dataclass
class RegionKernel(Kernel):
    """result[c] = root(c)."""


@dataclass
class ContractKernel(Kernel):
    """`root` is the epilogue around one `contract` value; out[i] is the domain's axis of contraction dim i,
    -1 where its extent is 1; `result` are the tensor's coordinates over the domain's variables.
    """

    contraction: Contraction | None = None
    lhs: int = -1
    rhs: int = -1
    packed: bool = False
    out: tuple[int, ...] = ()
    result: Dims = ()
    schedule: dict[str, Any] = field(default_factory=dict)

    @property
    def operands(self) -> tuple[int, ...]:
        return (self.lhs, self.rhs)


@dataclass
class AttentionKernel(Kernel):
    """`root` is the epilogue around one `stream` value, whose operand is the score at (row, key)."""

    contraction: Contraction | None = None
    """Weights times values; its left map leads to the scores' coordinates."""
    stream: Value | None = None
    values_tensor: int = -1
    out: tuple[int, ...] = ()
    result: Dims = ()
    product: Product | None = None

    @property
    def operands(self) -> tuple[int, ...]:
        factors = (self.product.query, self.product.key) if self.product is not None else ()
        return (self.values_tensor, *factors)


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
        domain, coords = _domain(evaluator, node.args[1], evaluator.graph.types[tensor].dims)
        root = evaluator.at(node.args[1], coords)
        return _with_contraction(evaluator, tensor, domain, coords, root)
    if node.op == "Panel":
        return _panel(evaluator, tensor, node)
    return _scatter(evaluator, tensor, node)


MOST_SPLITS = 4
"""Dims of a result that may be cut in two for a contraction behind a reshape."""


def _domain(evaluator: Evaluator, cls: int, dims: Dims) -> tuple[Dims, Dims]:
    """The domain of a tensor's kernel, and the tensor's coordinates over the domain's variables.

    They are the tensor's own, unless a contraction is read through a reshape that merges its dims (heads,
    groups of channels): then these are dims of the domain, and the result's coordinate is put together.
    """
    domain, coords = dims, dims_for(dims)
    for _ in range(MOST_SPLITS):
        loops = [v for v in walk(evaluator.at(cls, coords)) if v.op in ("contract", "stream")]
        outer = next((v.attrs[3] for v in loops if v.op == "stream"), None)
        if outer is None:
            outer = loops[0].attrs[4] if loops else ()
        cut = _cut(outer, domain)
        if cut is None:
            break
        axis, size = cut
        old = dims_for(domain)
        domain = (*domain[:axis], domain[axis] // size, const(size), *domain[axis + 1 :])
        new = dims_for(domain)
        swap: dict[Atom, Expr] = {
            v: new[i] if i < axis else new[i + 1] for i, v in enumerate(old) if isinstance(v, DimVar)
        }
        whole = old[axis]
        assert isinstance(whole, DimVar)
        swap[whole] = new[axis] * size + new[axis + 1]
        coords = tuple(c.substitute(swap) for c in coords)
    return domain, coords


def _cut(coords: Dims, domain: Dims) -> tuple[int, int] | None:
    """An axis of the domain that coordinates read by quotient and remainder, and the size of its parts."""
    axes = {v: i for i, v in enumerate(dims_for(domain)) if isinstance(v, DimVar)}
    for coord in coords:
        for monomial, _ in coord.terms:
            for atom in monomial:
                if isinstance(atom, FloorDiv | Mod):
                    whole, size = atom.arguments
                    if whole in axes and size.is_const and (domain[axes[whole]] % size) is const(0):
                        return axes[whole], size.value
    return None


def _with_contraction(
    evaluator: Evaluator, tensor: int, domain: Dims, result: Dims, root: Value
) -> Kernel | None:
    values = walk(root)
    contracts = [v for v in values if v.op == "contract"]
    streams = [v for v in values if v.op == "stream"]
    if streams:
        return _attention(evaluator, tensor, domain, result, root, streams, contracts)
    if not contracts:
        evaluator.bodies.limit = 4 * MAX_VALUES  # what rewriting adds, not what the kernel holds
        root = keep_rows(evaluator.bodies, root, tuple(variables(dims_for(domain))))
        return RegionKernel(tensor, domain, root, evaluator, needs=loads(walk(root)))
    if len(contracts) > 1 or any(v.op == "reduce" for v in values):
        return None
    key, lhs, rhs, packed, coords, *schedule = contracts[0].attrs
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
        result=result,
        schedule=evaluator.table.get_schedule(schedule[0]) if schedule else {},
    )


def _attention(
    evaluator: Evaluator,
    tensor: int,
    domain: Dims,
    result: Dims,
    root: Value,
    streams: list[Value],
    contracts: list[Value],
) -> Kernel | None:
    values = walk(root)
    inner = set(walk(streams[0].args[0]))
    if len(streams) > 1 or len(contracts) > 1 or any(v.op == "reduce" for v in values):
        return None
    key, tensor_of_values, loop, coords, _ = streams[0].attrs
    if any(c not in inner or not c.deps.intersection(loop) for c in contracts):
        return None
    contraction = evaluator.table.get_contraction(key)
    out = _permutation(coords, contraction.result, domain)
    if out is None:
        return None
    axes = dims_for(domain)
    columns = {axes[out[i]] for i in contraction.columns if out[i] >= 0}
    if columns & streams[0].args[0].deps:
        return None
    product = None
    if contracts:
        rows = {axes[out[i]] for i in contraction.rows if out[i] >= 0}
        product = _product(evaluator, contracts[0], rows, set(loop))
        if product is None:
            return None
    factors = (product.query, product.key) if product is not None else ()
    return AttentionKernel(
        tensor,
        domain,
        root,
        evaluator,
        needs=tuple(dict.fromkeys((tensor_of_values, *factors, *loads(values)))),
        contraction=contraction,
        stream=streams[0],
        values_tensor=tensor_of_values,
        out=out,
        result=result,
        product=product,
    )


def _product(evaluator: Evaluator, value: Value, rows: set[Expr], keys: set[Var]) -> Product | None:
    """The contraction as query (does not vary with the keys) times key (does not vary with the rows)."""
    contract, lhs, rhs, packed, coords, *_ = value.attrs
    if packed or any(v in evaluator.bodies.dynamic for v in variables(coords)):
        return None
    contraction = evaluator.table.get_contraction(contract)
    loop = tuple(evaluator.bodies.fresh(e) for e in contraction.summed)
    along = tuple(const(0) if e is const(1) else v for v, e in zip(loop, contraction.summed, strict=True))
    sides = [
        (lhs, contraction.lhs.apply((*coords, *along))),
        (rhs, contraction.rhs.apply((*coords, *along))),
    ]
    for (query, query_coords), (key, key_coords) in (sides, sides[::-1]):
        if not keys.intersection(variables(query_coords)) and not rows.intersection(variables(key_coords)):
            return Product(value, query, key, query_coords, key_coords, loop)
    return None


def _permutation(coords: Dims, result: Dims, domain: Dims) -> tuple[int, ...] | None:
    """Domain axis of each contraction dim, -1 for dims of extent 1, when the coordinates are a permutation of
    the domain's other axes.
    """
    out = []
    axes = {v: i for i, v in enumerate(dims_for(domain)) if isinstance(v, DimVar)}
    for coord, extent in zip(coords, result, strict=True):
        if extent is const(1):
            out.append(-1)
        elif isinstance(coord, DimVar) and coord in axes and coord.extent is extent:
            out.append(axes.pop(coord))
        else:
            return None
    return None if axes else tuple(out)


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
