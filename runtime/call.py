"""Calls a compiled program with torch tensors: checks inputs, allocates results, hands over pointers.

Results are fresh tensors that the kernels write straight into. Inputs are passed without a copy when they
are contiguous. Inputs that the program updates keep torch's rules: their version counter moves, and
overlapping ones are separated first.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from luminal.errors import InputError

from ..dialects.symbolic import compiled
from ..passes.schedule import Argument, Signature
from .pages import prefer_huge_pages
from .program import Runnable
from .symbols import Input, SymbolSolver

TORCH_DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i1": torch.bool,
}


class ArgumentCheck:
    """Checks the tensors of a call against a program's signature, and finds the symbols' values.

    `scalars`: inputs that are Python integers and only determine symbols; they come after the tensors in a
    call. `state`: arguments that are usually the same tensors as in the call before (parameters): of fixed
    shape, they are checked again only when they change.
    """

    def __init__(
        self, signature: Signature, scalars: Sequence[Input] = (), state: Sequence[int] = ()
    ) -> None:
        self.arguments = signature.arguments
        self._dtypes = [TORCH_DTYPES[argument.type.dtype] for argument in self.arguments]
        fixed = {k for k in state if all(dim.is_const for dim in self.arguments[k].type.shape)}
        self._state = sorted(fixed - set(signature.written))
        self._varying = [k for k in range(len(self.arguments)) if k not in self._state]
        self._known: dict[int, tuple[torch.Tensor, int, int]] = {}
        symbols = signature.symbols
        self._state_solver = SymbolSolver(symbols, self._solver_inputs(self._state), set())
        inputs = [*self._solver_inputs(self._varying), *scalars]
        self.solver = SymbolSolver(symbols, inputs, set(range(len(symbols))))

    def __call__(
        self, tensors: Sequence[torch.Tensor], scalars: Sequence[int] = ()
    ) -> tuple[list[torch.Tensor], tuple[int, ...]]:
        """The tensors made contiguous, and the symbols' values. Raises InputError if one does not fit."""
        given = list(tensors)
        for k in self._varying:
            given[k] = self._check(self.arguments[k], self._dtypes[k], tensors[k])
        shapes = [given[k].shape for k in self._varying]
        symbols = self.solver.solve([*shapes, *((value,) for value in scalars)])
        if not all(self._unchanged(k, given[k]) for k in self._state):
            self._check_state(given)
        return given, symbols

    def _solver_inputs(self, positions: Sequence[int]) -> list[Input]:
        return [Input(self.arguments[k].name, self.arguments[k].type.shape) for k in positions]

    def _unchanged(self, k: int, tensor: torch.Tensor) -> bool:
        """Whether argument `k` is the tensor that was checked before: same object, memory and version."""
        known = self._known.get(k)
        return (
            known is not None
            and known[0] is tensor
            and known[1] == tensor.data_ptr()
            and known[2] == version(tensor)
        )

    def _check_state(self, given: list[torch.Tensor]) -> None:
        """Checks all arguments of the state, and remembers those that need no copy."""
        originals = list(given)
        for k in self._state:
            self._known.pop(k, None)
            given[k] = self._check(self.arguments[k], self._dtypes[k], originals[k])
        self._state_solver.solve([given[k].shape for k in self._state])
        for k in self._state:
            if given[k] is originals[k]:
                self._known[k] = (given[k], given[k].data_ptr(), version(given[k]))

    def _check(self, argument: Argument, dtype: torch.dtype, tensor: object) -> torch.Tensor:
        """The tensor, contiguous; InputError if it is none, or of another dtype, device or layout."""
        if not isinstance(tensor, torch.Tensor):
            raise InputError(
                f"input '{argument.name}' is a {type(tensor).__name__}, expected a tensor of {dtype}"
            )
        if tensor.dtype is not dtype:
            raise InputError(f"input '{argument.name}' has dtype {tensor.dtype}, expected {dtype}")
        if not tensor.is_cpu:
            raise InputError(f"input '{argument.name}' is on device {tensor.device}, expected cpu")
        if tensor.layout is not torch.strided:
            raise InputError(f"input '{argument.name}' has layout {tensor.layout}, expected torch.strided")
        resolved = tensor.resolve_neg() if tensor.is_neg() else tensor
        return resolved if resolved.is_contiguous() else resolved.contiguous()


class ProgramRun:
    """`program` as a function from checked tensors and symbol values to result tensors."""

    def __init__(self, program: Runnable) -> None:
        signature = program.signature
        self.program = program
        self.arguments = signature.arguments
        self.written = signature.written
        count = len(signature.symbols)
        self._shapes = [compiled(value.shape, count) for value in program.result_values]
        self._result_dtypes = [TORCH_DTYPES[value.dtype] for value in program.result_values]

    def __call__(
        self,
        tensors: Sequence[torch.Tensor],
        given: list[torch.Tensor],
        symbols: tuple[int, ...],
        generation: int,
    ) -> list[torch.Tensor]:
        """Runs the program: `given` are `tensors` made contiguous. A result that is an argument is
        returned as that very tensor. What depends on weights only is computed anew where `generation`
        differs.
        """
        if self.written:
            self._refuse_overlap(given)
        results = [
            _allocate(shape(symbols), dtype)
            for shape, dtype in zip(self._shapes, self._result_dtypes, strict=True)
        ]
        versions = [generation, *(version(given[k]) for k in self.program.static_arguments)]
        self.program.run(
            [tensor.data_ptr() for tensor in given],
            [tensor.data_ptr() for tensor in results],
            symbols,
            versions,
        )
        for k in self.written:
            if given[k] is not tensors[k]:
                with torch.no_grad():
                    tensors[k].copy_(given[k])
            elif not tensors[k].is_inference():
                torch.autograd.graph.increment_version(tensors[k])
        return [
            tensors[home.index] if home.space == "argument" else results[home.index]
            for home in self.program.returned
        ]

    def _refuse_overlap(self, given: list[torch.Tensor]) -> None:
        """An argument that is written must not share memory with another: the program was compiled for
        independent ones.
        """
        spans = [(start := tensor.data_ptr(), start + tensor.nbytes) for tensor in given]
        occupied = sorted(span for span in spans if span[0] < span[1])
        if all(left[1] <= right[0] for left, right in zip(occupied, occupied[1:], strict=False)):
            return
        for k in self.written:
            start, stop = spans[k]
            for j, (other_start, other_stop) in enumerate(spans):
                if j != k and other_start < stop and start < other_stop:
                    raise InputError(
                        f"input '{self.arguments[k].name}' is written to and shares memory with input "
                        f"'{self.arguments[j].name}'; pass copies"
                    )


class ProgramCall:
    """`program` as a function from tensors (one per argument of `@main`) to tensors (one per result).

    `scalars` and `state`: see ArgumentCheck.
    """

    def __init__(self, program: Runnable, scalars: Sequence[Input] = (), state: Sequence[int] = ()) -> None:
        self._check = ArgumentCheck(program.signature, scalars, state)
        self._run = ProgramRun(program)
        self.program = program
        self.arguments = program.signature.arguments
        self._generation = 0

    def weights_changed(self) -> None:
        """Makes the next call compute anew what depends on weights only."""
        self._generation += 1

    def planned_memory(self) -> tuple[int, int]:
        """Bytes for temporary values in the largest call so far, and bytes of packed weights."""
        return self.program.planned_memory()

    def __call__(
        self, tensors: Sequence[torch.Tensor], scalars: Sequence[int] = ()
    ) -> tuple[list[torch.Tensor], tuple[int, ...]]:
        """Runs the program; returns its results and the symbols' values.

        A result that is an argument is returned as that very tensor.

        Raises InputError, before anything is written, if an input does not fit.
        """
        given, symbols = self._check(tensors, scalars)
        return self._run(tensors, given, symbols, self._generation), symbols


def _allocate(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """An uninitialised result. It is new memory in every call: earlier results belong to the caller."""
    tensor = torch.empty(shape, dtype=dtype)
    prefer_huge_pages(tensor.data_ptr(), tensor.nbytes)
    return tensor


def version(tensor: torch.Tensor) -> int:
    """Torch's count of in-place changes; 0 for an inference tensor, which has none."""
    return 0 if tensor.is_inference() else tensor._version
