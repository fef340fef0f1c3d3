"""A static L1 program with inputs, and the parts of it that shrinking tries."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from luminal.errors import InputError

from ...dialects.mlir import context, func, ir
from ...dialects.symbol_list import symbols_of
from ...passes.luminal_eqsat import LuminalEqsatOptions, luminal_eqsat
from ...passes.pipeline import run_pipeline
from ...passes.torch_to_luminal.frontend import import_exported_program
from ...runtime.interpreter import run_l1, run_l2


@dataclass(frozen=True)
class Program:
    """`text`: a module with one function, @main, without symbols. `arrays`: its arguments, bf16 as bits."""

    text: str
    arrays: tuple[np.ndarray, ...]

    @cached_property
    def reference(self) -> list[np.ndarray]:
        """What the primitives compute, by the reference interpreter."""
        with context():
            return run_l1(ir.Module.parse(self.text), self.arrays)

    @cached_property
    def interpreted(self) -> list[np.ndarray]:
        """What the program computes if it is one of kernels, by the reference interpreter."""
        with context():
            return run_l2(ir.Module.parse(self.text), self.arrays)

    @cached_property
    def size(self) -> int:
        """Number of ops that compute something."""
        with context():
            return len(_operations(ir.Module.parse(self.text)))

    def sample(self, seed: int, disable: tuple[str, ...] = ()) -> Sample:
        """Draw a program from the e-graph and run it; `disable` names rules to leave out."""
        with context():
            module = ir.Module.parse(self.text)
            statistics = luminal_eqsat(
                module.operation, LuminalEqsatOptions(sample=seed, disable=disable, panel_width=8)
            )
            results = run_l2(module, self.arrays)
            matches = statistics["matches per rule"]
            assert isinstance(matches, dict)
            return Sample(results, str(module), tuple(rule for rule, count in matches.items() if count))

    def part(self, kept: Collection[int]) -> Program:
        """The program of the ops numbered `kept`: what they need from elsewhere becomes an argument, with the
        value it has here; what nothing of the part uses becomes a result.
        """
        with context(), ir.Location.unknown():
            module = ir.Module.parse(self.text)
            operations = [op for k, op in enumerate(_operations(module)) if k in kept]
            inner = {result for op in operations for result in op.results}
            needed = list(dict.fromkeys(v for op in operations for v in op.operands if v not in inner))
            used = {value for op in operations for value in op.operands}
            results = [result for op in operations for result in op.results if result not in used]
            arrays = tuple(self.values[self._number(module, value)] for value in needed)
            return Program(_write(operations, needed, results, _weights(module)), arrays)

    @cached_property
    def values(self) -> list[np.ndarray]:
        """The arguments, then the result of every op, in program order."""
        with context(), ir.Location.unknown():
            module = ir.Module.parse(self.text)
            operations = _operations(module)
            arguments = list(_block(module).arguments)
            results = [result for op in operations for result in op.results]
            everything = Program(_write(operations, arguments, results, _weights(module)), self.arrays)
        return [*self.arrays, *everything.reference]

    def _number(self, module: ir.Module, value: ir.Value) -> int:
        arguments = list(_block(module).arguments)
        results = [result for op in _operations(module) for result in op.results]
        return [*arguments, *results].index(value)


@dataclass(frozen=True)
class Sample:
    """One program drawn: what it computes, its kernels as text, and the rules that fired in its e-graph."""

    results: list[np.ndarray]
    text: str
    rules: tuple[str, ...]


def kernel_programs(program: Program) -> Iterator[Program]:
    """Each kernel of a program of kernels alone, on the arguments it has there."""
    with context(), ir.Location.unknown():
        module = ir.Module.parse(program.text)
        operations = _operations(module)
        arguments = list(_block(module).arguments)
        results = [result for op in operations for result in op.results]
        everything = Program(_write(operations, arguments, results, set()), program.arrays)
        values = dict(zip([*arguments, *results], [*program.arrays, *everything.interpreted], strict=True))
        for op in operations:
            needed = list(dict.fromkeys(op.operands))
            yield Program(_write([op], needed, list(op.results), set()), tuple(values[v] for v in needed))


def from_torch(
    module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], canonicalize: bool = True
) -> Program:
    """Export and import a module, with canonicalize-views or without.

    InputError if it has dynamic dims or inputs that are not tensors.
    """
    with torch.no_grad():
        imported = import_exported_program(torch.export.export(module, inputs, strict=False))
    flat = torch.utils._pytree.tree_leaves(inputs)
    arrays = []
    for argument in imported.arguments:
        tensor = argument.tensor if argument.tensor is not None else flat[argument.position or 0]
        array = tensor.detach().contiguous()
        arrays.append((array.view(torch.uint16) if array.dtype == torch.bfloat16 else array).numpy())
    with imported.module.context, ir.Location.unknown():
        if symbols_of(_main(imported.module)):
            raise InputError("luminal-fuzz: the program has dynamic sizes; give inputs of fixed sizes")
        if canonicalize:
            run_pipeline(imported.module.operation, "canonicalize-views")
        return Program(str(imported.module), tuple(arrays))


def _main(module: ir.Module) -> func.FuncOp:
    functions = [op for op in module.body.operations if isinstance(op, func.FuncOp)]
    return next(op for op in functions if op.name.value == "main")


def _block(module: ir.Module) -> ir.Block:
    return _main(module).regions[0].blocks[0]


def _operations(module: ir.Module) -> list[ir.Operation]:
    return [op.operation for op in list(_block(module).operations)[:-1]]


def _weights(module: ir.Module) -> set[ir.Value]:
    kinds = [str(kind) for kind in _main(module).arg_attrs]
    return {a for a, kind in zip(_block(module).arguments, kinds, strict=True) if "weight" in kind}


def _write(
    operations: Sequence[ir.Operation],
    arguments: Sequence[ir.Value],
    results: Sequence[ir.Value],
    weights: set[ir.Value],
) -> str:
    module = ir.Module.create()
    types = [value.type for value in arguments], [value.type for value in results]
    with ir.InsertionPoint(module.body):
        main = func.FuncOp("main", ir.FunctionType.get(*types))
    kinds = ["weight" if value in weights else "input" for value in arguments]
    main.arg_attrs = ir.ArrayAttr.get(
        [ir.DictAttr.get({"luminal.kind": ir.StringAttr.get(kind)}) for kind in kinds]
    )
    block = main.add_entry_block()
    made = dict(zip(arguments, block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for op in operations:
            copy = op.clone(ip=ir.InsertionPoint(block))
            for position, operand in enumerate(list(op.operands)):
                copy.operands[position] = made[operand]
            made.update(zip(op.results, copy.operation.results, strict=True))
        func.ReturnOp([made[result] for result in results])
    return str(module)
