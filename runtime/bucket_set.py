"""The programs of a model with dim buckets: one per combination of buckets, chosen per call.

The model is imported once. Each combination gets a copy of the module with narrowed symbols, searched and
compiled on its own; arguments are checked once, against the ranges of the whole model.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from luminal.errors import InputError

from ..dialects.mlir import ir
from ..passes.narrow_symbols import NarrowSymbolsOptions, narrow_symbols
from ..passes.schedule import read_signature
from .buckets import Axis, Bucket
from .call import ArgumentCheck, ProgramRun, version
from .options import CompileOptions, OptionError
from .pipeline import COMPILE_LOCK, build_program
from .program import Program, Runnable
from .progress import Progress
from .static_pool import StaticPool
from .symbols import Input

MOST_COMBINATIONS = 64
"""Programs that the option `buckets` may ask for."""

MOST_NEW = 32
"""Programs made at first use that are kept; then the one used longest ago goes."""

Combination = tuple[Bucket, ...]


@dataclass
class BucketProgram:
    """The program of one combination of buckets.

    `ranges`: least and greatest value by name of the size; `representatives`: the sizes at which kernels
    were compared; `new`: compiled in a call; `calls`: how many calls ran it.
    """

    ranges: dict[str, tuple[int, int]]
    representatives: dict[str, int]
    new: bool
    program: Runnable
    statistics: dict[str, Any]
    run: ProgramRun = field(repr=False)
    calls: int = 0
    last_used: int = 0


class BucketSet:
    """All programs of one imported module. Several threads may ask for programs at once."""

    def __init__(
        self, module: ir.Operation, axes: Sequence[Axis], options: CompileOptions, progress: Progress
    ) -> None:
        self.axes = list(axes)
        self.signature = read_signature(module)
        self._module = module
        self._options, self._progress = options, progress
        self._pool = StaticPool()
        self._programs: dict[Combination, BucketProgram] = {}
        self._lock = threading.Lock()
        self._uses = 0
        wanted = math.prod(len(axis.buckets) for axis in axes)
        if wanted > MOST_COMBINATIONS:
            raise OptionError(
                f"the buckets combine to {wanted} programs, more than {MOST_COMBINATIONS}: give fewer "
                "ranges, or some of them only, with new_buckets=True"
            )
        for combination in itertools.product(*(axis.buckets for axis in axes)):
            self._programs[combination] = self._compile(combination, new=False)

    @property
    def programs(self) -> list[BucketProgram]:
        """The programs there are, those of the option first."""
        with self._lock:
            return list(self._programs.values())

    def choose(self, symbols: Sequence[int]) -> BucketProgram:
        """The program for these sizes; it is compiled now where the option `new_buckets` asks for that.

        Raises InputError for a size in no bucket without that option.
        """
        combination = tuple(self._bucket(axis, symbols[axis.symbol]) for axis in self.axes)
        found = self._use(combination)
        if found is not None:
            return found
        with COMPILE_LOCK:
            found = self._use(combination)
            if found is not None:
                return found
            made = self._compile(combination, new=True)
            with self._lock:
                self._programs[combination] = made
                self._evict()
        found = self._use(combination)
        return made if found is None else found

    def _use(self, combination: Combination) -> BucketProgram | None:
        with self._lock:
            found = self._programs.get(combination)
            if found is not None:
                self._uses += 1
                found.calls += 1
                found.last_used = self._uses
            return found

    def _evict(self) -> None:
        """Forgets the new program used longest ago where there are too many; a call in it goes on."""
        made = [key for key, entry in self._programs.items() if entry.new]
        if len(made) > MOST_NEW:
            oldest = min(made[:-1], key=lambda key: self._programs[key].last_used)
            del self._programs[oldest]

    def _bucket(self, axis: Axis, size: int) -> Bucket:
        bucket = axis.find(size)
        if bucket is not None:
            return bucket
        if self._options.new_buckets:
            return axis.gap(size)
        ranges = ", ".join(map(str, axis.buckets))
        raise InputError(
            f"{self._where(axis)} is {size}, which is in no bucket of '{axis.name}' ({ranges}); "
            "add a bucket that holds it to the option buckets, or set new_buckets=True"
        )

    def _where(self, axis: Axis) -> str:
        for argument in self.signature.arguments:
            for position, dim in enumerate(argument.type.shape):
                if getattr(dim, "index", None) == axis.symbol and str(dim) == f"s{axis.symbol}":
                    return f"input '{argument.name}' along dimension {position}"
        return f"the size '{axis.name}'"

    def _compile(self, combination: Combination, new: bool) -> BucketProgram:
        pairs = list(zip(self.axes, combination, strict=True))
        label = " ".join(f"{a.name}={b}" for a, b in pairs)
        with self._progress.stage(f"{'new bucket' if new else 'bucket'} {label}"):
            module = self._module.clone()
            ranges = tuple(f"s{a.symbol}={b.low}:{b.high}" for a, b in pairs)
            narrow_symbols(module, NarrowSymbolsOptions(ranges))
            sizes = tuple(f"s{a.symbol}={b.representative}" for a, b in pairs)
            compilation = build_program(module, self._options, self._progress, sizes, self._pool)
        program = compilation.program
        assert program is not None
        return BucketProgram(
            {a.name: (b.low, b.high) for a, b in pairs},
            {a.name: b.representative for a, b in pairs},
            new,
            program,
            compilation.statistics,
            ProgramRun(program),
        )

    def planned_memory(self) -> tuple[int, int]:
        """Bytes of the arenas of all programs, and of packed weights, shared ones counted once."""
        programs = [entry.program for entry in self.programs]
        blocks: dict[Any, int] = {}
        for program in programs:
            if isinstance(program, Program):
                blocks |= program.static_recipes()
        return sum(program.planned_memory()[0] for program in programs), sum(blocks.values())


class BucketedCall:
    """The programs of a BucketSet as one function from tensors to tensors; see ProgramCall."""

    def __init__(self, buckets: BucketSet, scalars: Sequence[Input] = (), state: Sequence[int] = ()) -> None:
        self._check = ArgumentCheck(buckets.signature, scalars, state)
        self._buckets = buckets
        self.arguments = buckets.signature.arguments
        self._weights = [k for k, argument in enumerate(self.arguments) if argument.kind == "weight"]
        self._seen: list[tuple[torch.Tensor, int, int]] = []
        self._generation = 0
        self._lock = threading.Lock()

    def weights_changed(self) -> None:
        """Makes the next call of every program compute anew what depends on weights only."""
        with self._lock:
            self._generation += 1

    def planned_memory(self) -> tuple[int, int]:
        """Bytes for temporary values, all programs together, and bytes of packed weights."""
        return self._buckets.planned_memory()

    def __call__(
        self, tensors: Sequence[torch.Tensor], scalars: Sequence[int] = ()
    ) -> tuple[list[torch.Tensor], tuple[int, ...]]:
        """Runs the program for the sizes of this call. Raises InputError before anything is written."""
        given, symbols = self._check(tensors, scalars)
        entry = self._buckets.choose(symbols)
        return entry.run(tensors, given, symbols, self._present(tensors)), symbols

    def _present(self, tensors: Sequence[torch.Tensor]) -> int:
        """The generation of the weights. A program that was not called for a while may hold panels of tensors
        that are gone and whose addresses are in use again: any change starts a new generation.
        """
        seen = self._seen
        now = [tensors[k] for k in self._weights]
        if len(seen) == len(now) and all(
            tensor is known and tensor.data_ptr() == address and version(tensor) == count
            for tensor, (known, address, count) in zip(now, seen, strict=True)
        ):
            return self._generation
        with self._lock:
            self._generation += bool(seen)
            self._seen = [(tensor, tensor.data_ptr(), version(tensor)) for tensor in now]
            return self._generation
