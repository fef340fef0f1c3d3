"""Whole programs on both GPU targets, the faults that the emulator must catch, and PTX through ptxas."""

from __future__ import annotations

import re

import numpy as np
import pytest
from gpu_compare import assemble, check, reference, require_target
from gpu_emulator import Emulator, OutOfBounds, Race, compile_msl
from gpu_programs import TARGETS, EmulatedProgram, kernel_module, shared_context

from luminal.dialects import kernel as K
from luminal.dialects.mlir import ir
from luminal.dialects.symbol_list import SymbolInfo
from luminal.dialects.symbolic import IndexMap, const, dim_vars
from luminal.errors import LoweringError
from luminal.lowering.gpu import lower_to_gpu
from luminal.lowering.nvvm import to_ptx

BATCH = SymbolInfo(0, 1, 256)
S0 = BATCH.sym
WIDTHS = (20, 48, 10)


def linear(x: ir.Value, weight: ir.Value, bias: ir.Value, width: int, depth: int, activate: bool) -> ir.Value:
    domain = (S0, const(width), const(depth))
    m, n, k = dim_vars(domain)
    last = IndexMap.of((S0, width), [dim_vars((S0, width))[1]])

    def body(tensors, index, accumulator):
        shifted = K.scalar("add", accumulator, K.load(tensors[2], index, last))
        return K.scalar("mul", shifted, K.scalar("sigmoid", shifted)) if activate else shifted

    maps = [IndexMap.of(domain, results) for results in ([m, k], [n, k], [m, n])]
    return K.contract(x, weight, [bias], domain, (0, 1, 1, 1), *maps, "f32", body)


def softmax(x: ir.Value, width: int) -> ir.Value:
    dims, row = (S0, const(width)), IndexMap.identity([width])

    def body(tensors, index):
        def value(k):
            return K.load(tensors[0], [index[0], *k], IndexMap.identity(dims))

        largest = K.reduce("max", [width], "f32", value)
        powers = K.local([width], "f32", lambda k: K.scalar("exp", K.scalar("sub", value(k), largest)))
        total = K.reduce("sum", [width], "f32", lambda k: K.load(powers, k, row))
        return K.scalar("div", K.load(powers, [index[1]], row), total)

    return K.region([x], dims, "f32", body)


def mlp() -> str:
    """Two layers and a softmax over the classes, for any batch."""

    def build(x, first, first_bias, second, second_bias):
        hidden = linear(x, first, first_bias, WIDTHS[1], WIDTHS[0], activate=True)
        return [softmax(linear(hidden, second, second_bias, WIDTHS[2], WIDTHS[1], activate=False), WIDTHS[2])]

    shapes = [(S0, WIDTHS[0]), (WIDTHS[1], WIDTHS[0]), (WIDTHS[1],), (WIDTHS[2], WIDTHS[1]), (WIDTHS[2],)]
    return kernel_module([(shape, "f32") for shape in shapes], build, [BATCH])


def inputs(batch: int) -> list[np.ndarray]:
    random = np.random.default_rng(batch)
    shapes = [(batch, WIDTHS[0]), (WIDTHS[1], WIDTHS[0]), (WIDTHS[1],), (WIDTHS[2], WIDTHS[1]), (WIDTHS[2],)]
    return [random.normal(size=shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("target", TARGETS)
def test_mlp_with_softmax(target: str) -> None:
    program = check(target, mlp(), *(inputs(batch) for batch in (1, 5, 40)), tolerance=1e-4)
    assert [launch.kernel for launch in program.program.launches] == [
        "kernel0_contract", "kernel1_contract", "kernel2_region"
    ]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_the_order_of_threads_does_not_matter(target: str) -> None:
    require_target(target)
    program, arguments = EmulatedProgram(mlp(), target), inputs(7)
    random = np.random.default_rng(0)
    expected = program.run(*arguments)[0]
    for order in (lambda ready: ready[::-1], random.permutation):
        np.testing.assert_array_equal(program.run(*arguments, order=order)[0], expected)


def barriers(source: str, target: str) -> list[re.Match[str]]:
    call = (
        r"threadgroup_barrier\(.*\);"
        if target == "metal"
        else r"(tail )?call void @llvm\.nvvm\.barrier\S*\(.*\).*"
    )
    return list(re.finditer(rf"^\s*{call}$", source, re.MULTILINE))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("number", [0, 1, -3, -1])
def test_missing_barrier_is_caught(target: str, number: int) -> None:
    """Those of the first contraction's loop, and those of the softmax's two reductions."""
    require_target(target)
    program = EmulatedProgram(mlp(), target)
    removed = barriers(program.source, target)[number]
    source = program.source[: removed.start()] + program.source[removed.end() :]
    program.emulator = Emulator(compile_msl(source) if target == "metal" else source)
    with pytest.raises(Race):
        program.run(*inputs(3))


@pytest.mark.parametrize("target", TARGETS)
def test_too_small_a_buffer_is_caught(target: str) -> None:
    require_target(target)
    program = EmulatedProgram(mlp(), target)
    launch = program.program.launches[0]
    x, first, bias = inputs(3)[:3]
    sizes = program._sizes({S0: 3})
    with pytest.raises(OutOfBounds, match="buffer 3"):
        out = np.zeros((3, WIDTHS[1] - 1), np.float32)
        operands = [x, first, bias, out, *sizes]
        program.emulator.launch(program.prefix + launch.kernel, (2, 1, 1), (256, 1, 1), operands)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_ptxas_accepts_the_program(arch: str) -> None:
    assemble(mlp(), arch)


def test_unknown_architecture_and_unlowered_module_are_refused() -> None:
    with shared_context(), ir.Location.unknown():
        module = ir.Module.parse(mlp())
        with pytest.raises(LoweringError, match="run lower-to-gpu first"):
            to_ptx(module)
        lower_to_gpu(module)
        with pytest.raises(LoweringError, match="unknown NVIDIA architecture 'sm_1'; known: sm_80, sm_90a"):
            to_ptx(module, "sm_1")


def test_repeated_layers_share_kernels() -> None:
    """A layer that is called twice has its kernels once and its launches twice."""
    layer = """
      func.func @layer(%x: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>)
          -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>> attributes {luminal.symbols = [{name = "s0", min =
          0 : i64}]} {
        %0 = "kernel.region"(%x) ({
        ^bb0(%t: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, %i: index, %j: index):
          %1 = "kernel.load"(%t, %i, %j) {map = affine_map<(d0, d1) -> (d0, d1)>}
              : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, index, index) -> f32
          %2 = "kernel.exp2"(%1) : (f32) -> f32
          "kernel.yield"(%2) : (f32) -> ()
        }) {domain = affine_map<()[s0] -> (s0, 4)>}
            : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0,
            4)>>
        return %0 : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
      }
      func.func @main(%x: tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>)
          -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>> attributes {luminal.symbols = [{name = "s0", min =
          0 : i64}]} {
        %0 = call @layer(%x) : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>)
            -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
        %1 = call @layer(%0) : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>)
            -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
        return %1 : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
      }"""
    require_target("cuda")
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
    program = EmulatedProgram(layer, "cuda")
    assert [(launch.kernel, launch.buffers) for launch in program.program.launches] == [
        ("kernel0_region", (0, 1)), ("kernel0_region", (1, 2))
    ]  # fmt: skip
    np.testing.assert_allclose(program.run(x)[0], reference(layer, [x])[0], rtol=1e-5)
