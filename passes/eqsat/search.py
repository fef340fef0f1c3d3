"""The search over a module: saturate each function once, then extract programs until one fits.

Memory is what the memory plan of the candidate says, not an estimate: each candidate is written into the
module, planned, and taken back if it needs more than `max_memory` allows. A stored byte then costs more, and
the search runs again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...dialects.mlir import ir
from ...dialects.symbol_list import SymbolInfo, rule_of, symbols_of
from ...dialects.symbolic import Atom, symbols_in_scope
from ...errors import PassError
from ..plan_memory import apply_rules, planned_bytes
from ..schedule import Symbol, read_schedule
from ..split_reductions import split_reductions
from .analysis import Analysis, analyse
from .encode import Encoded, Encoder
from .extract import Extractor
from .index_table import IndexTable
from .provenance import described
from .rebuild import Rebuilder
from .refine import KernelTimer, Refiner
from .sample import Sampler, random_work
from .saturate import Saturation, Statistics
from .state import Choice

if TYPE_CHECKING:
    from ..luminal_eqsat import LuminalEqsatOptions

FIRST_WEIGHT, LAST_WEIGHT, GROWTH = 1e-13, 1e-3, 8.0
"""Seconds that a stored byte costs: the first tried where memory is short, the last, and the steps."""

_OLD = "luminal.replaced"


@dataclass
class Report:
    """What a search did, as statistics."""

    saturation: Statistics = field(default_factory=Statistics)
    extraction_seconds: float = 0.0
    estimate: float = 0.0
    kernels: int = 0
    alternatives: list[dict[str, Any]] = field(default_factory=list)
    planned_bytes: int | None = None

    def as_statistics(self) -> dict[str, object]:
        """By names for a reader."""
        return {
            "saturation seconds": self.saturation.seconds,
            "extraction seconds": self.extraction_seconds,
            "rounds": self.saturation.rounds,
            "e-nodes": self.saturation.nodes,
            "kernels": self.kernels,
            "estimated seconds": self.estimate,
            "seconds per ruleset": self.saturation.ruleset_seconds,
            "matches per rule": self.saturation.rule_matches,
            "alternatives": self.alternatives,
        } | ({} if self.planned_bytes is None else {"planned bytes": self.planned_bytes})


class FunctionSearch:
    """One function: its saturated e-graph, and the kernels that are written for it."""

    def __init__(
        self, func: ir.Operation, options: LuminalEqsatOptions, timer: KernelTimer | None, report: Report
    ) -> None:
        self.func, self.options, self.timer = func, options, timer
        self.name = ir.StringAttr(func.attributes["sym_name"]).value
        self.symbols = symbols_of(func)
        self.times: dict[str, float] = {}
        self._written: list[ir.Operation] = []
        with self._scope():
            self.table = IndexTable(
                options.panel_width, representative_sizes(self.symbols, options.sizes), options.library
            )
            self.encoded: Encoded = Encoder(self.table).encode(func)
            saturation = Saturation(self.table, options.disable, options.fast_math)
            self.graph = saturation.saturate(self.encoded)
            self.roots = list(dict.fromkeys(self.graph.values[number] for number in self.encoded.roots))
        report.saturation.merge(saturation.statistics)
        self._matches = saturation.statistics.rule_matches
        self._fired = sorted(rule for rule, count in saturation.statistics.rule_matches.items() if count)
        self._block = func.regions[0].blocks[0]
        self._old = [operation.operation for operation in self._block.operations]
        self._returned = list(self._old[-1].operands)

    def _scope(self) -> Any:
        return symbols_in_scope([s.sym for s in self.symbols])

    def _analysis(self, extra: Callable[[], float] = float) -> Analysis:
        return analyse(self.graph, self.table, representative_sizes(self.symbols, self.options.sizes), extra)

    def choose(self, weight: float) -> tuple[Choice, list[dict[str, Any]]]:
        """The best kernels where a stored byte costs `weight` seconds, and what else was measured."""
        options = self.options
        with self._scope(), self.func.location:
            if options.sample >= 0:
                generator = random.Random(options.sample)
                analysis = self._analysis(lambda: random_work(generator))
                return Sampler(analysis, self.roots).draw(generator), []
            if self.timer is None:
                extractor = Extractor(self._analysis(), self.roots, stored_weight=weight)
                choice = extractor.extract(options.sweeps, options.restarts, options.seed)
                return choice, self._described(extractor)
            attributes = self.func.attributes
            refiner = Refiner(
                self._analysis(),
                self.roots,
                stored_weight=weight,
                machine=self.timer.machine,
                timer=self.timer,
                symbols=attributes["luminal.symbols"] if "luminal.symbols" in attributes else None,
                candidates=options.candidates,
                times=self.times,
            )
            refiner.extract(options.sweeps, options.restarts, options.seed)
            choice = refiner.refine()
            return choice, self._described(refiner)

    def _described(self, extractor: Extractor) -> list[dict[str, Any]]:
        rows = []
        for row, kernel in zip(extractor.describe(), extractor.kernels().values(), strict=True):
            origin = described(kernel, self.graph, self.encoded, self._matches)
            rows.append({"function": self.name, "class": kernel.tensor, **row, **origin})
        return rows

    def write(self, choice: Choice) -> None:
        """Put the kernels before the terminator and let it return their results; the old body stays."""
        with self._scope(), self.func.location:
            rebuilder = Rebuilder(self.graph, self.encoded, choice, self._block)
            rebuilder.run(self._old[-1])
        self.order = {cls: position for position, cls in enumerate(rebuilder.made)}
        old = set(self._old)
        self._written = [o.operation for o in self._block.operations if o.operation not in old]

    def take_back(self) -> None:
        """Remove what `write` put there."""
        for i, value in enumerate(self._returned):
            self._old[-1].operands[i] = value
        for operation in reversed(self._written):
            operation.erase()
        self._written = []

    def mark(self) -> None:
        """Mark the old body, for `candidate_bytes`."""
        for operation in self._old[:-1]:
            operation.attributes[_OLD] = ir.UnitAttr.get(self.func.context)

    def commit(self) -> None:
        """Erase the old body."""
        if self.options.record_rules:
            names = [ir.StringAttr.get(rule, self.func.context) for rule in self._fired]
            self.func.attributes["luminal.rules"] = ir.ArrayAttr.get(names, self.func.context)
        for operation in reversed(self._old[:-1]):
            operation.erase()


def search_module(
    module: ir.Operation, options: LuminalEqsatOptions, timer: KernelTimer | None = None
) -> dict[str, object]:
    """Rewrite `module` in place; returns statistics. Raises PassError where no program fits `max_memory`."""
    report = Report()
    functions = [
        FunctionSearch(func, options, timer, report)
        for func in (o.operation for o in module.regions[0].blocks[0].operations)
        if func.name == "func.func" and func.regions[0].blocks and _has_primitives(func)
    ]
    start = time.perf_counter()
    choices = _fitting(module, functions, options.max_memory, report)
    for function, choice in zip(functions, choices, strict=True):
        function.commit()
        report.estimate += choice.seconds
        report.kernels += len(choice.order)
    report.extraction_seconds = time.perf_counter() - start
    return report.as_statistics()


def _fitting(
    module: ir.Operation, functions: list[FunctionSearch], limit: int, report: Report
) -> list[Choice]:
    """Write the fastest programs that fit; a limit of 0 is none."""
    least: int | None = None
    weight = 0.0
    while True:
        found = [function.choose(weight) for function in functions]
        for function, (choice, _) in zip(functions, found, strict=True):
            function.write(choice)
        if limit:
            report.planned_bytes = _candidate_bytes(module, functions, largest=True)
        if not limit or report.planned_bytes is None or report.planned_bytes <= limit:
            break
        smallest = _candidate_bytes(module, functions, largest=False)
        least = smallest if least is None else min(least, smallest)
        if weight >= LAST_WEIGHT:
            if least > limit:
                raise PassError(
                    f"max_memory is {limit} bytes, but the least that this program was found to need besides "
                    f"inputs and results is {least} bytes (at its smallest sizes): raise max_memory, or make "
                    "the program smaller"
                )
            break  # smaller sizes fit; a call with larger ones is refused when it is made
        for function in functions:
            function.take_back()
        weight = max(weight * GROWTH, FIRST_WEIGHT)
    for function, (_, rows) in zip(functions, found, strict=True):
        # In the order of the kernels in the function's body.
        report.alternatives += sorted(rows, key=lambda row: function.order[row.pop("class")])
    return [choice for choice, _ in found]


def _candidate_bytes(module: ir.Operation, functions: list[FunctionSearch], largest: bool) -> int:
    """Bytes besides inputs and results of the program as it is written now, at its largest sizes (at
    representative ones where there is no largest) or at its smallest.
    """
    for function in functions:
        function.mark()
    candidate = module.clone()
    for func in [o.operation for o in candidate.regions[0].blocks[0].operations]:
        if func.name == "func.func" and func.regions[0].blocks:
            operations = [o.operation for o in func.regions[0].blocks[0].operations]
            for operation in reversed(operations):
                if _OLD in operation.attributes:
                    operation.erase()
    split_reductions(candidate)  # adds kernels, and memory between them
    schedule = read_schedule(candidate)
    sizes = [_size(symbol, largest) for symbol in schedule.symbols]
    return planned_bytes(schedule, apply_rules(schedule.symbols, sizes))


def _size(symbol: Symbol, largest: bool) -> int:
    low = symbol.lo or 0
    if not largest:
        return low
    return max(low, REPRESENTATIVE) if symbol.hi is None else symbol.hi


REPRESENTATIVE = 64
"""The size of a symbol at which kernels are compared, moved into the symbol's range."""


def representative_sizes(symbols: list[SymbolInfo], sizes: Sequence[str] = ()) -> dict[Atom, int]:
    """A size for each symbol at which kernels are compared; `sizes` (`s0=512`) says it for some."""
    values: dict[Atom, int] = {}
    given = _read_sizes(symbols, sizes)
    for symbol in symbols:
        rule = rule_of(symbol, symbols)
        most = REPRESENTATIVE if symbol.maximum is None else min(REPRESENTATIVE, symbol.maximum)
        size = given.get(symbol.name, max(symbol.minimum, most))
        values[symbol.sym] = size if rule is None else rule.evaluate(values)
    return values


def _read_sizes(symbols: list[SymbolInfo], sizes: Sequence[str]) -> dict[str, int]:
    """`("s0=512",)` by name. Raises PassError for an unknown symbol, or a size out of its range."""
    known = {symbol.name: symbol for symbol in symbols}
    given: dict[str, int] = {}
    for text in sizes:
        name, _, number = text.partition("=")
        if name not in known or not number.isdecimal():
            raise PassError(f"sizes: expected {', '.join(known) or 'no symbol'} with a size, got '{text}'")
        symbol, given[name] = known[name], int(number)
        if given[name] < symbol.minimum or (symbol.maximum is not None and given[name] > symbol.maximum):
            raise PassError(f"sizes: {text} is not in the range [{symbol.minimum}, {symbol.maximum}]")
    return given


def _has_primitives(func: ir.Operation) -> bool:
    """Whether there is anything to search: a function of kernels already is what it should be."""
    return any(op.operation.name.startswith("luminal.") for op in func.regions[0].blocks[0].operations)
