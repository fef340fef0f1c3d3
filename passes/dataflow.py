"""A light, integer-indexed view of one function's dataflow, for passes that reason about structure.

Walking MLIR objects from Python costs microseconds per step, and structural searches take millions of
steps; here ops are numbers, values are (op, result) pairs, ancestor sets are bit masks, and equal ops have
equal keys.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from ..dialects.mlir import ir


class Ref(NamedTuple):
    """A value: result `result` of op number `op`, or function argument `result` if `op` is -1."""

    op: int
    result: int


class Dataflow:
    """The single-block function `function`; op numbers follow program order, the terminator has none."""

    def __init__(self, function: ir.Operation) -> None:
        block = function.regions[0].blocks[0]
        ops = [op.operation for op in block.operations]
        self.terminator = ops.pop()
        self.ops: list[ir.Operation] = ops
        self.arguments = list(block.arguments)
        self._kinds = _argument_kinds(function)
        self.names = [op.name for op in ops]
        self._values: dict[Any, Ref] = {value: Ref(-1, k) for k, value in enumerate(self.arguments)}
        self.operands: list[list[Ref]] = []
        self.uses: list[list[tuple[int, int]]] = [[] for _ in ops]
        self._types: dict[Ref, Any] = {Ref(-1, k): value.type for k, value in enumerate(self.arguments)}
        self.keys = self._number(ops)
        for ref in (self._values[value] for value in self.terminator.operands):
            if ref.op >= 0:
                self.uses[ref.op].append((-1, ref.result))

    def _number(self, ops: list[ir.Operation]) -> list[int]:
        interned: dict[Any, int] = {}
        keys = []
        for i, op in enumerate(ops):
            refs = [self._values[value] for value in op.operands]
            self.operands.append(refs)
            for ref in refs:
                if ref.op >= 0:
                    self.uses[ref.op].append((i, ref.result))
            types = []
            for r, value in enumerate(op.results):
                self._values[value] = Ref(i, r)
                self._types[Ref(i, r)] = value.type
                types.append(value.type)
            key: Any = (self.names[i], tuple((a.name, a.attr) for a in _sorted_attributes(op)), tuple(types))
            if self.names[i] == "func.call" or len(op.regions):
                key = ("opaque", i)  # a call to another layer, or an op with a body: equal to nothing else
            keys.append(interned.setdefault(key, len(interned)))
        return keys

    def type_of(self, ref: Ref) -> Any:
        """The MLIR type of the value (equal types compare equal)."""
        return self._types[ref]

    def value(self, ref: Ref) -> ir.Value:
        """The MLIR value itself."""
        return self.arguments[ref.result] if ref.op < 0 else self.ops[ref.op].results[ref.result]

    def argument_kind(self, ref: Ref) -> Any:
        """The `luminal.kind` attribute of a function argument, None for any other value."""
        return self._kinds.get(ref.result) if ref.op < 0 else None

    @cached_property
    def ancestors(self) -> list[int]:
        """For each op the bit mask of the ops that it depends on, itself included."""
        masks: list[int] = []
        for i, refs in enumerate(self.operands):
            mask = 1 << i
            for ref in refs:
                if ref.op >= 0:
                    mask |= masks[ref.op]
            masks.append(mask)
        return masks

    @staticmethod
    def members(mask: int) -> list[int]:
        """Op numbers in a bit mask, ascending."""
        found = []
        while mask:
            low = mask & -mask
            found.append(low.bit_length() - 1)
            mask ^= low
        return found

    @cached_property
    def _deepest_operand(self) -> list[int]:
        """For each op the op on the longest path that leads to it, -1 if it depends on arguments only."""
        depths: list[int] = []
        deepest = []
        for refs in self.operands:
            before = max((ref.op for ref in refs if ref.op >= 0), key=lambda i: (depths[i], -i), default=-1)
            deepest.append(before)
            depths.append(depths[before] + 1 if before >= 0 else 0)
        return deepest

    @cached_property
    def _colours(self) -> list[list[int]]:
        return [list(self.keys)]

    def colours(self, radius: int) -> list[int]:
        """A number per op: equal if the last `radius` ops on the longest paths that lead to the ops are
        equal.

        Along the longest path the first layer of a stack looks like all others; with every operand in the
        number, a skip
        connection would show that it starts from something else.
        """
        rounds = self._colours
        while len(rounds) <= radius:
            last = rounds[-1]
            interned: dict[tuple[int, int], int] = {}
            pairs = [
                (key, -1 if d < 0 else last[d])
                for key, d in zip(self.keys, self._deepest_operand, strict=True)
            ]
            rounds.append([interned.setdefault(pair, len(interned)) for pair in pairs])
        return rounds[radius]

    def chains(self, radius: int) -> list[list[int]]:
        """Classes of two or more equally coloured ops in which each op depends on the one before."""
        classes: dict[int, list[int]] = {}
        for i, colour in enumerate(self.colours(radius)):
            classes.setdefault(colour, []).append(i)
        return [
            ops
            for ops in classes.values()
            if len(ops) > 1 and all(self.ancestors[b] >> a & 1 for a, b in zip(ops, ops[1:], strict=False))
        ]


def _sorted_attributes(op: ir.Operation) -> list[Any]:
    # Indexing by number gives the named attributes; iteration differs between versions of the bindings.
    return sorted((op.attributes[k] for k in range(len(op.attributes))), key=lambda named: named.name)


def _argument_kinds(function: ir.Operation) -> dict[int, Any]:
    if "arg_attrs" not in function.attributes:
        return {}
    kinds = {}
    for k, attributes in enumerate(ir.ArrayAttr(function.attributes["arg_attrs"])):
        entries = ir.DictAttr(attributes)
        if "luminal.kind" in entries:
            kinds[k] = entries["luminal.kind"]
    return kinds
