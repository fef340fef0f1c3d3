"""Writes the chosen kernels of a function as L2 IR."""

from __future__ import annotations

from ...dialects.mlir import ir
from ...dialects.symbolic import Atom, DimVar, Expr, IndexMap, const
from ...dialects.types import tensor_type
from .body import Value
from .egraph import FrozenGraph
from .emit_body import BodyEmitter, shape_attr
from .encode import Encoded
from .extract import Choice
from .index_table import Dims, dims_for
from .kernels import ContractKernel, Kernel, ScatterKernel


class Rebuilder:
    """Fills a new function with the kernels of `choice`, in the order in which the source function needed
    their results.
    """

    def __init__(self, graph: FrozenGraph, encoded: Encoded, choice: Choice, block: ir.Block) -> None:
        self.graph, self.encoded, self.choice, self.block = graph, encoded, choice, block
        self.made: dict[int, ir.Value] = {}
        for number, value in enumerate(encoded.values):
            if isinstance(value, ir.BlockArgument):
                self.made.setdefault(graph.values[number], block.arguments[value.arg_number])
        self._numbers = {value: number for number, value in enumerate(encoded.values)}

    def run(self, terminator: ir.Operation) -> None:
        """Emit calls in program order, each after what it reads, then let the terminator return the new
        values.
        """
        for call in self.encoded.calls:
            operands = [self._value(v) for v in call.operands]
            op = ir.Operation.create(
                "func.call",
                results=[r.type for r in call.results],
                operands=operands,
                attributes={name: call.attributes[name] for name in call.attributes},
                loc=call.location,
                ip=ir.InsertionPoint.at_block_terminator(self.block),
            )
            for old, new in zip(call.results, op.results, strict=True):
                self.made[self.graph.values[self._numbers[old]]] = new
        for i, value in enumerate(list(terminator.operands)):
            terminator.operands[i] = self._value(value)

    def _value(self, value: ir.Value) -> ir.Value:
        return self.tensor(self.graph.values[self._numbers[value]])

    def tensor(self, cls: int) -> ir.Value:
        """The SSA value of a tensor class, its kernel emitted first if need be."""
        if cls not in self.made:
            kernel = self.choice.kernels[cls]
            operands = {need: self.tensor(need) for need in kernel.needs}
            with self._location(cls):
                self.made[cls] = self._emit(kernel, operands)
        return self.made[cls]

    def _location(self, cls: int) -> ir.Location:
        """The source location of the last op that became this tensor."""
        for number in reversed(range(len(self.encoded.values))):
            value = self.encoded.values[number]
            if self.graph.values[number] == cls and not isinstance(value, ir.BlockArgument):
                return value.owner.location
        return ir.Location.unknown()

    def _emit(self, kernel: Kernel, operands: dict[int, ir.Value]) -> ir.Value:
        if isinstance(kernel, ContractKernel):
            return self._contract(kernel, operands)
        if isinstance(kernel, ScatterKernel):
            return self._scatter(kernel, operands)
        attributes = {"domain": shape_attr(kernel.domain)}
        op, block = self._op(
            "region", kernel, list(operands.values()), attributes, [ir.IndexType.get()] * len(kernel.domain)
        )
        indices = self._domain_indices(kernel.domain, block.arguments[len(operands) :])
        emitter = self._emitter(kernel, block, operands, indices)
        emitter.yield_values([emitter.emit(kernel.root)])
        return op.result

    def _op(
        self,
        name: str,
        kernel: Kernel,
        operands: list[ir.Value],
        attributes: dict[str, ir.Attribute],
        extra: list[ir.Type],
    ) -> tuple[ir.Operation, ir.Block]:
        kind = self.graph.types[kernel.tensor]
        op = ir.Operation.create(
            f"kernel.{name}",
            results=[tensor_type(kind.dims, kind.dtype)],
            operands=operands,
            attributes=attributes,
            regions=1,
            ip=ir.InsertionPoint.at_block_terminator(self.block),
        )
        types = [v.type for v in operands] + extra
        return op, ir.Block.create_at_start(op.regions[0], types, [op.location] * len(types))

    def _emitter(
        self, kernel: Kernel, block: ir.Block, operands: dict[int, ir.Value], indices: dict[DimVar, ir.Value]
    ) -> BodyEmitter:
        sources = dict(zip(operands, block.arguments, strict=False))
        return BodyEmitter(kernel.evaluator.bodies, block, sources, indices)

    def _domain_indices(self, domain: Dims, arguments: list[ir.Value]) -> dict[DimVar, ir.Value]:
        return {v: a for v, a in zip(dims_for(domain), arguments, strict=True) if isinstance(v, DimVar)}

    def _contract(self, kernel: ContractKernel, operands: dict[int, ir.Value]) -> ir.Value:
        c = kernel.contraction
        assert c is not None
        order = (*c.batch, *c.rows, *c.columns)
        domain = (*(c.result[i] for i in order), *c.summed)
        position = {i: p for p, i in enumerate(order)}
        attributes: dict[str, ir.Attribute] = {
            "domain": shape_attr(domain),
            "sizes": ir.DenseI64ArrayAttr.get([len(c.batch), len(c.rows), len(c.columns), len(c.summed)]),
            "lhs_map": _reorder(c.lhs, len(c.result), position, domain),
            "out_map": self._out_map(kernel, position, domain),
        }
        if kernel.packed:
            attributes["packed"] = ir.IntegerAttr.get(
                ir.IntegerType.get_signless(64), self.graph.types[kernel.rhs].dims[-1].value
            )
        else:
            attributes["rhs_map"] = _reorder(c.rhs, len(c.result), position, domain)
        ordered = {kernel.lhs: operands[kernel.lhs], kernel.rhs: operands[kernel.rhs], **operands}
        values = [operands[kernel.lhs], operands[kernel.rhs]]
        values += [v for cls, v in ordered.items() if cls not in (kernel.lhs, kernel.rhs)]
        accumulator = next(v for v in kernel.values if v.op == "contract")
        index = ir.IndexType.get()
        extra = [index] * len(order) + [ir.Type.parse(accumulator.dtype)]
        op, block = self._op("contract", kernel, values, attributes, extra)
        arguments = list(block.arguments)
        sources = {kernel.lhs: arguments[0], kernel.rhs: arguments[1]}
        rest = [cls for cls in ordered if cls not in (kernel.lhs, kernel.rhs)]
        sources.update(zip(rest, arguments[2:], strict=False))
        axes = dims_for(kernel.domain)
        indices = {}
        for p, i in enumerate(order):
            var = axes[kernel.out[i]]
            if isinstance(var, DimVar):
                indices[var] = arguments[len(values) + p]
        emitter = BodyEmitter(kernel.evaluator.bodies, block, sources, indices)
        emitter.preset(accumulator, arguments[-1])
        emitter.yield_values([emitter.emit(kernel.root)])
        return op.result

    def _out_map(self, kernel: ContractKernel, position: dict[int, int], domain: Dims) -> ir.Attribute:
        variables = IndexMap(domain, ()).dims
        results: list[Expr] = [const(0)] * len(kernel.domain)
        for i, axis in enumerate(kernel.out):
            results[axis] = variables[position[i]]
        return IndexMap(domain, tuple(results)).to_attr()

    def _scatter(self, kernel: ScatterKernel, operands: dict[int, ir.Value]) -> ir.Value:
        attributes = {"domain": shape_attr(kernel.domain), "mode": ir.StringAttr.get(kernel.mode)}
        op, block = self._op(
            "scatter", kernel, list(operands.values()), attributes, [ir.IndexType.get()] * len(kernel.domain)
        )
        indices = self._domain_indices(kernel.domain, block.arguments[len(operands) :])
        emitter = self._emitter(kernel, block, operands, indices)
        bodies = kernel.evaluator.bodies
        coords = [c if isinstance(c, Value) else bodies.index_value(c) for c in kernel.coords]
        emitter.yield_values([emitter.emit(kernel.root), *(emitter.emit(c) for c in coords)])
        return op.result


def _reorder(index_map: IndexMap, results: int, position: dict[int, int], domain: Dims) -> ir.Attribute:
    """A map over (result dims..., k dims...) as one over the contraction's domain (b, m, n, k)."""
    variables = IndexMap(domain, ()).dims
    swap: dict[Atom, Expr] = {}
    for i, old in enumerate(index_map.dims):
        swap[old] = variables[position[i] if i < results else i]
    return IndexMap(domain, tuple(r.substitute(swap) for r in index_map.results)).to_attr()
