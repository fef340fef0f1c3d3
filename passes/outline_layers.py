"""Outline repeated layers: later passes see one copy of a block that a model stacks N times.

Saturation, extraction and code generation cost grows with the size of the program they see, and a deep
model is one block repeated. The search is structural: a *root* is a value at which a block ends; the block
is what that root depends on and the previous root does not. Nothing depends on the order of the ops, only
on the dataflow.

Before::

    func.func @main(%x: T, %w0: W, %w1: W) -> T {
      %a = <block>(%x, %w0)
      %b = <block>(%a, %w1)
      return %b : T
    }

After::

    func.func @main(%x: T, %w0: W, %w1: W) -> T {
      %a = call @layer0(%x, %w0) : (T, W) -> T
      %b = call @layer0(%a, %w1) : (T, W) -> T
      return %b : T
    }
    func.func private @layer0(%x: T, %w: W) -> T { %a = <block>(%x, %w)  return %a : T }
"""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field

from ..dialects.mlir import ir
from .dataflow import Dataflow, Ref

_RADII = (1, 4, 8, 16, 32, 64, 128)
_FULL_EVALUATIONS = 24
# Ops that cost nothing to repeat inside a layer: passing their result as an argument would only hide what
# it is.
_TRANSPARENT = ("luminal.constant", "luminal.iota", "luminal.view")


@dataclass(frozen=True)
class OutlineLayersOptions:
    """Options of `outline-layers`.

    min_ops: smallest block, in ops, that is worth a function of its own
    max_layers: how many different layer functions to make at most
    """

    min_ops: int = 32
    max_layers: int = 8


@dataclass
class _Site:
    """One occurrence of the block: its ops in template order and the values of the template's inputs."""

    ops: list[int]
    inputs: list[Ref]
    mask: int


@dataclass
class _Plan:
    """A block (`template`, op numbers in program order, ending at its root), its inputs and all its
    occurrences.
    """

    template: list[int]
    inputs: list[Ref]
    sites: list[_Site] = field(default_factory=list)
    live_outs: list[tuple[int, int]] = field(default_factory=list)

    @property
    def saved(self) -> int:
        return (len(self.sites) - 1) * len(self.template)


def outline_layers(
    op: ir.Operation, options: OutlineLayersOptions = OutlineLayersOptions()
) -> dict[str, int]:
    """Move repeated blocks of `@main` into private functions `@layer0`, `@layer1`, ...

    called once per repetition.
    """
    main = next(
        (
            f
            for f in op.regions[0].blocks[0].operations
            if f.operation.name == "func.func" and ir.StringAttr(f.attributes["sym_name"]).value == "main"
        ),
        None,
    )
    counts = {"layers": 0, "calls": 0}
    if main is None:
        return counts
    while counts["layers"] < options.max_layers:
        graph = Dataflow(main.operation)
        plan = _find_block(graph, options.min_ops)
        if plan is None:
            break
        _pull_in_transparent_inputs(graph, plan)
        _rewrite(op, main.operation, graph, plan, f"layer{counts['layers']}")
        counts["layers"] += 1
        counts["calls"] += len(plan.sites)
    return counts


def _find_block(graph: Dataflow, min_ops: int) -> _Plan | None:
    """The block whose outlining saves most ops, cut where the fewest values cross (None if nothing
    repeats).
    """
    candidates: dict[tuple[int, ...], tuple[int, int, list[int]]] = {}
    for radius in _RADII:
        for members in graph.chains(radius):
            key = tuple(members)
            if key not in candidates and (estimate := _estimate(graph, members, min_ops)):
                candidates[key] = estimate
    if not candidates:
        return None
    most = max(saved for saved, _, _ in candidates.values())
    ranked = sorted(
        (crossing, -saved, key) for key, (saved, crossing, _) in candidates.items() if 2 * saved >= most
    )
    plans = []
    for _, _, key in ranked[:_FULL_EVALUATIONS]:
        plan = _grow(graph, list(key), candidates[key][2])
        if len(plan.sites) >= 2:
            plans.append(plan)
    if not plans:
        return None
    most = max(plan.saved for plan in plans)
    return min(
        (plan for plan in plans if 10 * plan.saved >= 9 * most),
        key=lambda plan: (
            _crossing(graph, plan.inputs) + len(plan.live_outs),
            -plan.saved,
            plan.template[-1],
        ),
    )


def _estimate(graph: Dataflow, chain: list[int], min_ops: int) -> tuple[int, int, list[int]] | None:
    """(ops saved, values crossing, block) if the chain's most common segment is a block of at least
    `min_ops`.
    """
    masks = [graph.ancestors[b] & ~graph.ancestors[a] for a, b in zip(chain, chain[1:], strict=False)]
    sizes = Counter(mask.bit_count() for mask in masks)
    size, times = max(sizes.items(), key=lambda item: (item[0] * item[1], item[0]))
    if size < min_ops:
        return None
    block = graph.members(next(mask for mask in masks if mask.bit_count() == size))
    return times * size, _crossing(graph, _external_inputs(graph, block)), block


def _crossing(graph: Dataflow, inputs: list[Ref]) -> int:
    return sum(1 for ref in inputs if ref.op >= 0 and graph.names[ref.op] not in _TRANSPARENT)


def _external_inputs(graph: Dataflow, block: list[int]) -> list[Ref]:
    inside = set(block)
    return list(dict.fromkeys(ref for i in block for ref in graph.operands[i] if ref.op not in inside))


def _grow(graph: Dataflow, chain: list[int], template: list[int]) -> _Plan:
    """All occurrences of `template` that end at a root of the chain, or one block before the first of
    these.
    """
    plan = _Plan(template, _external_inputs(graph, template))
    sites: dict[int, _Site] = {}
    taken = 0
    for root in reversed(chain):
        site = _match(graph, plan, root)
        if site and not site.mask & taken:
            sites[root] = site
            taken |= site.mask
    # The first blocks are near the program's start, so their surroundings differ and the chain can miss them.
    back = next(
        (
            p
            for p, ref in enumerate(plan.inputs)
            if ref.op >= 0 and any(s.inputs[p].op in sites for s in sites.values())
        ),
        None,
    )
    if back is not None and sites:
        root = sites[min(sites)].inputs[back].op
        while root >= 0 and (site := _match(graph, plan, root)) and not site.mask & taken:
            sites[root] = site
            taken |= site.mask
            root = site.inputs[back].op
    plan.sites = [sites[root] for root in sorted(sites)]
    plan.live_outs = _live_outs(graph, plan)
    return plan


def _match(graph: Dataflow, plan: _Plan, root: int) -> _Site | None:
    """The occurrence of the block that ends at `root`: walk both graphs backwards in step."""
    inside = set(plan.template)
    ops: dict[int, int] = {plan.template[-1]: root}
    inputs: dict[Ref, Ref] = {}
    stack = [plan.template[-1]]
    while stack:
        mine = stack.pop()
        theirs = ops[mine]
        if graph.keys[mine] != graph.keys[theirs]:
            return None
        for a, b in zip(graph.operands[mine], graph.operands[theirs], strict=True):
            if a.op in inside:
                if b.result != a.result or ops.get(a.op, b.op) != b.op or b.op < 0:
                    return None
                if a.op not in ops:
                    ops[a.op] = b.op
                    stack.append(a.op)
            elif inputs.setdefault(a, b) != b or graph.type_of(a) != graph.type_of(b):
                return None
    if len(set(ops.values())) != len(plan.template):
        return None
    mask = sum(1 << i for i in ops.values())
    # An input that depends on the block itself cannot be passed to it.
    if any(b.op >= 0 and graph.ancestors[b.op] & mask for b in inputs.values()):
        return None
    return _Site([ops[i] for i in plan.template], [inputs[ref] for ref in plan.inputs], mask)


def _live_outs(graph: Dataflow, plan: _Plan) -> list[tuple[int, int]]:
    """(position in the template, result number) of every value that some occurrence hands to the outside."""
    found: set[tuple[int, int]] = set()
    for site in plan.sites:
        for position, i in enumerate(site.ops):
            found.update(
                (position, result)
                for user, result in graph.uses[i]
                if not (user >= 0 and site.mask >> user & 1)
            )
    return sorted(found)


def _pull_in_transparent_inputs(graph: Dataflow, plan: _Plan) -> None:
    """Repeat inside the block the constants, iotas and views it gets from outside, if equal at all
    occurrences.
    """
    while any(_pull_in(graph, plan, p) for p in range(len(plan.inputs))):
        pass


def _pull_in(graph: Dataflow, plan: _Plan, position: int) -> bool:
    own = plan.inputs[position]
    sources = [site.inputs[position] for site in plan.sites]
    if own.op < 0 or graph.names[own.op] not in _TRANSPARENT:
        return False
    if any(ref.op < 0 or graph.keys[ref.op] != graph.keys[own.op] for ref in sources):
        return False
    # Rows: the template, then the occurrences. A template input is one value, so two uses of it must agree
    # everywhere.
    inputs = [plan.inputs, *(site.inputs for site in plan.sites)]
    added = [graph.operands[ref.op] for ref in (own, *sources)]
    if any([graph.type_of(ref) for ref in row] != [graph.type_of(ref) for ref in added[0]] for row in added):
        return False
    new = [row[:position] + more + row[position + 1 :] for row, more in zip(inputs, added, strict=True)]
    first = {ref: p for p, ref in reversed(list(enumerate(new[0])))}
    if any(row[first[ref]] != row[p] for row in new for p, ref in enumerate(new[0])):
        return False
    keep = sorted(first.values())
    plan.inputs = [new[0][p] for p in keep]
    plan.template.insert(0, own.op)
    plan.live_outs = [(p + 1, result) for p, result in plan.live_outs]
    for site, source, row in zip(plan.sites, sources, new[1:], strict=True):
        site.inputs = [row[p] for p in keep]
        site.ops.insert(0, source.op)
    return True


def _rewrite(module: ir.Operation, main: ir.Operation, graph: Dataflow, plan: _Plan, name: str) -> None:
    with main.context, main.location:
        _build_function(module, main, graph, plan, name)
        block = main.regions[0].blocks[0]
        terminator = graph.terminator
        results = [graph.type_of(Ref(plan.template[p], r)) for p, r in plan.live_outs]
        calls = []
        for site in plan.sites:
            call = ir.Operation.create(
                "func.call",
                results=results,
                operands=[graph.value(ref) for ref in site.inputs],
                attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
                ip=ir.InsertionPoint(terminator),
            )
            calls.append(call)
        outlined = [i for site in plan.sites for i in site.ops if site.mask >> i & 1]
        for site, call in zip(plan.sites, calls, strict=True):
            for (position, result), value in zip(plan.live_outs, call.results, strict=True):
                graph.ops[site.ops[position]].results[result].replace_all_uses_with(value)
        for i in sorted(outlined, reverse=True):
            graph.ops[i].erase()
        _sort(graph, set(outlined), plan, calls, terminator)
        _remove_dead(block)


def _build_function(
    module: ir.Operation, main: ir.Operation, graph: Dataflow, plan: _Plan, name: str
) -> None:
    argument_types = [graph.type_of(ref) for ref in plan.inputs]
    result_types = [graph.type_of(Ref(plan.template[p], r)) for p, r in plan.live_outs]
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "sym_visibility": ir.StringAttr.get("private"),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(argument_types, result_types)),
        "arg_attrs": ir.ArrayAttr.get(
            [_argument_attributes(graph, [s.inputs[p] for s in plan.sites]) for p in range(len(plan.inputs))]
        ),
    }
    if "luminal.symbols" in main.attributes:
        attributes["luminal.symbols"] = main.attributes["luminal.symbols"]
    function = ir.Operation.create(
        "func.func", attributes=attributes, regions=1, ip=ir.InsertionPoint(module.regions[0].blocks[0])
    )
    block = ir.Block.create_at_start(function.regions[0], argument_types)
    values: dict[Ref, ir.Value] = dict(zip(plan.inputs, block.arguments, strict=True))
    end = ir.InsertionPoint(block)
    for i in plan.template:
        copy = graph.ops[i].clone(ip=end)
        for k, ref in enumerate(graph.operands[i]):
            copy.operands[k] = values[ref]
        values.update({Ref(i, r): value for r, value in enumerate(copy.results)})
    ir.Operation.create(
        "func.return", operands=[values[Ref(plan.template[p], r)] for p, r in plan.live_outs], ip=end
    )


def _argument_attributes(graph: Dataflow, refs: list[Ref]) -> ir.DictAttr:
    kinds = {graph.argument_kind(ref) for ref in refs}
    kind = kinds.pop() if len(kinds) == 1 else None
    return ir.DictAttr.get({"luminal.kind": kind} if kind is not None else {})


def _sort(
    graph: Dataflow, outlined: set[int], plan: _Plan, calls: list[ir.Operation], terminator: ir.Operation
) -> None:
    """Order the remaining ops and the calls so that definitions come first, else by original position."""
    unit_of = {i: ("call", c) for c, site in enumerate(plan.sites) for i in site.ops if i in outlined}
    units = {("op", i): (i, graph.ops[i]) for i in range(len(graph.ops)) if i not in outlined}
    units.update(
        {
            ("call", c): (max(site.ops), call)
            for c, (site, call) in enumerate(zip(plan.sites, calls, strict=True))
        }
    )
    needs: dict[tuple[str, int], set[tuple[str, int]]] = {}
    for unit in units:
        refs = graph.operands[unit[1]] if unit[0] == "op" else plan.sites[unit[1]].inputs
        needs[unit] = {unit_of.get(ref.op, ("op", ref.op)) for ref in refs if ref.op >= 0}
    users: dict[tuple[str, int], list[tuple[str, int]]] = {unit: [] for unit in units}
    for unit, before in needs.items():
        for other in before:
            users[other].append(unit)
    missing = {unit: len(before) for unit, before in needs.items()}
    ready = [(units[unit][0], unit) for unit, count in missing.items() if not count]
    heapq.heapify(ready)
    while ready:
        _, unit = heapq.heappop(ready)
        units[unit][1].move_before(terminator)
        for user in users[unit]:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, (units[user][0], user))


def _remove_dead(block: ir.Block) -> None:
    """Drop transparent ops whose uses all moved into the layer function."""
    for op in reversed(list(block.operations)):
        if op.operation.name in _TRANSPARENT and all(not list(r.uses) for r in op.operation.results):
            op.operation.erase()
