"""Loop decisions for a kernel body: which coordinates are really one, and which one the vectors run along.

Adjacent coordinates that every access steps through as if they were one are merged, with symbolic sizes too,
so that a
contiguous elementwise kernel of any rank is one flat loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...dialects.symbolic import ONE, ZERO, Atom, DimVar, Expr, as_expr
from .emit import Scope, VectorLoop
from .index import lane_stride
from .tree import (
    Access,
    Block,
    Body,
    Loops,
    Node,
    Reader,
    Tensor,
    access_dependences,
    depend,
    dependences_of,
    loop_dependences,
    walk,
)

FETCHED_ELEMENTS = 1 << 14
"""Longest row that is fetched ahead: a small part of a core's second cache."""


_UNKNOWN_EXTENT = 1024
"""What an unbounded extent counts as in estimates."""


def simplify(body: Body, reader: Reader) -> None:
    """Drop coordinates that are always 0, merge those that are one: of the domain and of inner loops."""
    body.indices = simplify_atoms(body, reader, body.indices)
    for node in list(body.nodes()):
        if isinstance(node.data, Loops):
            node.data.atoms = simplify_atoms(body, reader, node.data.atoms)
            if node.op == "reduce":
                node.data.atoms = _best_last(node.data)
    refresh(body)


def simplify_atoms(body: Body, reader: Reader, atoms: Sequence[DimVar]) -> tuple[DimVar, ...]:
    """`atoms` without those that are always 0, adjacent ones merged where they are one. To be refreshed."""
    unit = [atom for atom in atoms if atom.extent is ONE]
    substitute(body, {atom: ZERO for atom in unit})
    kept = [atom for atom in atoms if atom.extent is not ONE]
    position = len(kept) - 2
    while position >= 0:
        outer, inner = kept[position], kept[position + 1]
        if _is_one(body, outer, inner):
            merged = reader.atom(as_expr(outer.extent or 0) * as_expr(inner.extent or 0))
            substitute(body, {outer: ZERO, inner: merged})
            kept[position : position + 2] = [merged]
        position = min(position, len(kept) - 1) - 1
    return tuple(kept)


def _is_one(body: Body, outer: DimVar, inner: DimVar) -> bool:
    """Whether every expression steps by `outer` as it would by one more row of `inner`."""
    for expr in expressions(body):
        atoms = expr.atoms()
        if outer not in atoms and inner not in atoms:
            continue
        large, small = expr.coefficient(outer), expr.coefficient(inner)
        if large is None or small is None or large is not small * as_expr(inner.extent or 0):
            return False
    return True


def expressions(body: Body) -> Iterator[Expr]:
    """Every index expression of a body."""
    for node in body.nodes():
        if isinstance(node.data, Access):
            yield node.data.offset
            for coordinate, _ in node.data.checks:
                yield coordinate
        elif node.op == "index_value":
            yield node.data


def substitute(body: Body, replacements: Mapping[Atom, Expr]) -> None:
    """Replace coordinates in every index expression."""
    if not replacements:
        return
    for node in body.nodes():
        if isinstance(node.data, Access):
            access = node.data
            access.offset = access.offset.substitute(replacements)
            access.checks = tuple((c.substitute(replacements), dim) for c, dim in access.checks)
        elif node.op == "index_value":
            node.data = node.data.substitute(replacements)


def refresh(body: Body) -> None:
    """Compute the dependences of all nodes again."""
    for node in body.nodes():
        if isinstance(node.data, Access):
            node.dependences = access_dependences(node.data, body.index_nodes)
        elif isinstance(node.data, Loops):
            node.dependences = loop_dependences(node.data)
        elif node.op == "index_value":
            node.dependences = dependences_of(node.data, body.index_nodes)
        elif node is body.accumulator:
            node.dependences = frozenset(body.indices)
        else:
            node.dependences = depend(node.operands)


def loads(block: Block) -> list[Access]:
    """Every load of a block, those of inner loops included."""
    return [node.data for node in walk(block) if isinstance(node.data, Access)]


def _best_last(loops: Loops) -> tuple[DimVar, ...]:
    """A reduction's coordinates, the one of the best strides innermost; their order means nothing."""
    if len(loops.atoms) < 2:
        return loops.atoms

    def contiguous(atom: DimVar) -> int:
        strides = [access.offset.coefficient(atom) for access in loads(loops.block)]
        return sum(stride is ONE for stride in strides) - sum(stride is None for stride in strides)

    best = max(loops.atoms, key=lambda atom: (contiguous(atom), loops.atoms.index(atom)))
    return (*(atom for atom in loops.atoms if atom is not best), best)


def fetch_next_rows(body: Body, row: DimVar) -> None:
    """Let the last pass over each tensor's row fetch the next one into the cache.

    The processor fetches ahead on its own within one pass; but while further passes compute on a row, the
    memory would be idle.
    """
    last: dict[Tensor, Access] = {}
    for access, atom in _passes(body.block, body.indices[-1]):
        step = access.offset.coefficient(row)
        if step is None or step is ZERO or access.checks or access.tensor.local is not None:
            continue
        high = as_expr(atom.extent or 0).bounds()[1]
        if access.offset.coefficient(atom) is ONE and high is not None and high <= FETCHED_ELEMENTS:
            last[access.tensor] = access
    for access in last.values():
        access.ahead = access.offset.substitute({row: row + 1})


def _passes(block: Block, atom: DimVar) -> Iterator[tuple[Access, DimVar]]:
    """Every load, with the innermost coordinate of the loops that it is in."""
    for node in block.nodes:
        if isinstance(node.data, Loops) and node.data.atoms:
            yield from _passes(node.data.block, node.data.atoms[-1])
        elif isinstance(node.data, Access):
            yield node.data, atom


def vector_coordinate(body: Body, scope: Scope) -> DimVar | None:
    """The coordinate of the domain that vectors run along: the last one, or None if scalars are better.

    Scalars are better when the time goes into reductions that vectors of their own suit more.
    """
    if not body.indices:
        return None
    atom = body.indices[-1]
    lanes = scope.kernel.target.lanes(32)
    reductions: list[Node] = []
    for node in body.block.nodes:
        if atom in node.dependences and node.op == "local":
            return None
        if atom in node.dependences and node.op == "reduce":
            reductions.append(node)
    if not reductions:
        return atom
    loops = [(node.data, _steps(node.data)) for node in reductions if node.data.atoms]
    across = sum(steps * _cost(scope, each, atom, lanes) for each, steps in loops)
    along = sum(steps * _cost(scope, each, each.atoms[-1], lanes) for each, steps in loops)
    return atom if across <= along else None


def _steps(loops: Loops) -> int:
    """About how many elements a reduction combines."""
    total = 1
    for atom in loops.atoms:
        high = as_expr(atom.extent or 0).bounds()[1]
        total *= _UNKNOWN_EXTENT if high is None else high
    return total


def _cost(scope: Scope, loops: Loops, atom: DimVar, lanes: int) -> float:
    """Relative cost of one step of a reduction per element with vectors along `atom`."""
    high = atom.extent.bounds()[1] if atom.extent is not None else None
    if high is not None and high < lanes:
        used = high if high > 0 else 1
        inner = isinstance(loops.atoms[-1], DimVar) and atom is loops.atoms[-1]
        return float(len(loads(loops.block)) or 1) * (1.0 if inner else 1.0 / used)
    vector = VectorLoop(atom, lanes, 1, None, True)
    total = 0.0
    for access in loads(loops.block):
        stride = lane_stride(scope, access.offset, vector)
        total += 1 / lanes if stride is ZERO or stride is ONE else 1.0
    return total or 1 / lanes
