"""Decide where every value of a program lives: in an argument, in a result, in memory kept between calls, or
in one arena.

What can be decided without sizes is decided once (`assign_storage`): which values share memory because a
scatter updates its base in place, which results are written straight into their final memory, and which
kernels depend on weights alone and so run only when these change. Offsets in the arena follow from
lifetimes and sizes (`place`), for one assignment of the symbols at a time.

Before::

    %0 = kernel.region (%x) ...
    %1 = kernel.region (%0) ...
    return %1

After::

    %0 = kernel.region (%x) {luminal.memory = "arena[0:4096]"} ...
    %1 = kernel.region (%0) {luminal.memory = "result 0"} ...
    return %1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..dialects.mlir import ir
from ..dialects.symbolic import Expr, compiled
from .schedule import Schedule, Symbol, read_schedule

ALIGNMENT = 64
Space = Literal["argument", "result", "static", "arena"]


@dataclass(frozen=True)
class PlanMemoryOptions:
    """Options of `plan-memory`.

    size: value assumed for every symbol, within its range, when the pass prints offsets
    """

    size: int = 1024


@dataclass(frozen=True)
class Storage:
    """Where a value lives: argument `index`, result `index`, or block `index` of the static memory or of
    the arena.
    """

    space: Space
    index: int


@dataclass(frozen=True)
class Copy:
    """After the last step, `source` is copied to `target`; both have the size of value `value`."""

    source: Storage
    target: Storage
    value: int


@dataclass(frozen=True)
class Block:
    """Bytes that are alive from step `first` to step `last`, both included."""

    size: Expr
    first: int
    last: int


@dataclass
class Layout:
    """The part of a memory plan that no size influences.

    `static_steps` run when weights change, `steps` in every call (both index `Schedule.steps`).
    `storage[v]` is the home of value v. `returned[r]` is where the tensor of result r is: an argument (it
    is that very tensor) or a result block.
    """

    static_steps: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    storage: dict[int, Storage] = field(default_factory=dict)
    static_blocks: list[int] = field(default_factory=list)
    arena_blocks: list[Block] = field(default_factory=list)
    result_values: list[int] = field(default_factory=list)
    returned: list[Storage] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)


def assign_storage(schedule: Schedule) -> Layout:
    """Assign every value of `schedule` its storage."""
    return _Assignment(schedule).run()


class _Assignment:
    """Values that share memory form a *chain*: each but the first is a scatter into the one before."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.layout = Layout()
        self.end = len(schedule.steps)
        self.definition = {step.result: p for p, step in enumerate(schedule.steps)}
        self.results = list(zip(schedule.returned, schedule.signature.results, strict=True))
        self.written = {result.writes: value for value, result in self.results if result.writes is not None}
        self.chain: dict[int, list[int]] = {}
        self._copies: list[tuple[int, Storage]] = []  # value to where, after the last step

    def run(self) -> Layout:
        self._split_static()
        self._find_reads()
        for p in self.layout.steps:
            self._make_chain(p)
        for argument, value in self.written.items():
            self._place_written(argument, value)
        for value, result in self.results:
            target = result.writes if result.alias is None else result.alias
            home = self._place_returned(value) if target is None else Storage("argument", target)
            self.layout.returned.append(home)
        self._place_chains()
        self._order_copies()
        return self.layout

    def _split_static(self) -> None:
        """Kernels of fixed shape that depend on weights alone run once; their results stay."""
        schedule, layout = self.schedule, self.layout
        arguments = enumerate(schedule.signature.arguments)
        static = {k for k, argument in arguments if argument.kind == "weight" and k not in self.written}
        for p, step in enumerate(schedule.steps):
            fixed = schedule.kernels[step.kernel].fixed and step.result not in schedule.returned
            if fixed and static.issuperset(step.operands):
                static.add(step.result)
                layout.static_steps.append(p)
                layout.storage[step.result] = Storage("static", len(layout.static_blocks))
                layout.static_blocks.append(schedule.values[step.result].size.value)
            else:
                layout.steps.append(p)

    def _find_reads(self) -> None:
        """The steps that read each value; what is returned is read at the end."""
        self.reads: dict[int, list[int]] = {v: [] for v in range(len(self.schedule.values))}
        for p in self.layout.steps:
            for value in self.schedule.steps[p].operands:
                self.reads[value].append(p)
        for value, result in self.results:
            if result.alias is None:
                self.reads[value].append(self.end)

    def _make_chain(self, p: int) -> None:
        """A scatter updates its base in place where nothing reads the base afterwards."""
        step = self.schedule.steps[p]
        base = self._base(step.result)
        if base in self.chain and self._last_read_as_base(base, p):
            self.chain[step.result] = self.chain[base]
            self.chain[base].append(step.result)
        else:
            self.chain[step.result] = [step.result]

    def _base(self, value: int) -> int | None:
        """The value that a scatter's result starts from, None for other kernels."""
        step = self.schedule.steps[self.definition[value]]
        return step.operands[0] if self.schedule.kernels[step.kernel].name == "kernel.scatter" else None

    def _last_read_as_base(self, value: int, p: int) -> bool:
        return self.reads[value].count(p) == 1 and all(q <= p for q in self.reads[value])

    def _place_written(self, argument: int, value: int) -> None:
        """Let a chain live in the argument that it is written to, unless something still reads what it
        overwrites.
        """
        if value == argument:
            return
        chain = self.chain.get(value)
        if chain is None or chain[0] in self.layout.storage or not self._may_overwrite(argument, chain[0]):
            self._copies.append((value, Storage("argument", argument)))
        else:
            self.layout.storage.update(dict.fromkeys(chain, Storage("argument", argument)))

    def _may_overwrite(self, argument: int, head: int) -> bool:
        p = self.definition[head]
        if self._base(head) == argument:
            return self._last_read_as_base(argument, p)
        return all(q < p for q in self.reads[argument])

    def _place_returned(self, value: int) -> Storage:
        """A tensor of the caller's for a result.

        A value that is returned twice gets two: they may be clones of one.
        """
        layout = self.layout
        home = Storage("result", len(layout.result_values))
        layout.result_values.append(value)
        chain = self.chain.get(value)
        if chain is None or chain[0] in layout.storage:
            self._copies.append((value, home))
        else:
            layout.storage.update(dict.fromkeys(chain, home))
        return home

    def _place_chains(self) -> None:
        """What has no home yet goes into the arena for as long as it is needed."""
        for value, chain in self.chain.items():
            if value not in self.layout.storage:
                last = max((q for v in chain for q in self.reads[v]), default=0)
                home = self._new_block(
                    chain[0], self.definition[chain[0]], max(last, self.definition[chain[-1]])
                )
                self.layout.storage.update(dict.fromkeys(chain, home))

    def _new_block(self, value: int, first: int, last: int) -> Storage:
        self.layout.arena_blocks.append(Block(self.schedule.values[value].size, first, last))
        return Storage("arena", len(self.layout.arena_blocks) - 1)

    def _order_copies(self) -> None:
        """Results first; then an argument's old value, if it is written elsewhere, is saved before any is
        overwritten.
        """
        layout = self.layout
        for k in range(len(self.schedule.signature.arguments)):
            layout.storage[k] = Storage("argument", k)
        to_results = [(v, home) for v, home in self._copies if home.space == "result"]
        to_arguments = [(v, home) for v, home in self._copies if home.space == "argument"]
        saved = {v: self._new_block(v, self.end, self.end) for v, _ in to_arguments if v in self.written}
        layout.copies = [
            *(Copy(layout.storage[v], home, v) for v, home in to_results),
            *(Copy(layout.storage[v], home, v) for v, home in saved.items()),
            *(Copy(saved.get(v, layout.storage[v]), home, v) for v, home in to_arguments),
        ]


def place(blocks: Sequence[Block], sizes: Sequence[int]) -> tuple[list[int], int]:
    """Offsets of arena blocks of these sizes, such that blocks alive at the same step do not overlap, and the
    total.

    Greedy by size: the biggest block first, each as low as it fits. The minimum is NP-hard; this is within
    a few per cent of it on layered programs (Pisarchyk and Lee, "Efficient Memory Management for Deep
    Neural Net Inference", 2020).
    """
    offsets = [0] * len(blocks)
    placed: list[int] = []
    total = 0
    for b in sorted(range(len(blocks)), key=lambda k: (-sizes[k], k)):
        size = -(-sizes[b] // ALIGNMENT) * ALIGNMENT
        block = blocks[b]
        busy = sorted(
            (offsets[o], offsets[o] + sizes[o])
            for o in placed
            if blocks[o].first <= block.last and block.first <= blocks[o].last
        )
        offset = 0
        for start, stop in busy:
            if offset + size <= start:
                break
            offset = max(offset, -(-stop // ALIGNMENT) * ALIGNMENT)
        offsets[b] = offset
        placed.append(b)
        total = max(total, offset + size)
    return offsets, total


def round_up(symbols: Sequence[Symbol], values: Sequence[int]) -> tuple[int, ...]:
    """The next powers of two, within the symbols' ranges; symbols with a rule follow from the others."""
    rounded: list[int] = []
    for symbol, value in zip(symbols, values, strict=True):
        size = 1 << max(value - 1, 0).bit_length() if value > 0 else value
        rounded.append(size if symbol.hi is None else min(size, symbol.hi))
    return apply_rules(symbols, rounded)


def apply_rules(symbols: Sequence[Symbol], values: Sequence[int]) -> tuple[int, ...]:
    """`values` with those of derived symbols computed from their rules."""
    result = list(values)
    for _ in symbols:  # a rule may use derived symbols that come later in the list
        for k, symbol in enumerate(symbols):
            if symbol.rule is not None:
                result[k] = compiled((symbol.rule,), len(symbols))(result)[0]
    return tuple(result)


def planned_bytes(schedule: Schedule, values: Sequence[int]) -> int:
    """Bytes that a call needs besides inputs and results at these symbol values, memory kept between calls
    included.
    """
    layout = assign_storage(schedule)
    sizes = compiled(tuple(block.size for block in layout.arena_blocks), len(values))(values)
    return place(layout.arena_blocks, sizes)[1] + sum(layout.static_blocks)


def plan_memory(op: ir.Operation, options: PlanMemoryOptions = PlanMemoryOptions()) -> dict[str, int]:
    """Annotate each kernel with where its results live, one place per launch of the kernel."""
    schedule = read_schedule(op)
    layout = assign_storage(schedule)
    sample = [options.size if s.hi is None else min(options.size, s.hi) for s in schedule.symbols]
    values = apply_rules(
        schedule.symbols, [max(v, s.lo or 0) for v, s in zip(sample, schedule.symbols, strict=True)]
    )
    sizes = compiled(tuple(block.size for block in layout.arena_blocks), len(values))(values)
    offsets, total = place(layout.arena_blocks, sizes)
    places: dict[int, list[str]] = {}
    for step in schedule.steps:
        home = layout.storage[step.result]
        text = f"{home.space} {home.index}"
        if home.space == "arena":
            text = f"arena[{offsets[home.index]}:{offsets[home.index] + sizes[home.index]}]"
        places.setdefault(step.kernel, []).append(text)
    with op.context:
        for k, texts in places.items():
            schedule.kernels[k].op.attributes["luminal.memory"] = ir.ArrayAttr.get(
                [ir.StringAttr.get(text) for text in texts]
            )
    return {
        "launches": len(layout.steps),
        "once": len(layout.static_steps),
        "arena bytes": total,
        "static bytes": sum(layout.static_blocks),
        "copies": len(layout.copies),
    }
