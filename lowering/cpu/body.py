"""Nodes as code: every value in the outermost scope that knows its coordinates, scalar or vector.

A value is a vector when it varies with the coordinate of the vector loop around it; scalars are broadcast
where a vector
needs them. Reductions and locals bring loops of their own: see `loops`.
"""

from __future__ import annotations

from collections.abc import Callable

from ...dialects.symbolic import ONE, DimVar, Expr, const, is_nonnegative
from .emit import COMPUTE, Kernel, Names, Scope, VectorLoop, type_text
from .index import scalar_index, vector_index
from .memory import emit_load
from .ops import emit_cast, emit_op
from .tree import Block, Node


def emit_value(kernel: Kernel, node: Node, scope: Scope) -> Names:
    """The SSA names of a node's value: one, or one per vector of the vector loop it varies with.

    They are of the node's compute type (f32 for half types, i1 for booleans), or vectors of it.
    """
    found = scope.find(node)
    if found is None:
        home = scope.home(node.dependences)
        loop = home.vector_for(node.dependences)
        found = _EMITTERS.get(node.op, _emit_scalar_op)(kernel, node, home, loop)
        home.values[node] = found
    return found


def emit_block(kernel: Kernel, block: Block, scope: Scope) -> None:
    """Every node of a block, in order."""
    for node in block.nodes:
        emit_value(kernel, node, scope)


def operand(kernel: Kernel, node: Node, scope: Scope, loop: VectorLoop | None) -> Names:
    """The node's value as `loop` needs it: a scalar is broadcast to a vector, the same for all vectors."""
    if loop is None:
        return emit_value(kernel, node, scope)
    if node.op == "constant":
        return (kernel.constant(COMPUTE[node.dtype], node.data, loop.lanes),) * loop.count
    names = emit_value(kernel, node, scope)
    if loop.atom in node.dependences:
        return names
    home = scope.home(node.dependences)
    key = (node, "splat", loop.lanes)
    if key not in home.values:
        kind = COMPUTE[node.dtype]
        home.values[key] = (
            home.assign(f"vector.broadcast {names[0]} : {kind} to {type_text(kind, loop.lanes)}"),
        )
    return home.values[key] * loop.count


def _emit_scalar_op(kernel: Kernel, node: Node, home: Scope, loop: VectorLoop | None) -> Names:
    columns = [operand(kernel, each, home, loop) for each in node.operands]
    lanes = loop.lanes if loop is not None else 0
    dtype = node.operands[-1].dtype
    return tuple(emit_op(home, node.op, lanes, dtype, row) for row in zip(*columns, strict=True))


def _emit_cast(kernel: Kernel, node: Node, home: Scope, loop: VectorLoop | None) -> Names:
    (source,) = node.operands
    lanes = loop.lanes if loop is not None else 0
    names = operand(kernel, source, home, loop)
    dtype = source.dtype
    if source.op == "index_value" and _is_small(source.data):
        # 32-bit integers turn into floats in vector registers, 64-bit ones do not.
        wide, narrow = type_text("i64", lanes), type_text("i32", lanes)
        names = tuple(home.assign(f"arith.trunci {name} : {wide} to {narrow}") for name in names)
        dtype = "i32"
    return tuple(emit_cast(home, lanes, dtype, node.dtype, name) for name in names)


def _is_small(expr: Expr) -> bool:
    low, high = expr.bounds()
    return low is not None and high is not None and low >= -(1 << 31) and high < 1 << 31


def _emit_constant(kernel: Kernel, node: Node, home: Scope, loop: VectorLoop | None) -> Names:
    return (kernel.constant(COMPUTE[node.dtype], node.data),)


def _emit_load(kernel: Kernel, node: Node, home: Scope, loop: VectorLoop | None) -> Names:
    local = node.data.tensor.local
    if local is not None:
        emit_value(kernel, local, home)
    for index in node.operands:
        emit_value(kernel, index, home)
    return emit_load(kernel, node.data, home, loop)


def _emit_index_value(kernel: Kernel, node: Node, home: Scope, loop: VectorLoop | None) -> Names:
    for index in node.operands:
        emit_value(kernel, index, home)
    if loop is None:
        return (scalar_index(home, node.data),)
    return vector_index(home, node.data, loop)


def _emit_to_index(kernel: Kernel, node: Node, home: Scope, loop: VectorLoop | None) -> Names:
    (source,) = node.operands
    lanes = loop.lanes if loop is not None else 0
    extent: Expr = node.data.extent
    kind = type_text("i64", lanes)
    last = scalar_index(home, extent - ONE)
    if lanes:
        last = home.assign(f"vector.broadcast {last} : i64 to {kind}")
    found: list[str] = []
    for name in operand(kernel, source, home, loop):
        value = emit_cast(home, lanes, source.dtype, "i64", name)
        if source.op != "index_value" or not is_nonnegative(extent - ONE - source.data):
            value = home.assign(f"arith.minsi {value}, {last} : {kind}")
        found.append(home.assign(f"arith.maxsi {value}, {kernel.constant('i64', 0, lanes)} : {kind}"))
    return tuple(found)


def _emit_reduce(kernel: Kernel, node: Node, home: Scope, loop: VectorLoop | None) -> Names:
    from .loops import emit_reduce

    return emit_reduce(kernel, node, home, loop)


def _emit_local(kernel: Kernel, node: Node, home: Scope, loop: VectorLoop | None) -> Names:
    from .loops import emit_local

    return emit_local(kernel, node, home, loop)


_EMITTERS: dict[str, Callable[[Kernel, Node, Scope, VectorLoop | None], Names]] = {
    "constant": _emit_constant,
    "load": _emit_load,
    "index_value": _emit_index_value,
    "to_index": _emit_to_index,
    "cast": _emit_cast,
    "reduce": _emit_reduce,
    "local": _emit_local,
}


def full_extent(atom: DimVar) -> Expr:
    """The extent of a coordinate that has one."""
    return atom.extent if atom.extent is not None else const(0)
