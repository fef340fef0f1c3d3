"""Everyone who can run a PyTorch module: eager, luminal, Inductor, ONNX Runtime and OpenVINO, on one module
and its inputs.
"""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ..measure import StageClock
from . import onnx
from .search import SEARCHES, options_of
from .workload import Contestant, Run

CompileModule = Callable[[torch.nn.Module, Any], Callable[..., torch.Tensor]]


def module_contestants(
    module: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    threads: int,
    compile_module: CompileModule | None = None,
    written_out: torch.nn.Module | None = None,
    names: tuple[str, ...] | None = None,
) -> dict[str, Contestant]:
    """Contestants by name. `compile_module(module, options)` compiles for luminal, by default for the inputs'
    sizes; `written_out` is the module that luminal compiles, if it is not `module` itself. `names`: inputs'
    names in the ONNX file.
    """

    def by_luminal(options: Mapping[str, Any]) -> Contestant:
        def compiled(chosen: Any) -> Callable[..., torch.Tensor]:
            import luminal

            source = module if written_out is None else written_out
            if compile_module is not None:
                return compile_module(source, chosen)
            return luminal.compile(source, inputs, options=chosen)

        return luminal_contestant(compiled, lambda call: (nothing, lambda: call(*inputs)), threads, options)

    def by_inductor(options: dict[str, Any] | None) -> Contestant:
        def make(_clock: StageClock) -> tuple[Callable[[], object], Run]:
            compiled = torch.compile(with_same_weights(module), options=options)
            return nothing, lambda: compiled(*inputs)

        return Contestant(make, compiler=True)

    graph = onnx.OnnxFile(module, inputs, names or tuple(f"x{k}" for k in range(len(inputs))))
    return {
        "eager": Contestant(lambda _clock: (nothing, lambda: module(*inputs))),
        **{name: by_luminal(options_of(name)) for name in SEARCHES},
        "inductor": by_inductor(None),
        "inductor-frozen": by_inductor({"freezing": True}),
        "onnxruntime": onnx.onnxruntime_contestant(graph, threads),
        "openvino": onnx.openvino_contestant(graph, threads),
    }


def luminal_contestant(
    compile_with: Callable[[Any], Any],
    rounds: Callable[[Any], tuple[Callable[[], object], Run]],
    threads: int,
    options: Mapping[str, Any],
    program: Callable[[Any], Any] = lambda made: made,
) -> Contestant:
    """luminal with some search options: `compile_with(CompileOptions)` gives what `rounds` makes a run of.
    `program` finds the CompiledModel in it whose memory is reported.
    """
    made: list[Any] = []

    def make(clock: StageClock) -> tuple[Callable[[], object], Run]:
        import luminal

        made[:] = [compile_with(luminal.CompileOptions(threads=threads, progress=clock, **options))]
        return rounds(made[0])

    def planned() -> tuple[int, int]:
        return program(made[0]).planned_memory()

    return Contestant(make, planned=planned)


def with_same_weights(module: torch.nn.Module) -> torch.nn.Module:
    """A copy that shares the parameters and buffers, so that each contestant may set up its own."""
    shared = [*module.parameters(), *module.buffers()]
    return copy.deepcopy(module, {id(tensor): tensor for tensor in shared})


def nothing() -> None:
    """No preparation."""
