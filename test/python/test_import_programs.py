"""Whole programs through the import: mutation, aliases, constants and sizes, from torch.export and from AOT
graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from functorch.compile import make_boxed_func
from import_check import randn
from torch._dynamo.backends.common import aot_autograd

from luminal.errors import ImportFailure
from luminal.passes.canonicalize_views import CanonicalizeViewsOptions, canonicalize_views
from luminal.passes.torch_to_luminal.decompositions import decomposition_table
from luminal.passes.torch_to_luminal.frontend import (
    ImportedProgram,
    import_exported_program,
    import_fx_graph,
)
from luminal.runtime.interpreter import run_l1


class Counter(torch.nn.Module):
    """A parameter, a buffer that is written, one that is not persistent, and a lifted constant."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.register_buffer("total", torch.zeros(2))
        self.register_buffer("scale", torch.tensor([2.0, 3.0]), persistent=False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.linear(x) * self.scale + torch.tensor([1.0, -1.0])
        self.total.add_(y.sum(0))
        return y, self.total * 2, x


def export(module: torch.nn.Module, *arguments: Any, **options: Any) -> ImportedProgram:
    program = torch.export.export(module, arguments, strict=False, **options)
    return import_exported_program(program, keep_text=True)


def run(program: ImportedProgram, *inputs: Any) -> list[np.ndarray]:
    """All results of the L1 function."""
    operands = [inputs[a.position] if a.position is not None else a.tensor for a in program.arguments]
    return run_l1(program.module, [operand.detach().contiguous().numpy() for operand in operands])


def test_weights_buffers_and_constants_are_arguments() -> None:
    module = Counter()
    program = export(module, randn(4, 3))
    kinds = {argument.target: argument.kind for argument in program.arguments if argument.target}
    assert kinds["linear.weight"] == "weight" and kinds["scale"] == "weight" and kinds["total"] == "buffer"
    weight = next(a for a in program.arguments if a.target == "linear.weight")
    assert weight.tensor is not None and weight.tensor.data_ptr() == module.linear.weight.data_ptr()
    assert "dense_resource" not in str(program.module) and "literal" not in (program.torch_text or "")


def test_mutated_buffer_and_aliased_input() -> None:
    module, x = Counter(), randn(4, 3)
    program = export(module, x)
    results = run(program, x)
    with torch.no_grad():
        wanted = module(x)
    (mutation,) = program.mutations
    assert program.arguments[mutation.writes or 0].target == "total" and mutation.result is not None
    np.testing.assert_allclose(results[mutation.result], module.total.numpy(), rtol=1e-5)
    for output, value in zip(program.outputs[:2], wanted, strict=False):
        assert output.result is not None
        np.testing.assert_allclose(results[output.result], value.detach().numpy(), rtol=1e-5, atol=1e-6)
    alias = program.outputs[2].alias
    assert alias is not None and program.arguments[alias].position == 0
    assert "luminal.writes" in str(program.module) and "luminal.alias" in str(program.module)


def test_dims_ranges_and_source_lines_reach_the_ir() -> None:
    batch = torch.export.Dim("batch", min=1, max=64)
    module = torch.nn.Linear(3, 2)
    program = export(module, randn(4, 3), dynamic_shapes=({0: batch},))
    assert [(s.minimum, s.maximum) for s in program.symbols] == [(1, 64)]
    assert "torch.bind_symbolic_shape" in (program.torch_text or "")
    assert "linear.py" in program.module.operation.get_asm(enable_debug_info=True)


def test_one_dim_derived_from_another() -> None:
    half = torch.export.Dim("half", min=2, max=16)

    class Pairs(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x.reshape(-1, 2).sum(1) + y

    program = export(Pairs(), randn(8), randn(4), dynamic_shapes=({0: 2 * half}, {0: half}))
    assert len(program.symbols) == 1
    (result,) = run(program, randn(12), randn(6, seed=1))
    wanted = Pairs()(randn(12), randn(6, seed=1))
    np.testing.assert_allclose(result, wanted.numpy(), rtol=1e-5)


def test_python_constants_as_inputs_and_outputs() -> None:
    class Scaled(torch.nn.Module):
        def forward(self, x: torch.Tensor, factor: int, mode: str) -> tuple[Any, ...]:
            return x * factor, factor, None, mode

    program = export(Scaled(), randn(2), 3, "up")
    assert [a.position for a in program.arguments] == [0]
    assert [output.value for output in program.outputs] == [None, 3, None, "up"]


def through_dynamo(
    function: Any, *calls: tuple[Any, ...], dynamic: bool | None = None
) -> list[ImportedProgram]:
    """Run `function` under Dynamo with the interpreter as backend, compare with eager, and return the
    programs."""
    programs: list[ImportedProgram] = []

    def compiler(graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
        program = import_fx_graph(graph, example_inputs)
        canonicalize_views(program.module.operation, CanonicalizeViewsOptions())
        programs.append(program)

        def call(*inputs: Any) -> list[torch.Tensor]:
            results = [torch.from_numpy(np.array(result)) for result in run(program, *inputs)]
            for mutation in program.mutations:
                position = program.arguments[mutation.writes or 0].position
                inputs[position or 0].copy_(results[mutation.result or 0])
            return [results[output.result or 0] for output in program.outputs]

        return make_boxed_func(call)

    backend = aot_autograd(
        fw_compiler=compiler,
        inference_compiler=compiler,
        decompositions=decomposition_table(),
        keep_inference_input_mutations=True,
    )
    torch._dynamo.reset()
    compiled = torch.compile(function, backend=backend, dynamic=dynamic)
    for arguments in calls:
        copies = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
        with torch.no_grad():
            torch.testing.assert_close(compiled(*arguments), function(*copies))
        for argument, copy in zip(arguments, copies, strict=True):
            torch.testing.assert_close(argument, copy)
    return programs


def test_aot_graph_with_mutated_input() -> None:
    def function(x: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        x[1:, :2].mul_(v)
        return x.sum(0)

    (program,) = through_dynamo(function, (randn(3, 4), torch.tensor(2.0)))
    assert len(program.mutations) == 1


def test_aot_graph_with_sizes_as_inputs() -> None:
    programs: list[ImportedProgram] = []

    def compiler(graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
        programs.append(import_fx_graph(graph, example_inputs))
        return make_boxed_func(graph.forward)

    def function(x: torch.Tensor, n: int) -> tuple[torch.Tensor, ...]:
        return x * n + x.shape[0], x[:-1].reshape(-1), torch.arange(n)

    backend = aot_autograd(fw_compiler=compiler, inference_compiler=compiler)
    torch._dynamo.reset()
    torch.compile(function, backend=backend, dynamic=True)(randn(4, 3), 5)
    (program,) = programs
    assert len(program.sizes) >= 2 and len(program.symbols) >= 2
    assert all(argument.kind == "input" for argument in program.arguments)


def test_outputs_that_are_views_of_inputs() -> None:
    programs: list[ImportedProgram] = []

    def compiler(graph: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
        programs.append(import_fx_graph(graph, example_inputs))
        return make_boxed_func(graph.forward)

    backend = aot_autograd(fw_compiler=compiler, inference_compiler=compiler)
    torch._dynamo.reset()
    torch.compile(lambda x: (x[2:].t(), x * 2), backend=backend, dynamic=False)(randn(4, 3))
    first, second = programs[0].outputs
    assert first.view is not None and second.view is None
    assert [str(item) for item in (*first.view.sizes, *first.view.strides, first.view.offset)] == list(
        "32136"
    )


def test_lifted_constant_tensors() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x + torch.tensor(5.0) * torch.tensor([1.0, 2.0])

    (program,) = through_dynamo(function, (randn(3, 2),))
    assert [a.kind for a in program.arguments] == ["input", "weight"]


def test_small_integers_are_refused_by_name() -> None:
    with pytest.raises(ImportFailure, match="uint8"):
        export(torch.nn.ReLU(), torch.zeros(3, dtype=torch.uint8))
    with pytest.raises(ImportFailure, match="complex64"):
        export(torch.nn.Identity(), torch.zeros(3, dtype=torch.complex64))


def test_sizes_that_depend_on_data_are_refused() -> None:
    class Nonzero(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.nonzero()

    with pytest.raises(ImportFailure, match="nonzero"):
        export(Nonzero(), randn(4))
