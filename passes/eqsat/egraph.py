"""A saturated e-graph as plain Python: classes of tensor and expression nodes, ready for extraction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .index_table import Dims


@dataclass(frozen=True)
class Node:
    """One e-node: constructor name and arguments (class numbers for sorts `Tensor` and `Expr`, else str or
    int).
    """

    op: str
    args: tuple[Any, ...]


@dataclass(frozen=True)
class TensorType:
    """Shape and element type of a tensor class."""

    dims: Dims
    dtype: str


@dataclass
class FrozenGraph:
    """Nodes by class number (tensor and expression classes share one numbering)."""

    nodes: dict[int, list[Node]] = field(default_factory=dict)
    loads: dict[int, list[int]] = field(default_factory=dict)
    """Expression class -> the tensor classes whose `Load` it holds."""
    types: dict[int, TensorType] = field(default_factory=dict)
    constant: set[int] = field(default_factory=set)
    """Expression classes built from constants only: the same at every coordinate of any shape, so no tensor
    stands for them."""
    static: set[int] = field(default_factory=set)
    """Tensor classes that weights alone determine."""
    values: dict[int, int] = field(default_factory=dict)
    """Encoded value number -> tensor class."""

    def add(self, cls: int, node: Node) -> None:
        """Record a node; `Load` nodes go into `loads` as well."""
        self.nodes.setdefault(cls, []).append(node)
        if node.op == "Load":
            self.loads.setdefault(cls, []).append(node.args[0])


_SKIPPED = {"value", "shape", "identity-map", "compose", "contraction"}


def freeze(engine: Any) -> FrozenGraph:
    """Read all rows of an `egglog.bindings.EGraph`."""
    numbers: dict[tuple[str, Any], int] = {}

    def number(sort: str, value: Any) -> int:
        return numbers.setdefault((sort, value), len(numbers))

    graph = FrozenGraph()
    functions = engine.freeze().functions
    graph.constant = {number("Expr", row.inputs[0]) for row in functions["constant"].rows}
    for name, function in functions.items():
        if function.output_sort not in ("Tensor", "Expr"):
            continue
        decode = [_decoder(engine, sort, number) for sort in function.input_sorts]
        for row in function.rows:
            args = tuple(d(v) for d, v in zip(decode, row.inputs, strict=True))
            output = number(function.output_sort, row.output)
            if name == "value":
                graph.values[args[0]] = output
            elif name not in _SKIPPED:
                graph.add(output, Node(name, args))
    static = {number("Expr", row.inputs[0]) for row in functions["static"].rows}
    graph.static = {
        tensor for cls in static for tensor in graph.loads.get(cls, ()) if cls not in graph.constant
    }
    graph.static |= {t for t, nodes in graph.nodes.items() if any(n.op == "Panel" for n in nodes)}
    return graph


def _decoder(engine: Any, sort: str, number: Any) -> Any:
    if sort == "String":
        return engine.value_to_string
    if sort == "i64":
        return engine.value_to_i64
    return lambda value: number(sort, value)
