"""The first placement of tensors: elementwise producers that one kernel alone reads, element for element,
start out of memory.

t = exp(x)        (read only by u, at u's own coordinates)
u = t * 2 + t                                         =>    u = exp(x) * 2 + exp(x), and t is never stored

Such a merge repeats no work and saves a store, a load and a launch, so the search of the extraction need not
try it. Everything else (producers read at several places, reductions, contractions) starts in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from ...dialects.symbolic import Atom, DimVar, Expr, const
from .body import MAX_VALUES, Value
from .egraph import FrozenGraph
from .index_table import Dims, dims_for
from .kernels import Kernel, RegionKernel

MOST_MERGED = MAX_VALUES // 2
"""Values up to which producers are merged into a kernel: the search may then still add to it."""

Read = tuple[int, Value | None]
"""A kernel and its load; None where it reads the tensor as a whole."""


@dataclass
class _Place:
    """Where a tensor is computed: in kernel `kernel`, at `coords` over that kernel's variables."""

    kernel: int
    coords: Dims


def first_placement(
    kernels: Mapping[int, Kernel], order: Iterable[int], forced: set[int], graph: FrozenGraph
) -> dict[int, list[int]]:
    """Tensors to take out of memory, by the kernel they go into. `kernels` are those of the placement where
    every
    tensor is in memory, `order` lists them producers first, `forced` are the tensors that must be stored.
    """
    reads: dict[int, list[Read]] = {}
    size: dict[int, int] = {}
    plain: dict[int, bool] = {}
    for tensor in order:
        kernel = kernels[tensor]
        values = kernel.values
        size[tensor] = len(values)
        plain[tensor] = isinstance(kernel, RegionKernel) and not any(v.op in _LOOPS for v in values)
        whole = set(kernel.needs) if not isinstance(kernel, RegionKernel) else set()
        for value in values:
            if value.op == "load" and isinstance(value.attrs[0], int):
                reads.setdefault(value.attrs[0], []).append((tensor, value))
                whole.discard(value.attrs[0])
        for source in (*whole, *kernel.operands):
            reads.setdefault(source, []).append((tensor, None))
    merged: dict[int, list[int]] = {}
    places = {tensor: _Place(tensor, dims_for(kernels[tensor].domain)) for tensor in size}
    for tensor in reversed(list(order)):
        if tensor in forced or not plain[tensor] or tensor not in reads:
            continue
        if tensor in graph.static and _works(kernels[tensor]) and _keeps_its_size(kernels[tensor], graph):
            users = {places[user].kernel for user, _ in reads[tensor]}
            if not graph.static.issuperset(users):
                continue  # computed once at load time, not in each call
        place = _common_place(reads[tensor], places, kernels, graph.types[tensor].dims)
        if place is not None and size[place.kernel] + size[tensor] <= MOST_MERGED:
            places[tensor] = place
            size[place.kernel] += size[tensor]
            merged.setdefault(place.kernel, []).append(tensor)
    return merged


_FREE = ("load", "constant", "cast", "index_value")


def _works(kernel: Kernel) -> bool:
    """Whether a kernel does more than read."""
    return any(value.op not in _FREE for value in kernel.values)


def _keeps_its_size(kernel: Kernel, graph: FrozenGraph) -> bool:
    """Whether no operand is smaller than the result: what spreads a weight is no more to read than it."""
    dims = graph.types[kernel.tensor].dims
    sources = [graph.types[source].dims for source in kernel.needs]
    return all(dim.is_const for dim in dims) and any(
        prod(d.value for d in dims) == prod(d.value for d in source)
        for source in sources
        if all(d.is_const for d in source)
    )


_LOOPS = ("reduce", "local", "contract")


def _common_place(
    reads: list[Read], places: dict[int, _Place], kernels: Mapping[int, Kernel], dims: Dims
) -> _Place | None:
    """The one kernel and coordinates at which all reads happen; None if there are several, or if a read is
    not
    element for element.
    """
    found: _Place | None = None
    for user, load in reads:
        if load is None or not _element_for_element(load, kernels[user], dims):
            return None
        place = places[user]
        own: dict[Atom, Expr] = {
            var: at
            for var, at in zip(dims_for(kernels[user].domain), place.coords, strict=True)
            if isinstance(var, DimVar)
        }
        coords = tuple(c.substitute(own) for c in load.attrs[1])
        if found is not None and (found.kernel != place.kernel or found.coords != coords):
            return None
        found = _Place(place.kernel, coords)
    return found


def _element_for_element(load: Value, kernel: Kernel, dims: Dims) -> bool:
    """Whether the load visits each element of the tensor once while the kernel runs once."""
    _, coords, masked = load.attrs
    if masked or load.args:
        return False
    moving = [(c, e) for c, e in zip(coords, dims, strict=True) if e is not const(1)]
    if not all(isinstance(c, DimVar) and c.extent is e for c, e in moving):
        return False
    used = {c for c, _ in moving}
    return len(used) == len(moving) and used.issuperset(
        v for v in dims_for(kernel.domain) if isinstance(v, DimVar)
    )
