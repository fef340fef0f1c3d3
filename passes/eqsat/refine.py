"""Refinement by measurement: moves that the estimate holds for possible are made where the measured kernels
of the program take less time than before.

A round lists moves (a tensor stored or computed where it is read, another node for a loop), measures every
kernel that one of them needs, each distinct one once and all in one batch, and makes the moves that pay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...dialects.mlir import ir
from .analysis import is_leaf
from .cost import Machine
from .egraph import Node
from .exact import Option, fastest
from .extract import Extractor
from .kernels import Kernel
from .samples import KernelSample, kernel_sample
from .state import Choice, Decision, Undone

LEAST_GAIN = 0.03
"""Part of the time of the kernels that a move replaces which it must save: below is noise."""

SLACK = 1.0
"""A move is worth measuring if the estimate says that it adds at most this part of what it replaces."""

FEWEST_MOVES, SECONDS_PER_MOVE = 8, 2e-6
"""Moves that a round tries for any program, and one more for each such time that the program takes."""

MOST_ROUNDS = 6
RACES = 2
"""Times that the refined program and the estimate's are timed in turns at the end."""


class KernelTimer(Protocol):
    """Compiles and times kernels."""

    @property
    def machine(self) -> Machine:
        """The machine as the estimate is to see it."""

    def time(
        self,
        samples: Sequence[KernelSample],
        limits: Sequence[float | None] | None = None,
        again: bool = False,
    ) -> list[float | None]:
        """Seconds per launch; None where there is no figure (the budget is spent, the kernel is refused).

        Where a kernel takes more than twice its limit, more than that is answer enough. `again`: also those
        that were timed before.
        """


@dataclass
class Move:
    """Decisions to take together. `seconds` of the kernels that it adds, `instead` of those it replaces."""

    what: str
    changes: list[tuple[int, Decision | None]]
    estimate: float
    tensors: frozenset[int] = frozenset()
    seconds: float | None = None
    instead: float | None = None


@dataclass
class Alternative:
    """What else was measured for a tensor."""

    what: str
    seconds: float
    instead: float


@dataclass
class Refiner(Extractor):
    """An extractor whose kernels cost what the timer says. `symbols`: the function's symbol list."""

    timer: KernelTimer | None = None
    symbols: ir.Attribute | None = None
    candidates: int = 256
    times: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._samples: dict[int, tuple[Kernel, KernelSample, str]] = {}
        self._failed: set[str] = set()
        self.alternatives: dict[int, dict[str, Alternative]] = {}
        self.skipped = 0
        self._solved: dict[int, Kernel] | None = None

    def refine(self) -> Choice:
        """Improve the present choice until no measured move does."""
        before = self.kernels()
        self._measure({id(k): (k, None) for k in before.values()}.values())
        with self.trial():
            for _ in range(MOST_ROUNDS):
                if not self._round():
                    break
            self._solve()
            if not self._wins(before):
                self._solved = None
                raise Undone
        return self.choice()

    def _solve(self) -> None:
        """Combine the kernels measured so far anew, where that makes a faster program than the moves did: no
        move may have led to that combination.
        """
        kernels: dict[str, Kernel] = {}
        for kernel, _, key in self._samples.values():
            if key in self.times:
                kernels.setdefault(f"{kernel.tensor} {key}", kernel)
        pool = list(kernels.values())
        static = {t: k for t, k in self.kernels().items() if self.analysis.is_static(t)}
        pool += static.values()
        options = [Option(k.tensor, tuple(k.needs), self._cost_of(k)) for k in pool]
        leaves = {n for option in options for n in option.needs if is_leaf(self.graph, n)}
        found = fastest(options, self.roots, leaves)
        if found is None:
            return
        total = sum(options[p].seconds for p in found)
        if total < self.total() * (1 - LEAST_GAIN):
            self._solved = {pool[p].tensor: pool[p] for p in found}

    def kernels(self) -> dict[int, Kernel]:
        """The kernels of the program by tensor, producers first."""
        return super().kernels() if self._solved is None else self._solved

    def choice(self) -> Choice:
        """The kernels of the program."""
        if self._solved is None:
            return super().choice()
        seconds = sum(map(self._cost_of, self._solved.values()))
        return Choice(self._solved, list(self._solved), seconds)

    def _round(self) -> bool:
        """Measure what the plausible moves need, and make those that pay; whether there were any."""
        moves = self._plausible()
        kernels: dict[int, tuple[Kernel, float | None]] = {}
        for move in moves:
            with self.trial():
                limit = self._replaced(move)
                for kernel in self.kernels().values():
                    before = kernels.get(id(kernel), (kernel, 0.0))[1]
                    kernels[id(kernel)] = (kernel, max(before or 0.0, limit))
                raise Undone
        self._measure(kernels.values())
        return self._make(moves)

    def _wins(self, before: dict[int, Kernel]) -> bool:
        """Race the program against the one of the estimate: what differs is timed once more, in turns."""
        after = self.kernels()
        old = [k for t, k in before.items() if after.get(t) is not k]
        new = [k for t, k in after.items() if before.get(t) is not k]
        for _ in range(RACES):
            if not (old and new):
                break
            self._confirm(old)
            self._confirm(new)
        return sum(map(self._cost_of, new)) <= sum(map(self._cost_of, old)) * (1 - LEAST_GAIN)

    def _replaced(self, move: Move) -> float:
        """Apply the move; returns the seconds of the kernels that it replaces."""
        costs = {id(k): self.cost(t) for t, k in self.kernels().items()}
        self._apply(move)
        after = {id(k) for k in self.kernels().values()}
        return sum(seconds for k, seconds in costs.items() if k not in after)

    def describe(self) -> list[dict[str, Any]]:
        """As the extractor's, with what else was measured for each kernel, best first."""
        rows = []
        for row, (tensor, kernel) in zip(super().describe(), self.kernels().items(), strict=True):
            others = sorted(self.alternatives.get(tensor, {}).values(), key=lambda a: a.seconds - a.instead)
            row["seconds"] = self._cost_of(kernel)
            row["measured"] = self._key(kernel) in self.times
            row["candidates"] = [
                {"description": a.what, "seconds": a.seconds, "instead of": a.instead, "measured": True}
                for a in others
            ]
            rows.append(row)
        return rows

    # Measured costs.

    def cost(self, tensor: int) -> float:
        kernel = self.lookup(tensor).kernel if self.times and tensor in self.analysis.stored else None
        return super().cost(tensor) if kernel is None else self._cost_of(kernel)

    def _cost_of(self, kernel: Kernel) -> float:
        measured = None if self.analysis.is_static(kernel.tensor) else self.times.get(self._key(kernel))
        if measured is None:
            return self.seconds(kernel)
        return measured + self.stored_weight * self.analysis.bytes_of(kernel.tensor)

    def _key(self, kernel: Kernel) -> str:
        return self._sample(kernel)[1]

    def _sample(self, kernel: Kernel) -> tuple[KernelSample, str]:
        known = self._samples.get(id(kernel))
        if known is None:
            sample = kernel_sample(self.graph, kernel, self.symbols)
            known = self._samples[id(kernel)] = (kernel, sample, sample.text)
        return known[1:]

    def _measure(self, kernels: Iterable[tuple[Kernel, float | None]]) -> None:
        """Time the kernels that have no figure yet, each with the time beyond which it is of no use."""
        wanted: dict[str, KernelSample] = {}
        limits: dict[str, float | None] = {}
        for kernel, limit in kernels:
            if not self.analysis.is_static(kernel.tensor):
                sample, key = self._sample(kernel)
                if key not in self.times and key not in self._failed:
                    wanted[key], limits[key] = sample, limit
        if not wanted:
            return
        assert self.timer is not None
        results = self.timer.time(list(wanted.values()), list(limits.values()))
        for key, seconds in zip(wanted, results, strict=True):
            if seconds is None:
                self._failed.add(key)
            else:
                self.times[key] = seconds

    def _confirm(self, kernels: Iterable[Kernel]) -> None:
        """Time kernels once more, that a decision may not rest on a disturbance."""
        samples = {self._key(k): self._sample(k)[0] for k in kernels if not self.analysis.is_static(k.tensor)}
        assert self.timer is not None
        results = self.timer.time(list(samples.values()), again=True)
        for key, seconds in zip(samples, results, strict=True):
            if seconds is not None:
                self.times[key] = min(seconds, self.times.get(key, seconds))

    # Moves.

    def _plausible(self) -> list[Move]:
        moves = []
        for what, changes in self._candidates():
            move = self._estimated(what, changes)
            if move is not None:
                moves.append(move)
        moves.sort(key=lambda m: m.estimate)
        # Effort in proportion to what there is to gain: a program of microseconds is not worth seconds.
        most = min(self.candidates, FEWEST_MOVES + int(self.total() / SECONDS_PER_MOVE))
        self.skipped += max(0, len(moves) - most)
        return moves[:most]

    def _candidates(self) -> Iterator[tuple[str, list[tuple[int, Decision | None]]]]:
        order = self.reachable()
        users = self._users(order)
        for tensor in order:
            if (
                tensor not in self.forced
                and tensor in users
                and not self._grows_too_large(tensor, users[tensor])
            ):
                yield f"compute {self.shape_text(tensor)} where it is read", [(tensor, False)]
        asked = {c for t in order for c, d in self.lookup(t).consulted.items() if d is False}
        for tensor in sorted(asked):
            yield f"store {self.shape_text(tensor)}", [(tensor, True)]
        for cls in [c for c in self.analysis.choices if self.consulters(c).intersection(order)]:
            for node in self.analysis.choices[cls]:
                if node != self.node_of(cls):
                    yield _node_text(self, node), [(cls, node)]

    def _estimated(self, what: str, changes: list[tuple[int, Decision | None]]) -> Move | None:
        """The move with what it would change by the estimate; None where it leads nowhere."""
        before = self.kernels()
        move = None
        with self.trial():
            users = {u for cls, _ in changes for u in self.consulters(cls)}
            for cls, decision in changes:
                self.decide(cls, decision)
            if any(isinstance(d, Node) for _, d in changes):
                self._take_in(users)
            after = self.kernels()
            old = [t for t, k in before.items() if after.get(t) is not k]
            new = [t for t, k in after.items() if before.get(t) is not k]
            possible = all(self.lookup(t).kernel is not None for t in self.reachable())
            if possible and new:
                replaced = sum(self._estimate(before[t]) for t in old)
                estimate = sum(self._estimate(after[t]) for t in new) - replaced
                same = sorted(self._key(before[t]) for t in old) == sorted(self._key(after[t]) for t in new)
                if estimate <= SLACK * replaced and not same:
                    taken = [(c, self.decisions.get(c)) for c, _ in self._journal or ()]
                    move = Move(what, taken, estimate, frozenset(new))
            raise Undone
        return move

    def _estimate(self, kernel: Kernel) -> float:
        return 0.0 if self.analysis.is_static(kernel.tensor) else self.seconds(kernel)

    def _apply(self, move: Move) -> None:
        for cls, decision in move.changes:
            self.decide(cls, decision)

    def _make(self, moves: list[Move]) -> bool:
        """Make the moves that pay, the greatest gain first; what one of them changes may rule out another."""
        for move in moves:
            self._try(move, keep=False)
            if move.seconds is not None and move.instead is not None:
                for tensor in move.tensors:
                    alternative = Alternative(move.what, move.seconds, move.instead)
                    self.alternatives.setdefault(tensor, {})[move.what] = alternative
        paying = [m for m in moves if m.seconds is not None and m.instead is not None and _pays(m)]
        paying.sort(key=lambda m: (m.seconds or 0.0) - (m.instead or 0.0))
        return sum(self._try(move, keep=True) for move in paying) > 0

    def _try(self, move: Move, keep: bool) -> bool:
        """Compare the program with and without the move; keep it if it pays and `keep`."""
        before = self.kernels()
        costs = {t: self.cost(t) for t in before}
        kept = False
        with self.trial():
            self._apply(move)
            after = self.kernels()
            new = [t for t, k in after.items() if before.get(t) is not k]
            old = [t for t, k in before.items() if after.get(t) is not k]
            known = all(self.analysis.is_static(t) or self._key(after[t]) in self.times for t in new)
            move.seconds = sum(self.cost(t) for t in new) if known else None
            move.instead = sum(costs[t] for t in old)
            kept = keep and known and bool(new) and _pays(move)
            if kept:
                self._confirm([before[t] for t in old] + [after[t] for t in new])
                move.seconds = sum(self.cost(t) for t in new)
                move.instead = sum(self._cost_of(before[t]) for t in old)
                kept = _pays(move)
            if not kept:
                raise Undone
        return kept


def _pays(move: Move) -> bool:
    assert move.seconds is not None and move.instead is not None
    return move.seconds < move.instead * (1 - LEAST_GAIN)


def _node_text(state: Extractor, node: Node) -> str:
    text = {
        "Reduce": "a plain loop",
        "Contract": "a contraction of the tensor as it is",
        "ContractPacked": "a contraction with packed weights",
        "ScheduledContract": "a contraction of the tensor as it is",
        "ScheduledContractPacked": "a contraction with packed weights",
        "Stream": "attention in one pass",
    }[node.op]
    if not node.op.startswith("Scheduled"):
        return text
    schedule = state.analysis.table.get_schedule(node.args[0])
    return f"{text}, {', '.join(f'{name} = {value}' for name, value in schedule.items())}"
