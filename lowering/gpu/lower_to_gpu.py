"""The pass `lower-to-gpu`: kernels become functions of one `gpu.module`, the rest its launches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from luminal.errors import LoweringError

from ...dialects.mlir import ir, passmanager
from ...dialects.symbolic import symbols_in_scope
from ...dialects.types import symbols_of, tensor_type
from ...passes.schedule import Schedule, read_schedule
from .contract import THREADS as CONTRACT_THREADS
from .contract import lower_contract
from .function import KernelFunction
from .launches import GpuProgram, Grid, Launch, read_program, write_program
from .options import SimtOptions
from .region import lower_region
from .scatter import lower_copy, lower_scatter

Lower = Callable[[ir.Operation, KernelFunction, SimtOptions], Grid]


@dataclass(frozen=True)
class _Stage:
    """One kernel of an op: on the base and the result only, or on all operands and the result."""

    suffix: str
    lower: Lower
    base_only: bool = False
    threads: int | None = None


_STAGES: dict[str, tuple[_Stage, ...]] = {
    "kernel.region": (_Stage("region", lower_region),),
    "kernel.contract": (_Stage("contract", lower_contract, threads=CONTRACT_THREADS),),
    "kernel.scatter": (_Stage("copy", lower_copy, base_only=True), _Stage("scatter", lower_scatter)),
}


def lower_to_gpu(module: ir.Module, options: SimtOptions | None = None) -> GpuProgram:
    """Lower a module of kernels in place and return its program (`read_program` gives it again from the IR).

    Raises LoweringError naming op and location where a kernel has no lowering.
    """
    lower_to_gpu_pass(module.operation, options or SimtOptions())
    return read_program(module)


def lower_to_gpu_pass(module: ir.Operation, options: SimtOptions) -> None:
    """Lower kernel ops to SIMT kernels in the gpu dialect, with their launches as attributes.

    Before: `func.func @main` with `kernel.region`, `kernel.contract`, `kernel.scatter` and calls of layers.
    After: one `gpu.module` with a `gpu.func` per distinct kernel and `luminal.launches`.
    """
    with module.context, ir.Location.unknown(module.context):
        _ModuleLowering(module, options).lower()
        passmanager.PassManager.parse("builtin.module(canonicalize,cse)").run(module)


class _ModuleLowering:
    def __init__(self, module: ir.Operation, options: SimtOptions) -> None:
        self.module, self.options = module, options
        self.body = module.regions[0].blocks[0]
        self.functions = [view.operation for view in self.body.operations]
        self.schedule: Schedule = read_schedule(module)
        main = next(op for op in self.functions if ir.StringAttr(op.attributes["sym_name"]).value == "main")
        self.symbols = symbols_of(main)
        self.in_place = [_in_place(self.schedule, number) for number in range(len(self.schedule.steps))]
        steps = zip(self.schedule.steps, self.in_place, strict=True)
        self.copying = {step.kernel for step, in_place in steps if not in_place}

    def lower(self) -> None:
        gpu_module = self._gpu_module()
        kernels = gpu_module.regions[0].blocks[0]
        with symbols_in_scope([symbol.sym for symbol in self.symbols]):
            lowered = [
                self._lower_op(number, kernel.op, kernels)
                for number, kernel in enumerate(self.schedule.kernels)
            ]
            self._write_launches(gpu_module, lowered)
        for function in self.functions:
            function.erase()
        self.module.attributes["gpu.container_module"] = ir.UnitAttr.get()

    def _gpu_module(self) -> ir.Operation:
        with ir.InsertionPoint(self.body):
            attributes = {"sym_name": ir.StringAttr.get("kernels")}
            created = ir.Operation.create("gpu.module", attributes=attributes, regions=1)
        created.regions[0].blocks.append()
        return created

    def _lower_op(self, number: int, op: ir.Operation, kernels: ir.Block) -> list[tuple[_Stage, str, Grid]]:
        if op.name not in _STAGES:
            hint = ": run luminal-eqsat{disable=attention}" if op.name == "kernel.attention" else ""
            raise LoweringError(f"'{op.name}' has no lowering for GPUs{hint}, at {op.location}")
        with op.location:
            return [
                self._lower_stage(number, op, stage, kernels)
                for stage in _STAGES[op.name]
                if not stage.base_only or number in self.copying
            ]

    def _lower_stage(
        self, number: int, op: ir.Operation, stage: _Stage, kernels: ir.Block
    ) -> tuple[_Stage, str, Grid]:
        values = [*(list(op.operands)[:1] if stage.base_only else op.operands), op.results[0]]
        name = f"kernel{number}_{stage.suffix}"
        threads = stage.threads or self.options.threads
        symbols = [symbol.sym for symbol in self.symbols]
        kernel = KernelFunction(kernels, name, [value.type for value in values], symbols, threads)
        with kernel.entry:
            grid = stage.lower(op, kernel, self.options)
        kernel.finish()
        return stage, name, grid

    def _write_launches(
        self, gpu_module: ir.Operation, lowered: list[list[tuple[_Stage, str, Grid]]]
    ) -> None:
        schedule = self.schedule
        count = len(schedule.signature.arguments)
        buffer_of = list(range(count)) + [-1] * (len(schedule.values) - count)
        types = [tensor_type(value.shape, value.dtype) for value in schedule.values[:count]]
        launches = []
        for step, in_place in zip(schedule.steps, self.in_place, strict=True):
            if in_place:
                buffer_of[step.result] = buffer_of[step.operands[0]]
            else:
                buffer_of[step.result] = len(types)
                value = schedule.values[step.result]
                types.append(tensor_type(value.shape, value.dtype))
            for stage, name, grid in lowered[step.kernel]:
                if stage.base_only and in_place:
                    continue
                operands = step.operands[:1] if stage.base_only else step.operands
                numbers = tuple(buffer_of[value] for value in (*operands, step.result))
                launches.append(Launch(name, numbers, grid))
        results = [buffer_of[value] for value in schedule.returned]
        write_program(gpu_module, self.symbols, count, types, launches, results)


def _in_place(schedule: Schedule, number: int) -> bool:
    """Whether a step is a scatter that may write into its base's memory.

    It may where the base is an intermediate value that nothing reads afterwards, nor the op's body. A base
    that is an argument of the program is overwritten only where the op says so. LoweringError if it says so
    but the base is read.
    """
    step = schedule.steps[number]
    op = schedule.kernels[step.kernel].op
    if op.name != "kernel.scatter":
        return False
    base = step.operands[0]
    read_again = (
        base in schedule.returned
        or base in step.operands[1:]
        or any(base in later.operands for later in schedule.steps[number + 1 :])
        or any(True for _ in op.regions[0].blocks[0].arguments[0].uses)
    )
    asked = "in_place" in op.attributes
    if asked and read_again:
        raise LoweringError(f"'kernel.scatter' is in place, but its base is read again, at {op.location}")
    return not read_again and (asked or base >= len(schedule.signature.arguments))
