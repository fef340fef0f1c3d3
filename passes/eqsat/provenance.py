"""Where a kernel comes from: the primitive ops that it computes, and the rules that led from them to it.

Provenance is read off the nodes that the kernel was evaluated from: a node whose constructor only rules make
(`Div`, `Exp`, `Contract`, `Stream`) names the rules that made it, and these the rules that made what they
look for, as far as they matched in this program; where several rules make such a node, all of them are
named. `inline-producer` stands for every fusion.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

from ...dialects.mlir import ir
from .egraph import FrozenGraph
from .encode import Encoded
from .kernels import Kernel
from .terms import prelude, split_commands

FUSION = "inline-producer"


@dataclass(frozen=True)
class Makers:
    """What rules produce and need. `nodes`: the rules that make nodes of each constructor; none for
    constructors that primitives are lifted to. `facts`: the rules that state each relation. `needs`: the
    constructors and relations that a rule's pattern looks for.
    """

    nodes: dict[str, set[str]]
    facts: dict[str, set[str]]
    needs: dict[str, set[str]]


@cache
def makers() -> Makers:
    """Read off the text of the rules."""
    found = Makers({}, {}, {})
    lifted: set[str] = set()
    for command in prelude():
        if not command.startswith("(rule "):
            continue
        name = command.rpartition(':name "')[2].partition('"')[0]
        pattern, actions, *_ = split_commands(command[len("(rule ") : command.rindex(":ruleset")])
        if ":ruleset lift " in command:
            lifted |= set(re.findall(r"\(Region \w+ \((\w+)", actions))
            continue
        found.needs[name] = set(re.findall(r"\(([\w-]+)", pattern))
        for made in re.findall(r"\(union \w+ \((\w+)", actions):
            found.nodes.setdefault(made, set()).add(name)
        for stated in re.findall(r"^\(\(([a-z][\w-]+)", actions):
            if stated != "union":
                found.facts.setdefault(stated, set()).add(name)
    for constructor in lifted:
        found.nodes.pop(constructor, None)
    return found


def rules_of(kernel: Kernel, matched: Collection[str]) -> list[str]:
    """The rules behind the nodes of a kernel, as far as they matched: those that made the nodes, those that
    made what they were made from, and so on.
    """
    evaluator, rules = kernel.evaluator, makers()
    nodes = [evaluator.node_of(cls) for cls in evaluator.visited()]
    waiting = [node.op for node in nodes if node is not None]
    seen: set[str] = set()
    names: set[str] = set()
    while waiting:
        head = waiting.pop()
        if head in seen:
            continue
        seen.add(head)
        made = rules.nodes.get(head, set()) & set(matched)
        names |= made
        for name in made | (rules.facts.get(head, set()) & set(matched)):
            waiting += rules.needs[name]
    if len(covered(kernel)) > 1 and FUSION in matched:
        names.add(FUSION)
    return sorted(names)


def covered(kernel: Kernel) -> set[int]:
    """The tensor classes that the kernel computes: its own, and those evaluated where they are read."""
    graph = kernel.evaluator.graph
    read = set(kernel.needs)
    inlined = {t for cls in kernel.evaluator.visited() for t in graph.loads.get(cls, ()) if t not in read}
    return {kernel.tensor} | inlined


def sources_of(kernel: Kernel, graph: FrozenGraph, encoded: Encoded) -> tuple[dict[str, int], list[str]]:
    """How many primitive ops of each name a kernel covers, and where they come from in the source."""
    classes = covered(kernel)
    names: Counter[str] = Counter()
    places: dict[str, None] = {}
    for number, value in enumerate(encoded.values):
        if graph.values[number] in classes and not isinstance(value, ir.BlockArgument):
            operation = value.owner
            if operation.name.startswith("luminal."):
                names[operation.name.removeprefix("luminal.")] += 1
                places[place_text(operation.location)] = None
    return dict(sorted(names.items())), list(places)


def place_text(location: ir.Location) -> str:
    """A location without MLIR's `loc(...)` around it."""
    return str(location).removeprefix("loc(").removesuffix(")")


def described(
    kernel: Kernel, graph: FrozenGraph, encoded: Encoded, matches: Mapping[str, int]
) -> dict[str, object]:
    """The provenance of a kernel, for a reader."""
    ops, places = sources_of(kernel, graph, encoded)
    matched = {name for name, count in matches.items() if count}
    return {"ops": ops, "places": places, "rules": rules_of(kernel, matched)}
