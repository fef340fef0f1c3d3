"""The analytic roofline: seconds of a kernel from bytes moved and work done, before anything is measured.

Work counts each value as often as the loops run that it depends on (a value sits at the shallowest loop that
knows its coordinates). The
constants describe a small multi-core CPU; only their ratios matter for the choices made here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...dialects.symbolic import Atom, DimVar, const
from ...dialects.types import BYTES
from .analysis import SCALAR_WORK
from .body import Value, Var
from .egraph import FrozenGraph
from .index_table import Contraction, Dims, sizes
from .kernels import AttentionKernel, ContractKernel, Kernel, ScatterKernel, loop_vars


@dataclass(frozen=True)
class Machine:
    """Seconds per launch, bytes per second (memory, cache), additions per second (vector code), multiply-adds
    per second (matmul).
    """

    launch: float = 1.5e-6
    memory: float = 2.5e10
    cache: float = 8e10
    cache_bytes: float = 1.6e7
    work: float = 4e10
    matmul: float = 7e10
    scalar_penalty: float = 6.0


def kernel_seconds(kernel: Kernel, graph: FrozenGraph, symbols: dict[Atom, int], machine: Machine) -> float:
    """Estimated time of one launch at the given symbol values."""
    moved = _bytes(kernel, graph, symbols)
    rate = machine.cache if moved < machine.cache_bytes else machine.memory
    work = _work(kernel, symbols, machine) / machine.work
    if isinstance(kernel, ContractKernel):
        work += _contract_seconds(kernel, symbols, machine)
    if isinstance(kernel, AttentionKernel):
        work += _attention_products(kernel, symbols) / machine.matmul
    return machine.launch + max(moved / rate, work) + 0.1 * min(moved / rate, work)


COPIED_LINE, COPIED_WINDOW = 1.5, 12.0
"""Vector additions that it costs to copy an element of an operand into the order of the tiles: out of lines,
or one by one out of windows (several dims of rows or columns with several summed ones).
"""


def _contract_seconds(kernel: ContractKernel, symbols: dict[Atom, int], machine: Machine) -> float:
    """Multiply-adds, and copies of operands that are not read in place: each element of one serves as many
    products as the other has rows or columns, which is few where the product is no matrix product.
    """
    c = kernel.contraction
    assert c is not None
    products = 1.0 * sizes(c.result, symbols) * sizes(c.summed, symbols)
    if kernel.packed:
        return products / machine.matmul
    rows, columns = (sizes(tuple(c.result[i] for i in axes), symbols) for axes in (c.rows, c.columns))
    copies = _copied(c, c.columns) * products / max(rows, 1) + _copied(c, c.rows) * products / max(columns, 1)
    return products / machine.matmul * 1.6 + copies / machine.work


def _copied(c: Contraction, axes: tuple[int, ...]) -> float:
    across = sum(c.result[i] is not const(1) for i in axes)
    along = sum(extent is not const(1) for extent in c.summed)
    return COPIED_WINDOW if across > 1 and along > 1 else COPIED_LINE


def _attention_products(kernel: AttentionKernel, symbols: dict[Atom, int]) -> float:
    """Multiply-adds: weights times values, and the scores' own."""
    c = kernel.contraction
    assert c is not None
    products = 1.0 * sizes(c.result, symbols) * sizes(c.summed, symbols)
    if kernel.product is not None:
        rows = sizes(tuple(c.result[i] for i in (*c.batch, *c.rows)), symbols)
        depth = prod(_extent(v, symbols) for v in kernel.product.loop)
        products += 1.0 * rows * sizes(c.summed, symbols) * depth
    return products


def _bytes(kernel: Kernel, graph: FrozenGraph, symbols: dict[Atom, int]) -> float:
    kind = graph.types[kernel.tensor]
    written = 1.0 * sizes(kind.dims, symbols) * BYTES[kind.dtype]
    if isinstance(kernel, ScatterKernel):
        # In place where the base dies, which is what a scatter is chosen for: only the updates move.
        written = 2.0 * sizes(kernel.domain, symbols) * BYTES[kind.dtype]
    total = float(written)
    footprints: dict[object, float] = {}
    for value in kernel.values:
        if value.op == "load" and isinstance(value.attrs[0], int):
            source = value.attrs[0]
            whole = sizes(graph.types[source].dims, symbols) * BYTES[value.dtype]
            touched = _iterations(value.deps, symbols) * BYTES[value.dtype]
            footprints[source] = max(footprints.get(source, 0.0), min(whole, touched))
    if isinstance(kernel, ContractKernel | AttentionKernel):
        for operand in kernel.operands:
            t = graph.types[operand]
            footprints[operand] = sizes(t.dims, symbols) * BYTES[t.dtype]
    return total + sum(footprints.values())


def _iterations(vars_: frozenset[Var], symbols: dict[Atom, int]) -> int:
    return prod(_extent(v, symbols) for v in vars_)


def _extent(v: Var, symbols: dict[Atom, int]) -> int:
    return 1 if v.extent is None else v.extent.evaluate(symbols)


def _work(kernel: Kernel, symbols: dict[Atom, int], machine: Machine) -> float:
    order = list(loop_vars(kernel))
    extents = [_extent(v, symbols) for v in order]
    inner = order[-1] if order else None
    depths = {v: i + 1 for i, v in enumerate(order)}
    for value in reversed(kernel.values):
        # A loop's variable lives where the loop runs: what depends on it is computed there, again and again.
        if value.op in ("reduce", "local"):
            within = max((depths[v] for v in value.deps if v in depths), default=0)
            for variable in value.attrs[1] if value.op == "reduce" else value.attrs[0]:
                depths[variable] = within
    total = 0.0
    for value in kernel.values:
        depth = max((depths[v] for v in value.deps if v in depths), default=0)
        runs = prod(extents[:depth]) * prod(_extent(v, symbols) for v in value.deps if v not in order)
        if value.op == "reduce":
            runs *= prod(_extent(v, symbols) for v in value.attrs[1])
        total += runs * _value_work(value, inner, machine)
    if order and prod(extents) == 1 or not order:
        total *= 2.0
    return total


def _value_work(value: Value, inner: Var | None, machine: Machine) -> float:
    if value.op in ("constant", "contract", "stream"):
        return 0.0
    if value.op == "load":
        return 1.0 if _streams(value.attrs[1], value, inner) else machine.scalar_penalty
    if value.op in ("index_value", "to_index"):
        return 1.0
    return SCALAR_WORK.get(value.op, 1.0)


def _streams(coords: Dims, value: Value, inner: Var | None) -> bool:
    """Whether vector loads serve the access: stride 1 or 0 along the innermost loop it depends on."""
    if any(a.op == "to_index" and inner in a.deps for a in value.args):
        return False
    vars_ = sorted((v for c in coords for v in c.atoms() if isinstance(v, DimVar)), key=lambda v: v.index)
    if not vars_ or (inner is not None and inner not in vars_ and all(v.index < 100 for v in vars_)):
        return True
    along = inner if inner in vars_ else vars_[-1]
    strides = [c.coefficient(along) for c in coords]
    return all(s is const(0) for s in strides[:-1]) and (strides[-1] is const(1) or strides[-1] is const(0))
