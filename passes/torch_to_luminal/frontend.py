"""From PyTorch programs to L1: `torch.export` programs and the functional graphs that AOTAutograd hands to
a backend.

Both become one FX graph whose placeholders are everything the program reads (inputs, parameters, buffers,
lifted constants), which torch-mlir's FxImporter turns into the torch dialect (L0) and `convert_function`
into luminal (L1). No tensor of more than one element ever becomes a literal.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind

from luminal.errors import ImportFailure

from ...dialects import mlir
from ...dialects.mlir import ir
from ...dialects.symbolic import Expr, as_expr
from ...dialects.types import SymbolInfo
from .conversion import ConvertedFunction, Returned, convert_function
from .decompositions import decomposition_table, needs_decomposition, needs_decomposition_of
from .functionalize import NotFunctional, functional_graph
from .graph_cleanup import Mutation, prepare_graph
from .shape_symbols import ShapeSymbols
from .torch_importer import import_graph

_LOG = logging.getLogger(__name__)
ArgumentKind = Literal["input", "weight", "buffer", "seed"]


@dataclass
class ProgramArgument:
    """One argument of the L1 function.

    position: index among the caller's flat inputs (kind "input"), else None. tensor: the parameter, buffer
    or lifted constant itself (kinds "weight" and "buffer"); it is never copied. target: its qualified name
    in the module. Kind "seed": a random number (i64, rank 0) that the runtime draws for each call.
    """

    kind: ArgumentKind
    name: str
    position: int | None = None
    tensor: torch.Tensor | None = None
    target: str | None = None


@dataclass(frozen=True)
class StridedView:
    """A view of the L1 argument `argument` as `torch.as_strided` takes it, in elements of its storage."""

    argument: int
    sizes: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    offset: Expr


@dataclass
class ProgramOutput:
    """One value that the program hands out.

    result: position among the L1 results, None when `value` (a constant, or an Expr over symbols) says it
    all. writes: the L1 argument that this result is written back to (a mutation, not visible to the caller
    as output). alias: the L1 argument that this output is. view: how this output lies in an argument's
    storage, where eager returns a view of it (AOTAutograd reads size, stride and storage offset off such
    outputs).
    """

    result: int | None = None
    value: Any = None
    writes: int | None = None
    alias: int | None = None
    view: StridedView | None = None


@dataclass
class ImportedProgram:
    """A PyTorch program as one L1 function `main`.

    arguments: one entry per L1 argument. outputs: the caller's outputs in order. mutations: results that
    are written back to arguments. sizes: (position among the caller's flat inputs, expression) of integer
    inputs; with the dims in the argument types they determine the symbols (`types.solve_symbols`).
    """

    module: ir.Module
    arguments: list[ProgramArgument]
    outputs: list[ProgramOutput]
    mutations: list[ProgramOutput]
    symbols: list[SymbolInfo]
    sizes: list[tuple[int, Expr]]
    torch_text: str | None = None
    names: dict[str, str] = field(default_factory=dict)


@dataclass
class _Placeholder:
    """What one placeholder of the graph stands for."""

    kind: ArgumentKind
    position: int | None = None
    tensor: torch.Tensor | None = None
    target: str | None = None


def import_exported_program(
    program: torch.export.ExportedProgram, *, context: ir.Context | None = None, keep_text: bool = False
) -> ImportedProgram:
    """Import what `torch.export.export` returned. Raises ImportFailure listing all that can't be imported."""
    module = program.graph_module
    written: list[str] = []
    if needs_decomposition(program.graph):
        found = _without_mutation(program)
        if found is None:
            program = program.run_decompositions(decomposition_table())
            module = program.graph_module
        else:
            module, written = found
    signature = program.graph_signature
    mutated = set(signature.buffers_to_mutate.values())
    mutated |= {signature.inputs_to_buffers[name] for name in written if name in signature.inputs_to_buffers}
    placeholders: dict[str, _Placeholder] = {}
    position = 0
    for spec in signature.input_specs:
        name = spec.arg.name
        if spec.kind == InputKind.USER_INPUT:
            placeholders[name] = _Placeholder("input", position)
            position += 1
        elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
            kind: ArgumentKind = "buffer" if spec.target in mutated else "weight"
            placeholders[name] = _Placeholder(kind, None, _state(program, str(spec.target)), str(spec.target))
        else:
            raise ImportFailure(f"input '{name}' of kind {spec.kind} is not supported")
    by_target = {item.target: name for name, item in placeholders.items() if item.target is not None}
    writes: list[str | None] = []
    for spec in signature.output_specs:
        if spec.kind == OutputKind.USER_OUTPUT:
            writes.append(None)
        elif spec.kind == OutputKind.BUFFER_MUTATION:
            writes.append(by_target[str(spec.target)])
        elif spec.kind == OutputKind.USER_INPUT_MUTATION:
            writes.append(spec.target)
        else:
            raise ImportFailure(f"output of kind {spec.kind} is not supported")
    fixed = {
        spec.arg.name: spec.arg.value
        for spec in signature.input_specs
        if isinstance(spec.arg, ConstantArgument)
    }
    ranges = program.range_constraints
    return _import_graph(module, placeholders, writes, fixed, ranges, context, keep_text)


def _without_mutation(program: torch.export.ExportedProgram) -> tuple[torch.fx.GraphModule, list[str]] | None:
    """The program's graph with in-place ops rewritten, and the placeholders it writes to; None if it must be
    traced again."""
    writable = {InputKind.USER_INPUT, InputKind.BUFFER}
    names = {spec.arg.name for spec in program.graph_signature.input_specs if spec.kind in writable}
    if any(spec.kind != OutputKind.USER_OUTPUT for spec in program.graph_signature.output_specs):
        return None
    try:
        graph, written = functional_graph(program.graph, names)
    except NotFunctional as reason:
        _LOG.debug("tracing the program again: %s", reason)
        return None
    # The only in-place ops left are the copies to the placeholders, at the end.
    kept = [node for node in graph.nodes if node.target is not torch.ops.aten.copy_.default]
    rest = {str(node.target) for node in kept if needs_decomposition_of(node)}
    if rest:
        _LOG.debug("tracing the program again to decompose %s", ", ".join(sorted(rest)))
        return None
    return torch.fx.GraphModule(program.graph_module, graph), written


def _state(program: torch.export.ExportedProgram, target: str) -> torch.Tensor:
    found = program.state_dict.get(target)
    value = program.constants[target] if found is None else found
    if not isinstance(value, torch.Tensor):
        raise ImportFailure(f"constant '{target}' is no tensor")
    return value


def import_fx_graph(
    module: torch.fx.GraphModule,
    example_inputs: Sequence[Any] | None = None,
    *,
    weights: Mapping[int, torch.Tensor] | None = None,
    context: ir.Context | None = None,
    keep_text: bool = False,
) -> ImportedProgram:
    """Import a functional ATen graph as a Dynamo backend receives it from AOTAutograd (inference).

    Every placeholder needs fake-tensor metadata (`meta["val"]`); where it is missing, `example_inputs`
    gives it. `weights` names placeholders (by position) whose tensors don't change between calls. Trailing
    `copy_` nodes into placeholders become mutations. Raises ImportFailure listing all that can't be imported.
    """
    placeholders: dict[str, _Placeholder] = {}
    nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
    for position, node in enumerate(nodes):
        if "val" not in node.meta and example_inputs is not None:
            node.meta["val"] = example_inputs[position]
        tensor = (weights or {}).get(position)
        kind: ArgumentKind = "weight" if tensor is not None else "input"
        placeholders[node.name] = _Placeholder(
            kind, position, tensor, node.name if tensor is not None else None
        )
    return _import_graph(module, placeholders, None, {}, {}, context, keep_text)


def _import_graph(
    module: torch.fx.GraphModule,
    placeholders: dict[str, _Placeholder],
    writes: Sequence[str | None] | None,
    fixed: Mapping[str, Any],
    ranges: Mapping[Any, Any],
    context: ir.Context | None,
    keep_text: bool,
) -> ImportedProgram:
    graph, lifted, mutations = prepare_graph(module, fixed)
    for name, tensor in lifted.items():
        placeholders[name] = _Placeholder("weight", None, tensor, name)
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    symbols = ShapeSymbols([node.meta.get("val") for node in inputs], ranges)
    context = context or mlir.context()
    with context, ir.Location.unknown():
        imported, source = import_graph(graph, context)
        _annotate(source, inputs, placeholders, symbols)
        text = str(imported) if keep_text else None
    converted = convert_function(source)
    targets = list(writes) if writes is not None else None
    return _describe(imported, inputs, placeholders, converted, targets, mutations, symbols, text)


def _annotate(
    source: ir.Operation,
    inputs: Sequence[torch.fx.Node],
    placeholders: Mapping[str, _Placeholder],
    symbols: ShapeSymbols,
) -> None:
    """Put kinds, names and symbolic dims on the torch function, so that its text says everything."""
    block = source.regions[0].blocks[0]
    entries = []
    for node in inputs:
        known = placeholders[node.name]
        entry: dict[str, ir.Attribute] = {
            "luminal.kind": ir.StringAttr.get(known.kind),
            "luminal.name": ir.StringAttr.get(known.target or node.name),
        }
        if isinstance(node.meta.get("val"), torch.SymInt):
            entry["luminal.symbol"] = ir.StringAttr.get(symbols.text(node.meta["val"]))
        entries.append(ir.DictAttr.get(entry))
    source.attributes["arg_attrs"] = ir.ArrayAttr.get(entries)
    with ir.InsertionPoint.at_block_begin(block):
        values = symbols.declare()
        for node, argument in zip(inputs, block.arguments, strict=True):
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor) and any(
                isinstance(size, torch.SymInt) for size in value.shape
            ):
                symbols.bind(argument, value.shape, values)


def _describe(
    module: ir.Module,
    inputs: Sequence[torch.fx.Node],
    placeholders: Mapping[str, _Placeholder],
    converted: ConvertedFunction,
    writes: list[str | None] | None,
    mutations: Sequence[Mutation],
    symbols: ShapeSymbols,
    text: str | None,
) -> ImportedProgram:
    arguments: list[ProgramArgument] = []
    sizes: list[tuple[int, Expr]] = []
    at: dict[str, int] = {}
    for node, where in zip(inputs, converted.arguments, strict=True):
        known = placeholders[node.name]
        if isinstance(node.meta.get("val"), torch.SymInt):
            if known.position is not None:
                sizes.append((known.position, as_expr(where)))
            continue
        at[node.name] = len(arguments)
        name = known.target or node.name
        arguments.append(ProgramArgument(known.kind, name, known.position, known.tensor, known.target))
    if converted.seeded:
        arguments.append(ProgramArgument("seed", "random seed"))
    targets = list(writes or [])
    count = len(converted.returns) - len(mutations)
    targets += [None] * (count - len(targets)) + [mutation.target for mutation in mutations]
    outputs: list[ProgramOutput] = []
    written: list[ProgramOutput] = []
    function = converted.operation
    for returned, target in zip(converted.returns, targets, strict=True):
        output = ProgramOutput(value=None if isinstance(returned, Returned) else returned)
        if isinstance(returned, Returned):
            output.result = returned.position
            output.alias = None if target is not None else _alias(function, returned.position)
        output.writes = None if target is None else at[target]
        (outputs if target is None else written).append(output)
    _mark_results(function, [*outputs, *written])
    _find_views(inputs, outputs, [target is None for target in targets], at, symbols)
    names = {f"s{position}": name for position, name in enumerate(symbols.names())}
    return ImportedProgram(module, arguments, outputs, written, converted.symbols, sizes, text, names)


def _alias(function: ir.Operation, position: int) -> int | None:
    """The argument that result `position` of the L1 function is, if it is one."""
    block = function.regions[0].blocks[0]
    value = list(block.operations)[-1].operands[position]
    return value.arg_number if isinstance(value, ir.BlockArgument) else None


def _find_views(
    inputs: Sequence[torch.fx.Node],
    outputs: Sequence[ProgramOutput],
    visible: Sequence[bool],
    at: Mapping[str, int],
    symbols: ShapeSymbols,
) -> None:
    """Fill in `view` where the traced output shares the storage of a traced input."""
    owners = {
        node.meta["val"].untyped_storage()._cdata: node.name
        for node in inputs
        if node.name in at and isinstance(node.meta.get("val"), torch.Tensor)
    }
    if not owners:
        return
    returned = inputs[0].graph.output_node().args[0]
    assert isinstance(returned, (tuple, list))
    nodes = [node for node, shown in zip(returned, visible, strict=True) if shown]
    for node, output in zip(nodes, outputs, strict=True):
        value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
        if not isinstance(value, torch.Tensor) or value.untyped_storage()._cdata not in owners:
            continue
        layout = symbols.known([*value.shape, *value.stride(), value.storage_offset()])
        if layout is not None:
            rank = value.dim()
            argument = at[owners[value.untyped_storage()._cdata]]
            output.view = StridedView(argument, layout[:rank], layout[rank:-1], layout[-1])


def _mark_results(function: ir.Operation, outputs: Sequence[ProgramOutput]) -> None:
    with function.context, ir.Location.unknown():
        i64 = ir.IntegerType.get_signless(64)
        entries: dict[int, dict[str, ir.Attribute]] = {}
        for output in outputs:
            if output.result is not None:
                entry = entries.setdefault(output.result, {})
                for key, argument in (("luminal.writes", output.writes), ("luminal.alias", output.alias)):
                    if argument is not None:
                        entry[key] = ir.IntegerAttr.get(i64, argument)
        function.attributes["res_attrs"] = ir.ArrayAttr.get(
            [ir.DictAttr.get(entries[position]) for position in sorted(entries)]
        )
