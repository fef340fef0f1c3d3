"""The constants of the analytic estimate, measured on this machine: five small kernels, timed like any other.

The estimate ranks what is not measured, and says what is worth measuring. A constant whose kernel was
disturbed, or could not be timed, keeps its default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...dialects import kernel as K
from ...dialects.mlir import context, func, ir
from ...dialects.symbolic import IndexMap, dim_vars, symbols_in_scope
from ...dialects.types import tensor_type
from ...passes.eqsat.cost import Machine
from .device import cache_bytes
from .measurer import Measurer
from .signature import launch_of

_SIDE = 512
_CHAIN = 64
_WORK_SIZE = 1 << 14
_PANEL = 32

Build = Callable[[list[ir.Value]], ir.Value]


@dataclass(frozen=True)
class _Probe:
    """A kernel over f32 operands of these shapes, and the amount of what it does."""

    shapes: tuple[tuple[int, ...], ...]
    build: Build
    amount: float


def _elementwise(size: int, body: Callable[[ir.Value], ir.Value], amount: float) -> _Probe:
    def build(values: list[ir.Value]) -> ir.Value:
        whole = IndexMap.identity([size])
        return K.region(values, [size], "f32", lambda t, i: body(K.load(t[0], i, whole)))

    return _Probe(((size,),), build, amount)


def _double(x: ir.Value) -> ir.Value:
    return K.scalar("add", x, x)


def _chain(x: ir.Value) -> ir.Value:
    value = x
    for _ in range(_CHAIN // 2):
        value = K.scalar("add", K.scalar("mul", value, x), x)
    return value


def _matmul(values: list[ir.Value]) -> ir.Value:
    extents = [_SIDE] * 3
    m, n, k = dim_vars(extents)
    lhs, out = IndexMap.of(extents, [m, k]), IndexMap.of(extents, [m, n])
    sizes = (0, 1, 1, 1)
    return K.contract(
        values[0], values[1], [], extents, sizes, lhs, None, out, "f32", lambda t, i, acc: acc, _PANEL
    )


def _probes() -> dict[str, _Probe]:
    """By constant of Machine; amounts are launches, bytes, operations or multiply-adds."""
    streamed = cache_bytes() // 2  # elements of four bytes, read and written: four times the cache
    return {
        "launch": _elementwise(1, _double, 1),
        "memory": _elementwise(streamed, _double, 8 * streamed),
        "cache": _elementwise(1 << 17, _double, 8 << 17),
        "work": _elementwise(_WORK_SIZE, _chain, _CHAIN * _WORK_SIZE),
        "matmul": _Probe(((_SIDE, _SIDE), (_SIDE // _PANEL, _SIDE, _PANEL)), _matmul, _SIDE * _SIDE * _SIDE),
    }


def measured_machine(measurer: Measurer) -> Machine:
    """The machine as the estimate sees it, from the database or by measuring it now."""
    probes = _probes()
    # The caller works on a function, whose symbols are none of the probes'.
    with context(), ir.Location.unknown(), symbols_in_scope(()):
        module = ir.Module.create()
        operations = {name: _built(module, probe) for name, probe in probes.items()}
        measurer.measure(list(operations.values()), ())
        seconds = {name: _undisturbed(measurer, op) for name, op in operations.items()}
    return machine_of({name: t for name, t in seconds.items() if t is not None})


def machine_of(seconds: Mapping[str, float]) -> Machine:
    """The constants that follow from seconds of the kernels named after them; others keep their defaults."""
    launch = seconds.get("launch", Machine.launch)
    rates = {
        # However quick a kernel was, not all of it is the launch.
        name: probe.amount / max(seconds[name] - launch, 0.1 * seconds[name])
        for name, probe in _probes().items()
        if name != "launch" and name in seconds
    }
    return Machine(launch=launch, cache_bytes=0.5 * cache_bytes(), **rates)


def _built(module: ir.Module, probe: _Probe) -> ir.Operation:
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("probe", ([tensor_type(shape, "f32") for shape in probe.shapes], []))
    with ir.InsertionPoint(function.add_entry_block()):
        return probe.build(list(function.arguments)).owner.operation


def _undisturbed(measurer: Measurer, op: ir.Operation) -> float | None:
    entry = measurer.database.entry(launch_of(op, (), measurer.threads).key)
    return None if entry is None or entry.get("disturbed") or entry.get("rough") else float(entry["seconds"])
