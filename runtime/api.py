"""`luminal.compile`: a PyTorch module or function, compiled ahead of time for inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch.export.graph_signature import ConstantArgument, InputKind
from torch.utils import _pytree as pytree

from luminal.errors import ImportFailure, InputError

from ..dialects.mlir import ir
from ..passes.schedule import read_signature
from ..passes.torch_to_luminal.frontend import ImportedProgram, import_exported_program
from .aliases import ViewOutputs
from .binding import BoundProgram, TensorSource
from .bucket_set import BucketProgram, BucketSet
from .buckets import SizeNames, parse_buckets, resolve
from .environment import progress_wanted
from .examples import dim_places, traceable
from .options import CompileOptions
from .pipeline import COMPILE_LOCK, build_program
from .profile import Profile, recording
from .program import Runnable
from .progress import Progress


class CompiledModel:
    """A compiled module or function: called with the same arguments, it returns what the original returns.

    Inference only: results carry no gradients. Several threads may call it at once.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        program: torch.export.ExportedProgram,
        options: CompileOptions,
        progress: Progress,
        dims: Mapping[tuple[int, int], Any],
    ) -> None:
        self._module = module
        with progress.stage("import"):
            imported = import_exported_program(program)
            if not options.freeze_weights:
                thaw_weights(imported)
        self._buckets: BucketSet | None = None
        compiled: Runnable | BucketSet
        if options.buckets:
            compiled = self._buckets = _bucket_set(imported, dims, options, progress)
            self.statistics = dict(compiled.programs[0].statistics)
        else:
            compilation = build_program(imported.module.operation, options, progress)
            assert compilation.program is not None
            compiled = compilation.program
            self.statistics = compilation.statistics
        self._bound = BoundProgram(imported, compiled, _module_state(module, imported))
        self._views = ViewOutputs.of_export(program)
        in_spec, out_spec = program.call_spec.in_spec, program.call_spec.out_spec
        assert in_spec is not None and out_spec is not None
        self._in_spec, self._out_spec = in_spec, out_spec
        self._constants = _constant_inputs(program)
        self._progress = progress

    @property
    def buckets(self) -> list[BucketProgram]:
        """The programs of the option `buckets`, and those made since for sizes in none: their ranges, how
        many calls ran them, and their statistics (`CompiledModel.statistics` is the first's).
        """
        return [] if self._buckets is None else self._buckets.programs

    @property
    def stages(self) -> dict[str, float]:
        """Seconds per compile stage; `outer/inner` is part of `outer`."""
        return dict(self._progress.seconds)

    def report(self) -> str:
        """A table of the compile stages and their seconds."""
        rows = [f"{name:<40s} {seconds:8.3f} s" for name, seconds in self._progress.seconds.items()]
        return "\n".join([*rows, f"{'total':<40s} {self._progress.total:8.3f} s"])

    def planned_memory(self) -> tuple[int, int]:
        """Bytes that calls use besides inputs and results, exact: for temporary values in the largest call so
        far, and for packed weights. With buckets: of all programs together.
        """
        return self._bound.call.planned_memory()

    def profile(self, *args: Any, repeats: int = 5, **kwargs: Any) -> Profile:
        """Call the model `repeats` times and once before, every launch timed on its own: what each kernel
        takes, moves and computes. The calls do what calls do: buffers are updated.
        """
        if repeats < 1:
            raise InputError(f"repeats must be at least 1, not {repeats}")
        with recording() as recorder:
            for _ in range(repeats + 1):
                self(*args, **kwargs)
        return recorder.profile()

    def refresh_weights(self) -> None:
        """Pack all weights again in the next call: after a change that torch doesn't count (by `.data`)."""
        self._bound.call.weights_changed()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises InputError, before anything is written, if the arguments don't fit what was compiled."""
        inputs = self._flatten(args, kwargs)
        for position, (name, value) in self._constants.items():
            if type(inputs[position]) is not type(value) or inputs[position] != value:
                got = f"input '{name}' is {inputs[position]!r}"
                raise InputError(f"{got}; the program was compiled for the constant {value!r}")
        outputs = self._views.apply(inputs, self._bound(inputs))
        return pytree.tree_unflatten(outputs, self._out_spec)

    def _flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        expected_args, expected_kwargs = self._in_spec.children()
        names = list(expected_kwargs.context)
        if set(kwargs) == set(names):
            kwargs = {name: kwargs[name] for name in names}
        inputs, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._in_spec:
            wanted = f"{expected_args.num_children} positional" + (
                f" and {', '.join(names)}" if names else ""
            )
            given = f"{len(args)} positional" + (f" and {', '.join(kwargs)}" if kwargs else "")
            detail = "" if wanted != given else f": {spec} instead of {self._in_spec}"
            raise InputError(f"expected {wanted} arguments as compiled, got {given}{detail}")
        return inputs


def compile(
    module_or_fn: torch.nn.Module | Callable[..., Any],
    example_inputs: tuple[Any, ...] | list[Any] | Mapping[str, Any],
    dynamic_shapes: Any = None,
    options: CompileOptions | Mapping[str, Any] | None = None,
) -> CompiledModel:
    """Compile `module_or_fn` for inference.

    example_inputs: the positional arguments of a call (a tuple or list), or its keyword arguments (a
        mapping); only shapes, dtypes and structure matter.
    dynamic_shapes: as for `torch.export.export`; dims that are not named are fixed to the examples'.
    options: `CompileOptions`, or a mapping of its fields.

    Raises ImportFailure if torch cannot trace the program or luminal does not cover an op of it, listing
    every such op; OptionError for a bad option.
    """
    chosen = CompileOptions.of(options)
    module = _as_module(module_or_fn)
    args, kwargs = traceable(module, _distinct(_example(example_inputs)), dynamic_shapes)
    progress = Progress(chosen.progress or progress_wanted())
    with COMPILE_LOCK:
        with progress.stage("torch export"):
            program = _export(module, args, kwargs, dynamic_shapes)
        dims = _dims(program, dim_places(module, (args, kwargs), dynamic_shapes), args, kwargs)
        return CompiledModel(module, program, chosen, progress, dims)


def _dims(
    program: torch.export.ExportedProgram,
    places: Sequence[tuple[torch.Tensor, int, Any]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> dict[tuple[int, int], Any]:
    """The `torch.export.Dim`s by flat input position and axis."""
    assert program.call_spec.in_spec is not None
    names = program.call_spec.in_spec.children()[1].context
    leaves = pytree.tree_leaves((args, {name: kwargs[name] for name in names}))
    positions = {id(leaf): position for position, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)}
    return {(positions[id(tensor)], axis): dim for tensor, axis, dim in places if id(tensor) in positions}


def _bucket_set(
    imported: ImportedProgram,
    dims: Mapping[tuple[int, int], Any],
    options: CompileOptions,
    progress: Progress,
) -> BucketSet:
    """The programs of the option `buckets`. Raises OptionError for a name or range that doesn't fit."""
    signature = read_signature(imported.module.operation)
    names = SizeNames()
    for k, argument in enumerate(imported.arguments):
        shape = signature.arguments[k].type.shape
        for axis, size in enumerate(shape if argument.position is not None else ()):
            dim = dims.get((argument.position or 0, axis))
            if dim is not None and not hasattr(dim, "root"):
                names.add(dim.__name__, size, signature.symbols)
    names.add_inputs(
        [signature.arguments[k] for k, a in enumerate(imported.arguments) if a.position is not None],
        signature.symbols,
    )
    for position, size in imported.sizes:
        names.add(f"input {position}", size, signature.symbols)
    axes = resolve(parse_buckets(options.buckets), names, signature.symbols)
    return BucketSet(imported.module.operation, axes, options, progress)


def _as_module(module_or_fn: torch.nn.Module | Callable[..., Any]) -> torch.nn.Module:
    if isinstance(module_or_fn, torch.nn.Module):
        return module_or_fn
    if not callable(module_or_fn):
        raise InputError(f"expected a module or a function, got a {type(module_or_fn).__name__}")
    module = torch.nn.Module()
    module.forward = module_or_fn  # type: ignore[assignment,method-assign]
    return module


def _example(example_inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example_inputs, Mapping):
        return (), dict(example_inputs)
    if isinstance(example_inputs, (tuple, list)):
        return tuple(example_inputs), {}
    raise InputError(
        "example_inputs must be a tuple of positional arguments or a mapping of keyword arguments, "
        f"not a {type(example_inputs).__name__}"
    )


def _distinct(example: tuple[tuple[Any, ...], dict[str, Any]]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The example with a clone wherever a tensor stands twice: torch.export would take both for one input."""
    seen: set[int] = set()

    def own(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and id(leaf) in seen:
            return leaf.detach().clone()
        seen.add(id(leaf))
        return leaf

    return pytree.tree_map(own, example)


def _export(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
) -> torch.export.ExportedProgram:
    try:
        with torch.no_grad():
            return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=False)
    except Exception as error:
        raise ImportFailure(f"torch.export cannot trace the program: {error}") from error


def _constant_inputs(program: torch.export.ExportedProgram) -> dict[int, tuple[str, Any]]:
    """Inputs that torch.export took as constants: flat position -> (name, value)."""
    specs = [spec for spec in program.graph_signature.input_specs if spec.kind == InputKind.USER_INPUT]
    return {
        position: (spec.arg.name, spec.arg.value)
        for position, spec in enumerate(specs)
        if isinstance(spec.arg, ConstantArgument)
    }


def _module_state(module: torch.nn.Module, imported: ImportedProgram) -> dict[str, TensorSource]:
    """Getters of the module's present parameters and buffers, so that replacing one needs no new
    compilation.
    """
    sources: dict[str, TensorSource] = {}
    for argument in imported.arguments:
        if argument.target is None or argument.position is not None:
            continue
        path, _, name = argument.target.rpartition(".")
        try:
            owner = module.get_submodule(path)
        except AttributeError:
            continue
        for table in (owner._parameters, owner._buffers):
            if table.get(name) is not None:
                sources[argument.target] = partial(table.__getitem__, name)
    return sources


def thaw_weights(imported: ImportedProgram) -> None:
    """Mark the weights as ordinary inputs, whose values may change from call to call."""
    function = next(f.operation for f in imported.module.body.operations if f.operation.name == "func.func")
    with function.context:
        entries = []
        for attributes in ir.ArrayAttr(function.attributes["arg_attrs"]):
            entry = {name.name: name.attr for name in (attributes[k] for k in range(len(attributes)))}
            if entry.get("luminal.kind") == ir.StringAttr.get("weight"):
                entry["luminal.kind"] = ir.StringAttr.get("input")
            entries.append(ir.DictAttr.get(entry))
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(entries)
