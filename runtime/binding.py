"""Joins an imported PyTorch program with its compiled form: caller's values in, caller's values out.

The compiled function has tensors only. Here integers that are sizes, constants that a graph returns,
parameters that come from the module, and mutations find their places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from luminal.errors import InputError

from ..dialects.symbolic import Expr, as_expr, compiled
from ..passes.torch_to_luminal.frontend import ImportedProgram, ProgramOutput
from .bucket_set import BucketedCall, BucketSet
from .call import ProgramCall
from .program import Runnable
from .symbols import Input

TensorSource = Callable[[], torch.Tensor]


class BoundProgram:
    """`program` as a function from the caller's flat inputs to the caller's flat outputs.

    `state`: for each weight or buffer of `imported`, by its target, a function that gives its present
    tensor; without one the tensor that was imported is used.
    """

    def __init__(
        self,
        imported: ImportedProgram,
        program: Runnable | BucketSet,
        state: dict[str, TensorSource] | None = None,
    ) -> None:
        self._sizes = [position for position, _ in imported.sizes]
        scalars = [Input(f"input {position}", (expr,), scalar=True) for position, expr in imported.sizes]
        self._inputs: list[tuple[int, int]] = []
        self._state: list[tuple[int, TensorSource]] = []
        self._seeds: list[int] = []
        for k, argument in enumerate(imported.arguments):
            if argument.kind == "seed":
                self._seeds.append(k)
            elif argument.position is not None:
                self._inputs.append((k, argument.position))
            else:
                self._state.append((k, self._source(argument.target, argument.tensor, state or {})))
        owned = [k for k, _ in self._state]
        self.call = (
            BucketedCall(program, scalars, owned)
            if isinstance(program, BucketSet)
            else ProgramCall(program, scalars, owned)
        )
        self._count = len(imported.arguments)
        self._outputs = [self._output(output, len(imported.symbols)) for output in imported.outputs]

    @staticmethod
    def _source(
        target: str | None, tensor: torch.Tensor | None, state: dict[str, TensorSource]
    ) -> TensorSource:
        if target is not None and target in state:
            return state[target]
        assert tensor is not None
        return lambda: tensor

    @staticmethod
    def _output(output: ProgramOutput, symbol_count: int) -> Callable[[list[Any], tuple[int, ...]], Any]:
        """How to find an output among the program's results and symbol values."""
        position, value = output.result, output.value
        if position is not None:
            return lambda results, symbols: results[position]
        if isinstance(value, Expr):
            evaluate = compiled((as_expr(value),), symbol_count)
            return lambda results, symbols: evaluate(symbols)[0]
        return lambda results, symbols: value

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs for flat `inputs`. Raises InputError if one does not fit."""
        tensors: list[Any] = [None] * self._count
        for k, position in self._inputs:
            tensors[k] = _as_tensor(inputs[position], self.call.arguments[k].type.shape)
        for k, source in self._state:
            tensors[k] = source()
        for k in self._seeds:
            tensors[k] = draw_seed()
        scalars = [_as_int(inputs[position], position) for position in self._sizes]
        results, symbols = self.call(tensors, scalars)
        return [output(results, symbols) for output in self._outputs]


def draw_seed() -> torch.Tensor:
    """The number that all random numbers of one call come from; torch.manual_seed governs it."""
    return torch.empty((), dtype=torch.int64, device="cpu").random_()


def _as_tensor(value: Any, shape: tuple[Expr, ...]) -> Any:
    """A Python float stands for a rank-0 tensor, as in the graphs that torch traces."""
    if isinstance(value, float) and not shape:
        return torch.tensor(value, dtype=torch.float64)
    return value


def _as_int(value: Any, position: int) -> int:
    if isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool):
        return int(value)
    raise InputError(f"input {position} is a {type(value).__name__}, expected an integer")
