"""The pass `luminal-eqsat`: L1 primitives to L2 kernels through equality saturation.

"luminal.mul"(%x, %w), "luminal.sum_reduce"(..)   =>   "kernel.contract"(%x, %w) with the cheapest fused
epilogue
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..dialects.mlir import ir
from ..dialects.symbol_list import SymbolInfo, rule_of, symbols_of
from ..dialects.symbolic import Atom, symbols_in_scope

if TYPE_CHECKING:
    from .eqsat.refine import KernelTimer


@dataclass(frozen=True)
class LuminalEqsatOptions:
    """Options of luminal-eqsat.

    disable: rule families (scatters, regions, views, indices, algebra, recognition, contractions) or single
        rules to switch off
    panel_width: columns of a packed weight panel; 0 turns packing off
    sweeps: passes of the extraction's local search
    restarts: times that the local search starts again from random changes, drawn with `seed`
    candidates: most moves that a round of measuring tries, where kernels are measured
    sample: seed of a random program of the e-graph to extract, for testing; negative: the best
    """

    disable: tuple[str, ...] = ()
    panel_width: int = 32
    sweeps: int = 4
    restarts: int = 0
    seed: int = 0
    candidates: int = 256
    sample: int = -1


def luminal_eqsat(
    op: ir.Operation, options: LuminalEqsatOptions | None = None, timer: KernelTimer | None = None
) -> Mapping[str, object]:
    """Replace every function's luminal ops by the kernels that saturation and extraction choose."""
    return saturate_module(op, options or LuminalEqsatOptions(), timer=timer)


def saturate_module(
    module: ir.Operation,
    options: LuminalEqsatOptions,
    progress: Callable[[str], None] | None = None,
    timer: KernelTimer | None = None,
) -> dict[str, object]:
    """Rewrite `module` in place, function by function; returns statistics (seconds and matches per ruleset,
    e-nodes, estimated time, what was measured). Without a `timer` the estimate alone decides.
    """
    from .eqsat.saturate import Statistics

    # Bodies and programs are walked recursively; a long chain of ops is a deep one.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 100_000))
    total = Statistics()
    extraction = estimate = 0.0
    kernels = 0
    alternatives: list[dict[str, object]] = []
    for func in [o.operation for o in module.regions[0].blocks[0].operations]:
        if func.name != "func.func" or not func.regions[0].blocks or not _has_primitives(func):
            continue
        if progress is not None:
            progress(ir.StringAttr(func.attributes["sym_name"]).value)
        with symbols_in_scope([s.sym for s in symbols_of(func)]):
            statistics, seconds, choice, measured = _function(func, options, timer)
        total.merge(statistics)
        extraction += seconds
        estimate += choice.seconds
        kernels += len(choice.order)
        name = ir.StringAttr(func.attributes["sym_name"]).value
        alternatives += [{"function": name, **found} for found in measured]
    return {
        "saturation seconds": total.seconds,
        "extraction seconds": extraction,
        "rounds": total.rounds,
        "e-nodes": total.nodes,
        "kernels": kernels,
        "estimated seconds": estimate,
        "seconds per ruleset": total.ruleset_seconds,
        "matches per rule": total.rule_matches,
        "alternatives": alternatives,
    }


def _function(func: ir.Operation, options: LuminalEqsatOptions, timer: KernelTimer | None):
    from .eqsat.analysis import analyse
    from .eqsat.encode import Encoder
    from .eqsat.extract import Extractor
    from .eqsat.index_table import IndexTable
    from .eqsat.refine import Refiner
    from .eqsat.sample import Sampler, random_work
    from .eqsat.saturate import Saturation

    table = IndexTable(options.panel_width)
    encoded = Encoder(table).encode(func)
    saturation = Saturation(table, options.disable)
    graph = saturation.saturate(encoded)
    start = time.perf_counter()
    sizes = representative_sizes(symbols_of(func))
    roots = list(dict.fromkeys(graph.values[number] for number in encoded.roots))
    measured: list[dict[str, object]] = []
    if options.sample < 0 and timer is not None:
        refiner = Refiner(
            analyse(graph, table, sizes),
            roots,
            timer=timer,
            symbols=func.attributes["luminal.symbols"] if "luminal.symbols" in func.attributes else None,
            candidates=options.candidates,
        )
        refiner.extract(options.sweeps, options.restarts, options.seed)
        with func.location:
            choice = refiner.refine()
            measured = refiner.describe()
    elif options.sample < 0:
        choice = Extractor(analyse(graph, table, sizes), roots).extract(
            options.sweeps, options.restarts, options.seed
        )
    else:
        generator = random.Random(options.sample)
        analysis = analyse(graph, table, sizes, lambda: random_work(generator))
        choice = Sampler(analysis, roots).draw(generator)
    _replace(func, graph, encoded, choice)
    return saturation.statistics, time.perf_counter() - start, choice, measured


def _has_primitives(func: ir.Operation) -> bool:
    """Whether there is anything to search: a function of kernels already is what it should be."""
    return any(op.operation.name.startswith("luminal.") for op in func.regions[0].blocks[0].operations)


def representative_sizes(symbols: list[SymbolInfo]) -> dict[Atom, int]:
    """A size for each symbol at which kernels are compared: 64, moved into the symbol's range."""
    values: dict[Atom, int] = {}
    for symbol in symbols:
        rule = rule_of(symbol, symbols)
        size = max(symbol.minimum, 64 if symbol.maximum is None else min(64, symbol.maximum))
        values[symbol.sym] = size if rule is None else rule.evaluate(values)
    return values


def _replace(func: ir.Operation, graph, encoded, choice) -> None:
    """Put the kernels before the terminator, let it return their results, then erase the old body."""
    from .eqsat.rebuild import Rebuilder

    block = func.regions[0].blocks[0]
    old = [operation.operation for operation in block.operations]
    with func.location:
        Rebuilder(graph, encoded, choice, block).run(old[-1])
    for operation in reversed(old[:-1]):
        operation.erase()
