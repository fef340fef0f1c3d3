"""Runs equality saturation on one encoded function: rules, the index oracle between rounds, statistics."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

import egglog.bindings as bindings

from ...dialects.types import BYTES
from ...errors import RuleError
from .constants import number_facts
from .egraph import FrozenGraph, TensorType, freeze
from .encode import Encoded
from .index_table import QUESTIONS, IndexTable
from .terms import FAMILIES, prelude, rule_names, rule_text, split_commands

CHUNK = 20
"""Commands per parsed string: every span keeps its whole source text, so long strings cost memory
quadratically.
"""

MAX_ROUNDS = 12


@dataclass
class Statistics:
    """What a saturation did: seconds and matches per ruleset and rule, rounds, e-nodes."""

    seconds: float = 0.0
    rounds: int = 0
    nodes: int = 0
    ruleset_seconds: dict[str, float] = field(default_factory=dict)
    rule_matches: dict[str, int] = field(default_factory=dict)

    def merge(self, other: Statistics) -> None:
        """Add another function's figures."""
        self.seconds += other.seconds
        self.rounds += other.rounds
        self.nodes += other.nodes
        for mine, theirs in (
            (self.ruleset_seconds, other.ruleset_seconds),
            (self.rule_matches, other.rule_matches),
        ):
            for key, value in theirs.items():
                mine[key] = mine.get(key, 0) + value  # type: ignore[assignment]


class Saturation:
    """One e-graph.

    disabled: rule families or single rules to leave out; RuleError for unknown ones.
    fast_math: whether the family of this name takes part.
    """

    def __init__(self, table: IndexTable, disabled: tuple[str, ...] = (), fast_math: bool = False) -> None:
        self.table = table
        self.engine: Any = bindings.EGraph()
        self.engine.set_report_level(bindings.TimeOnly())
        self.statistics = Statistics()
        unknown = sorted(set(disabled) - set(FAMILIES) - set(rule_names()))
        if unknown:
            close = get_close_matches(unknown[0], rule_names())
            raise RuleError(
                f"no rule or rule family is called {unknown[0]!r}; families: {', '.join(FAMILIES)}; "
                "rules carry the names in passes/eqsat/rules"
                + (f" (close: {', '.join(close)})" if close else "")
            )
        off = disabled if fast_math else (*disabled, "fast_math")
        self.run([c for c in prelude() if not _is_disabled(c, off)])
        self.run(list(number_facts()))

    def run(self, commands: list[str]) -> list[Any]:
        """Parse and run commands; native panics become RuleError."""
        outputs: list[Any] = []
        try:
            for i in range(0, len(commands), CHUNK):
                program = self.engine.parse_program("\n".join(commands[i : i + CHUNK]))
                outputs += self.engine.run_program(*program)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            raise RuleError(f"egglog refused a command: {error}") from error
        return outputs

    def saturate(self, encoded: Encoded) -> FrozenGraph:
        """Grow the e-graph until neither the rules nor the index oracle add anything."""
        start = time.perf_counter()
        self.run(encoded.commands)
        schedule = self._schedule()
        for _ in range(MAX_ROUNDS):
            self.run(self.table.take_facts())
            self._record(self.run(schedule))
            self.statistics.rounds += 1
            self.table.answer(self._questions())
            if not self.table.has_facts:
                break
        graph = freeze(self.engine)
        _attach_types(graph, encoded, self.table)
        self.statistics.seconds += time.perf_counter() - start
        self.statistics.nodes = sum(map(len, graph.nodes.values()))
        return graph

    def _schedule(self) -> list[str]:
        return split_commands(rule_text("schedule"))

    def _questions(self) -> list[tuple[str, ...]]:
        functions = self.engine.freeze().functions
        text = self.engine.value_to_string
        return [(name, *map(text, row.inputs)) for name in QUESTIONS for row in functions[name].rows]

    def _record(self, outputs: list[Any]) -> None:
        for output in outputs:
            report = getattr(output, "report", None)
            if report is None:
                continue
            for rule, matches in report.num_matches_per_rule.items():
                self.statistics.rule_matches[rule] = self.statistics.rule_matches.get(rule, 0) + matches
            for times in (
                report.search_and_apply_time_per_ruleset,
                report.merge_time_per_ruleset,
                report.rebuild_time_per_ruleset,
            ):
                for ruleset, time_taken in times.items():
                    seconds = self.statistics.ruleset_seconds.get(ruleset, 0.0)
                    self.statistics.ruleset_seconds[ruleset] = seconds + _seconds(time_taken)


def _seconds(time_taken: timedelta) -> float:
    """egglog 13.2's bindings put a duration's milliseconds where timedelta has microseconds."""
    return time_taken.days * 86400 + time_taken.seconds + time_taken.microseconds * 1e-3


def _is_disabled(command: str, names: tuple[str, ...]) -> bool:
    if not command.startswith("(rule "):
        return False
    return any(f":ruleset {name} " in command or f':name "{name}")' in command for name in names)


def _attach_types(graph: FrozenGraph, encoded: Encoded, table: IndexTable) -> None:
    """Shapes of tensor classes; two different shapes in one class mean that a rule is wrong."""
    for number, kind in enumerate(encoded.types):
        _set_type(graph, graph.values[number], kind)
    for cls, nodes in list(graph.nodes.items()):
        for node in nodes:
            if node.op == "Panel":
                key, width, _ = node.args
                contraction = table.get_contraction(key)
                user = next(
                    n
                    for ns in graph.nodes.values()
                    for n in ns
                    if n.op == "ContractPacked" and n.args[2] == cls
                )
                dtype = graph.types[user.args[1]].dtype
                _set_type(graph, cls, TensorType(contraction.panel_dims(width), dtype))
    assert all(kind.dtype in BYTES for kind in graph.types.values())


def _set_type(graph: FrozenGraph, cls: int, kind: TensorType) -> None:
    if graph.types.setdefault(cls, kind) != kind:
        raise RuleError(f"a rule made tensors of different types equal: {graph.types[cls]} and {kind}")
