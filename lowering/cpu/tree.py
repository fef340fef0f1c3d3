"""From the block of a `kernel` op to a small graph that is easy to schedule: nodes, loops, and linear
accesses.

Coordinates of the domain, of reductions and of locals each become a `DimVar` of their own; an access to a
tensor becomes
one expression for the offset of the element. `dependences` of a node are the coordinates that its value
changes with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...dialects.mlir import ir
from ...dialects.symbolic import ONE, ZERO, DimVar, Expr, Sym, as_expr, current_symbols, from_affine
from ...dialects.types import dims_of, dtype_of
from ...errors import LoweringError

NONE: frozenset[DimVar] = frozenset()


@dataclass(eq=False)
class Tensor:
    """A buffer: an operand of the kernel, its result, or (with `local`) scratch memory."""

    dtype: str
    dims: tuple[Expr, ...]
    local: Node | None = None

    def offset(self, coordinates: Sequence[Expr]) -> Expr:
        """Row-major position of an element."""
        total, stride = ZERO, ONE
        for coordinate, dim in zip(reversed(coordinates), reversed(self.dims), strict=True):
            total = total + coordinate * stride
            stride = stride * dim
        return total

    @property
    def size(self) -> Expr:
        """Number of elements."""
        total = ONE
        for dim in self.dims:
            total = total * dim
        return total


@dataclass
class Access:
    """An element of `tensor`: `offset`, and the (coordinate, dim) pairs that need a bounds check.

    ahead: the offset of an element that will be read soon, and is worth fetching into the cache now.
    """

    tensor: Tensor
    offset: Expr
    checks: tuple[tuple[Expr, Expr], ...] = ()
    ahead: Expr | None = None


@dataclass
class Block:
    """Nodes in an order that respects their dependences, and the nodes that the block yields."""

    nodes: list[Node]
    results: tuple[Node, ...]


@dataclass
class Loops:
    """The coordinates and the body of a reduction (`kind`) or of a local (`tensor`)."""

    atoms: tuple[DimVar, ...]
    block: Block
    kind: str = ""
    tensor: Tensor | None = None


@dataclass(eq=False)
class Node:
    """One value. `data` is what its op needs besides operands: a number, an Expr, an Access or Loops."""

    op: str
    dtype: str
    operands: tuple[Node, ...] = ()
    data: Any = None
    dependences: frozenset[DimVar] = NONE


@dataclass
class Body:
    """A whole kernel op: its tensors (operands in order), the coordinates of its domain, and what it
    computes.

    index_nodes: the nodes whose value is a coordinate read from memory, by the DimVar that stands for it.
    accumulator: the accumulator of a contraction's epilogue.
    """

    tensors: list[Tensor]
    indices: tuple[DimVar, ...]
    block: Block
    index_nodes: dict[DimVar, Node] = field(default_factory=dict)
    accumulator: Node | None = None

    @property
    def result(self) -> Node:
        """The first value that the body yields."""
        return self.block.results[0]

    def nodes(self) -> Iterator[Node]:
        """Every node, bodies of reductions and locals included, operands before users."""
        return walk(self.block)


def walk(block: Block) -> Iterator[Node]:
    """Every node of a block; those of an inner block come before its reduction."""
    for node in block.nodes:
        if isinstance(node.data, Loops):
            yield from walk(node.data.block)
        yield node


class Reader:
    """Reads one kernel op. Symbols must be in scope (`symbols_in_scope`)."""

    def __init__(self) -> None:
        self.counter = 0
        self.values: dict[ir.Value, Any] = {}
        self.index_nodes: dict[DimVar, Node] = {}

    def atom(self, extent: Expr) -> DimVar:
        """A coordinate that nothing else uses."""
        self.counter += 1
        return DimVar(self.counter - 1, extent)

    def body(
        self,
        operation: ir.Operation,
        extents: Sequence[Expr],
        accumulator: str | None = None,
        region: int = 0,
    ) -> Body:
        """A body of a kernel op: its block has operands, an index per extent, maybe an accumulator."""
        block = operation.regions[region].blocks[0]
        arguments = list(block.arguments)
        operands = list(operation.operands)
        tensors = [Tensor(dtype_of(value.type), dims_of(value.type)) for value in operands]
        atoms = tuple(self.atom(extent) for extent in extents)
        accumulators = [Node("accumulator", accumulator, (), None, frozenset(atoms))] if accumulator else []
        for argument, meaning in zip(arguments, [*tensors, *atoms, *accumulators], strict=True):
            self.values[argument] = meaning
        result = Body(tensors, atoms, self.block(block), self.index_nodes)
        result.accumulator = accumulators[0] if accumulators else None
        return result

    def block(self, block: ir.Block) -> Block:
        """The live nodes of a block."""
        nodes: list[Node] = []
        results: tuple[Node, ...] = ()
        for view in block.operations:
            operation = view.operation
            if operation.name == "kernel.yield":
                results = tuple(self._node(value) for value in operation.operands)
                break
            node = self.node(operation)
            nodes.append(node)
            meaning = node.data.tensor if node.op == "local" else node
            self.values[operation.results[0]] = meaning
        return Block(_live(nodes, results), results)

    def node(self, operation: ir.Operation) -> Node:
        """One op of a body."""
        name = operation.name.removeprefix("kernel.")
        special = getattr(self, f"_read_{name}", None)
        if special is not None:
            return special(operation)
        operands = tuple(self._node(value) for value in operation.operands)
        return Node(name, dtype_of(operation.results[0].type), operands, None, depend(operands))

    def _node(self, value: ir.Value) -> Node:
        node = self.values[value]
        if not isinstance(node, Node):
            raise LoweringError(f"'{value}' is no scalar")
        return node

    def _indices(self, values: Sequence[ir.Value]) -> tuple[list[Expr], list[Node]]:
        atoms: list[Expr] = []
        nodes: list[Node] = []
        for value in values:
            meaning = self.values[value]
            if isinstance(meaning, Node):
                atoms.append(meaning.data)
                nodes.append(meaning)
            else:
                atoms.append(meaning)
        return atoms, nodes

    def _read_constant(self, operation: ir.Operation) -> Node:
        attribute = operation.attributes["value"]
        dtype = dtype_of(operation.results[0].type)
        value = (ir.FloatAttr if dtype in ("f64", "f32", "f16", "bf16") else ir.IntegerAttr)(attribute).value
        return Node("constant", dtype, (), bool(value) if dtype == "i1" else value)

    def _read_load(self, operation: ir.Operation) -> Node:
        tensor = self.values[operation.operands[0]]
        atoms, nodes = self._indices(list(operation.operands)[1:])
        coordinates = read_map(operation.attributes["map"], atoms)
        checks: list[tuple[Expr, Expr]] = []
        maybe_empty = any(_least(node.data.extent) < 1 for node in nodes)
        if "masked" in operation.attributes or maybe_empty:
            pairs = zip(coordinates, tensor.dims, strict=True)
            checks = [(c, dim) for c, dim in pairs if not _inside(c, dim) or _least(dim) < 1]
        access = Access(tensor, tensor.offset(coordinates), tuple(checks))
        dependences = access_dependences(access, self.index_nodes)
        return Node("load", tensor.dtype, tuple(nodes), access, dependences)

    def _read_to_index(self, operation: ir.Operation) -> Node:
        operand = self._node(operation.operands[0])
        atom = self.atom(read_extents(operation.attributes["extent"])[0])
        node = Node("to_index", "i64", (operand,), atom, operand.dependences)
        self.index_nodes[atom] = node
        return node

    def _read_index_value(self, operation: ir.Operation) -> Node:
        atoms, nodes = self._indices(list(operation.operands))
        (value,) = read_map(operation.attributes["map"], atoms)
        return Node("index_value", "i64", tuple(nodes), value, dependences_of(value, self.index_nodes))

    def _loops(self, operation: ir.Operation) -> Loops:
        atoms = tuple(self.atom(extent) for extent in read_extents(operation.attributes["extents"]))
        inner = operation.regions[0].blocks[0]
        for argument, atom in zip(inner.arguments, atoms, strict=True):
            self.values[argument] = atom
        return Loops(atoms, self.block(inner))

    def _read_reduce(self, operation: ir.Operation) -> Node:
        loops = self._loops(operation)
        loops.kind = ir.StringAttr(operation.attributes["kind"]).value
        return Node("reduce", dtype_of(operation.results[0].type), (), loops, loop_dependences(loops))

    def _read_local(self, operation: ir.Operation) -> Node:
        loops = self._loops(operation)
        dtype = loops.block.results[0].dtype
        node = Node("local", dtype, (), loops, loop_dependences(loops))
        loops.tensor = Tensor(dtype, tuple(as_expr(atom.extent or ZERO) for atom in loops.atoms), node)
        return node


def read_extents(attribute: ir.Attribute) -> tuple[Expr, ...]:
    """Extents given as an affine map over symbols, as an array of integers, or as one integer."""
    if isinstance(attribute, ir.AffineMapAttr):
        return read_map(attribute, ())
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return tuple(as_expr(value) for value in attribute)
    return (as_expr(ir.IntegerAttr(attribute).value),)


def read_map(attribute: ir.Attribute, dims: Sequence[Expr]) -> tuple[Expr, ...]:
    """The results of an affine map whose dims are the given expressions."""
    affine_map = ir.AffineMapAttr(attribute).value
    symbols = current_symbols(affine_map.n_symbols)
    return tuple(from_affine(result, dims, symbols) for result in affine_map.results)


def depend(nodes: Sequence[Node]) -> frozenset[DimVar]:
    """The coordinates that any of the nodes depends on."""
    return NONE.union(*(node.dependences for node in nodes))


def dependences_of(expr: Expr, index_nodes: dict[DimVar, Node]) -> frozenset[DimVar]:
    """The coordinates that an expression depends on; an index read from memory counts as what it was read
    with.
    """
    found: set[DimVar] = set()
    for atom in expr.atoms():
        if isinstance(atom, DimVar):
            node = index_nodes.get(atom)
            found |= {atom} if node is None else node.dependences
    return frozenset(found)


def access_dependences(access: Access, index_nodes: dict[DimVar, Node]) -> frozenset[DimVar]:
    """The coordinates that an access depends on."""
    found = dependences_of(access.offset, index_nodes)
    for coordinate, _ in access.checks:
        found |= dependences_of(coordinate, index_nodes)
    local = access.tensor.local
    return found | local.dependences if local is not None else found


def loop_dependences(loops: Loops) -> frozenset[DimVar]:
    """The coordinates outside the loops that their body depends on."""
    return depend(loops.block.results) - frozenset(loops.atoms)


def _live(nodes: list[Node], results: Sequence[Node]) -> list[Node]:
    live: set[int] = {id(node) for node in results}
    kept: list[Node] = []
    for node in reversed(nodes):
        if id(node) in live:
            kept.append(node)
            live.update(id(used) for used in _uses(node))
    return kept[::-1]


def _uses(node: Node) -> Iterator[Node]:
    yield from node.operands
    if isinstance(node.data, Access) and node.data.tensor.local is not None:
        yield node.data.tensor.local
    if isinstance(node.data, Loops):
        yield from node.data.block.results
        for inner in node.data.block.nodes:
            yield from _uses(inner)


def _least(expr: Expr | None) -> int:
    low = None if expr is None else expr.bounds()[0]
    return -1 if low is None else low


def _inside(coordinate: Expr, dim: Expr) -> bool:
    from ...dialects.symbolic import in_range

    return in_range(coordinate, dim)


def symbols_used(expr: Expr) -> list[Sym]:
    """The symbols in an expression."""
    return [atom for atom in expr.atoms() if isinstance(atom, Sym)]
