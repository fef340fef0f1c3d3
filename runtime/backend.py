"""`torch.compile(model, backend="luminal")`: the Dynamo backend.

AOTAutograd makes each graph functional (it handles aliases, views and mutations, and splits off a
backward graph where gradients are needed); luminal compiles what comes out, with parameters as ordinary
inputs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd

from ..passes.schedule import read_signature
from ..passes.torch_to_luminal.decompositions import decomposition_table
from ..passes.torch_to_luminal.frontend import ImportedProgram, import_fx_graph
from .aliases import ViewOutputs
from .binding import BoundProgram
from .bucket_set import BucketSet
from .buckets import parse_buckets, resolve_traced
from .environment import progress_wanted
from .options import CompileOptions
from .pipeline import COMPILE_LOCK, build_program
from .program import Runnable
from .progress import Progress


def luminal_backend(
    module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    **_: Any,
) -> Callable[..., Any]:
    """Compile one Dynamo graph. `options` are the fields of `CompileOptions`."""
    chosen = CompileOptions.of(options, freeze_weights=False)

    written: set[int] = set()
    names = _size_names(module) if chosen.buckets else {}

    def compile_graph(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        written.update(_written_inputs())
        return make_boxed_func(_compile(graph, inputs, chosen, names))

    backend = aot_autograd(
        fw_compiler=compile_graph,
        bw_compiler=compile_graph,
        inference_compiler=compile_graph,
        decompositions=decomposition_table(),
    )
    run = backend(module, example_inputs)
    return _guard_overlap(module, run, sorted(written)) if written else run


def _guard_overlap(
    module: torch.fx.GraphModule, run: Callable[..., Any], written: Sequence[int]
) -> Callable[..., Any]:
    """`run`, or the graph in eager mode, with a warning, when a written input overlaps another one.

    The graph was made functional for independent inputs and Dynamo does not guard on that: the compiled
    code would miss what a write does to the other input.
    """

    def guarded(*inputs: Any) -> Any:
        spans = [
            (t.data_ptr(), t.data_ptr() + _extent(t)) if isinstance(t, torch.Tensor) else (0, 0)
            for t in inputs
        ]
        for k in written:
            start, stop = spans[k]
            other = next((j for j, (a, b) in enumerate(spans) if j != k and a < stop and start < b), None)
            if other is not None:
                warnings.warn(
                    f"luminal: this call runs in torch eager: the model writes to its input {k}, whose "
                    f"memory overlaps input {other}; pass tensors that share no memory (clone one)",
                    RuntimeWarning,
                    stacklevel=2,
                )
                return module(*inputs)
        return run(*inputs)

    return guarded


def _extent(tensor: torch.Tensor) -> int:
    """Bytes from a tensor's first element to behind its last."""
    if not tensor.numel():
        return 0
    steps = ((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return (sum(steps) + 1) * tensor.element_size()


def _written_inputs() -> list[int]:
    """Positions of the inputs that the graph being compiled updates in place, as AOTAutograd found them."""
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    return [] if metadata is None else [k for k, info in enumerate(metadata.input_info) if info.mutates_data]


def _compile(
    graph: torch.fx.GraphModule, inputs: Sequence[Any], options: CompileOptions, names: Mapping[str, str]
) -> Callable[..., Sequence[Any]]:
    """A function from the graph's flat inputs (tensors, sizes) to its flat outputs.

    `names`: torch's symbols by the names that sizes have in the option `buckets`.
    """
    if not any(isinstance(node.meta.get("val"), torch.Tensor) for node in graph.graph.nodes):
        return graph.forward  # only sizes: nothing to compile
    progress = Progress(options.progress or progress_wanted())
    weights = _static_inputs(inputs) if options.freeze_weights else {}
    with COMPILE_LOCK:
        with progress.stage("import"):
            imported = import_fx_graph(graph, inputs, weights=weights)
        bound = BoundProgram(imported, _programs(imported, options, progress, names))
    views = ViewOutputs.of_graph(graph.graph)
    return lambda *arguments: views.apply(arguments, bound(arguments))


def _programs(
    imported: ImportedProgram, options: CompileOptions, progress: Progress, names: Mapping[str, str]
) -> Runnable | BucketSet:
    """One program, or one per combination of the buckets of sizes that this graph has."""
    module = imported.module.operation
    if options.buckets:
        indices = {name: int(symbol.removeprefix("s")) for symbol, name in imported.names.items()}
        known = {name: indices[symbol] for name, symbol in names.items() if symbol in indices}
        axes = resolve_traced(parse_buckets(options.buckets), known, read_signature(module).symbols)
        if axes:
            return BucketSet(module, axes, options, progress)
    compilation = build_program(module, options, progress)
    assert compilation.program is not None
    return compilation.program


def _size_names(module: torch.fx.GraphModule) -> dict[str, str]:
    """Torch's symbol for each dynamic dim of Dynamo's graph, by input and axis: `x.0`."""
    found: dict[str, str] = {}
    for node in module.graph.nodes:
        value = node.meta.get("example_value") if node.op == "placeholder" else None
        if isinstance(value, torch.Tensor):
            name = node.name.lower().removeprefix("l_").strip("_")
            for axis, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                    found[f"{name}.{axis}"] = str(size.node.expr)
    return found


def _static_inputs(inputs: Sequence[Any]) -> dict[int, torch.Tensor]:
    """The inputs that are parameters or buffers of the model: they keep their places between calls."""
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    return {k: inputs[k] for k in (metadata.static_input_indices if metadata is not None else ())}
