"""Writes one kernel as an op of the `kernel` dialect."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.kernel import schedule_of
from ...dialects.mlir import ir
from ...dialects.symbolic import Atom, DimVar, Expr, IndexMap, const
from ...dialects.types import scalar_type, tensor_type
from .body import Value
from .egraph import FrozenGraph
from .emit_body import BodyEmitter, shape_attr
from .index_table import Dims, dims_for
from .kernels import AttentionKernel, ContractKernel, Kernel, ScatterKernel


class KernelWriter:
    """Writes kernels before the terminator of `block`."""

    def __init__(self, graph: FrozenGraph, block: ir.Block) -> None:
        self.graph, self.block = graph, block

    def write(self, kernel: Kernel, operands: dict[int, ir.Value]) -> ir.Value:
        """The result of the kernel on `operands`, the values of the tensor classes that it needs."""
        if isinstance(kernel, ContractKernel):
            return self._contract(kernel, operands)
        if isinstance(kernel, AttentionKernel):
            return self._attention(kernel, operands)
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
        op = self._bare(name, kernel, operands, attributes, 1)
        types = [v.type for v in operands] + extra
        return op, ir.Block.create_at_start(op.regions[0], types, [op.location] * len(types))

    def _bare(
        self,
        name: str,
        kernel: Kernel,
        operands: list[ir.Value],
        attributes: dict[str, ir.Attribute],
        regions: int,
    ) -> ir.Operation:
        """The op without its bodies."""
        kind = self.graph.types[kernel.tensor]
        return ir.Operation.create(
            f"kernel.{name}",
            results=[tensor_type(kind.dims, kind.dtype)],
            operands=operands,
            attributes=attributes,
            regions=regions,
            ip=ir.InsertionPoint.at_block_terminator(self.block),
        )

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
        if "library" in kernel.schedule:
            attributes["library"] = ir.StringAttr.get(kernel.schedule["library"])
        elif kernel.schedule:
            attributes["schedule"] = schedule_of(kernel.schedule).to_attr()
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
            if kernel.out[i] >= 0:
                var = axes[kernel.out[i]]
                assert isinstance(var, DimVar)
                indices[var] = arguments[len(values) + p]
        emitter = BodyEmitter(kernel.evaluator.bodies, block, sources, indices)
        emitter.preset(accumulator, arguments[-1])
        emitter.yield_values([emitter.emit(kernel.root)])
        return op.result

    def _attention(self, kernel: AttentionKernel, operands: dict[int, ir.Value]) -> ir.Value:
        c, stream, product = kernel.contraction, kernel.stream, kernel.product
        assert c is not None and stream is not None
        order = (*c.batch, *c.rows, *c.columns)
        domain = (*(c.result[i] for i in order), *c.summed)
        position = {i: p for p, i in enumerate(order)}
        attributes: dict[str, ir.Attribute] = {
            "domain": shape_attr(domain),
            "sizes": ir.DenseI64ArrayAttr.get([len(c.batch), len(c.rows), len(c.columns), len(c.summed)]),
            "value_map": _reorder(c.rhs, len(c.result), position, domain),
            "out_map": self._out_map(kernel, position, domain),
        }
        if stream.attrs[4]:
            attributes["zero_empty_rows"] = ir.UnitAttr.get()
        axes = dims_for(kernel.domain)
        own = [axes[kernel.out[i]] if kernel.out[i] >= 0 else const(0) for i in order]
        firsts = [kernel.values_tensor]
        if product is not None:
            firsts += [product.query, product.key]
            depth = tuple(e for v in product.loop if (e := v.extent) is not None)
            attributes["depth"] = shape_attr(depth)
            variables = [*own, *stream.attrs[2], *product.loop]
            for name, coords in (("query_map", product.query_coords), ("key_map", product.key_coords)):
                attributes[name] = _over((*domain, *depth), variables, coords)
        values = [operands[t] for t in firsts] + [v for t, v in operands.items() if t not in firsts]
        op = self._bare("attention", kernel, values, attributes, 2)
        arguments = [v.type for v in values]
        tensors = [*firsts, *(t for t in operands if t not in firsts)]
        score = stream.args[0]
        rows, columns = len(c.batch) + len(c.rows), len(c.columns)
        own_keys = [*own[:rows], *stream.attrs[2]]
        accumulator = () if product is None else (product.value,)
        self._body(kernel, op, 0, tensors, arguments, own_keys, accumulator, score)
        self._body(kernel, op, 1, tensors, arguments, own[: rows + columns], (stream,), kernel.root)
        return op.result

    def _body(
        self,
        kernel: Kernel,
        op: ir.Operation,
        region: int,
        tensors: Sequence[int],
        types: Sequence[ir.Type],
        coords: Sequence[Expr],
        given: Sequence[Value],
        root: Value,
    ) -> None:
        """Fill a region: operands, an index per coordinate, then the values that are given as arguments."""
        scalars = [scalar_type(v.dtype) for v in given]
        kinds = [*types, *[ir.IndexType.get()] * len(coords), *scalars]
        block = ir.Block.create_at_start(op.regions[region], kinds, [op.location] * len(kinds))
        arguments = list(block.arguments)
        sources = dict(zip(reversed(tensors), reversed(arguments[: len(tensors)]), strict=True))
        indices = {
            var: argument
            for var, argument in zip(coords, arguments[len(tensors) :], strict=False)
            if isinstance(var, DimVar)
        }
        emitter = BodyEmitter(kernel.evaluator.bodies, block, sources, indices)
        for value, argument in zip(given, arguments[len(arguments) - len(given) :], strict=True):
            emitter.preset(value, argument)
        emitter.yield_values([emitter.emit(root)])

    def _out_map(
        self, kernel: ContractKernel | AttentionKernel, position: dict[int, int], domain: Dims
    ) -> ir.Attribute:
        variables = IndexMap(domain, ()).dims
        axes = dims_for(kernel.domain)
        swap: dict[Atom, Expr] = {}
        for i, axis in enumerate(kernel.out):
            variable = axes[axis]
            if axis >= 0 and isinstance(variable, DimVar):
                swap[variable] = variables[position[i]]
        return IndexMap(domain, tuple(c.substitute(swap) for c in kernel.result)).to_attr()

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


def _over(domain: Dims, variables: Sequence[Expr], coords: Dims) -> ir.Attribute:
    """Coordinates over `variables` (one per dim, constants where the extent is 1) as a map over `domain`."""
    swap: dict[Atom, Expr] = {
        v: d for v, d in zip(variables, IndexMap(domain, ()).dims, strict=True) if isinstance(v, DimVar)
    }
    return IndexMap(domain, tuple(c.substitute(swap) for c in coords)).to_attr()


def _reorder(index_map: IndexMap, results: int, position: dict[int, int], domain: Dims) -> ir.Attribute:
    """A map over (result dims..., k dims...) as one over the contraction's domain (b, m, n, k)."""
    variables = IndexMap(domain, ()).dims
    swap: dict[Atom, Expr] = {}
    for i, old in enumerate(index_map.dims):
        swap[old] = variables[position[i] if i < results else i]
    return IndexMap(domain, tuple(r.substitute(swap) for r in index_map.results)).to_attr()
