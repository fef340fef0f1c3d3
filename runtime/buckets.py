"""Dim buckets: ranges of a size that are compiled on their own, as options and as ranges of symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..dialects.symbolic import Sym
from ..passes.schedule import Argument, Symbol
from .options import OptionError


@dataclass(frozen=True, order=True)
class Bucket:
    """The sizes `low` to `high`; kernels are compared at size `representative`."""

    low: int
    high: int
    representative: int

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"

    def __contains__(self, size: int) -> bool:
        return self.low <= size <= self.high

    @staticmethod
    def of(low: int, high: int) -> Bucket:
        """The bucket with the default representative: the middle, down to a multiple of 16 in the range."""
        middle = (low + high) // 2
        rounded = middle // 16 * 16
        return Bucket(low, high, rounded if rounded >= max(low, 1) else middle)


@dataclass(frozen=True)
class Axis:
    """The buckets of one symbol, in order; `name` is the option's key for it."""

    symbol: int
    name: str
    buckets: tuple[Bucket, ...]
    low: int
    high: int | None

    def find(self, size: int) -> Bucket | None:
        """The bucket of the option that holds a size."""
        return next((bucket for bucket in self.buckets if size in bucket), None)

    def gap(self, size: int) -> Bucket:
        """A new bucket for a size that none holds: up to the next power of two, from above the last, less
        what other buckets and the symbol's range take away.
        """
        high = 1 << max(size - 1, 0).bit_length() if size else 0
        low = high // 2 + 1 if size > 1 else size
        if self.high is not None:
            high = min(high, self.high)
        low = max([low, self.low, *(bucket.high + 1 for bucket in self.buckets if bucket.high < size)])
        high = min([high, *(bucket.low - 1 for bucket in self.buckets if bucket.low > size)])
        return Bucket.of(low, high)


@dataclass
class SizeNames:
    """What sizes may be called: names of symbols (by index), and of sizes that can have no buckets (why)."""

    symbols: dict[str, int] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)

    def add_inputs(self, arguments: Sequence[Argument], symbols: Sequence[Symbol]) -> None:
        """`x.0` for axis 0 of input x."""
        for argument in arguments:
            for axis, dim in enumerate(argument.type.shape):
                self.add(f"{argument.name}.{axis}", dim, symbols)

    def add(self, name: str, dim: Any, symbols: Sequence[Symbol]) -> None:
        """A name of a dim."""
        if dim.is_const:
            self.others[name] = f"it is always {dim}"
        elif isinstance(dim, Sym) and symbols[dim.index].rule is None:
            self.symbols[name] = dim.index
        else:
            self.others[name] = f"it follows from other sizes ({dim})"


def parse_buckets(given: object) -> dict[str, tuple[Bucket, ...]]:
    """The option `buckets`, checked: the buckets of each name in order.

    Raises OptionError for a wrong form, an empty range, a representative outside, or an overlap.
    """
    if not isinstance(given, Mapping):
        raise OptionError(f"buckets must be a mapping from names of sizes to lists of ranges, not {given!r}")
    found: dict[str, tuple[Bucket, ...]] = {}
    for name, items in given.items():
        if not isinstance(name, str) or not isinstance(items, list | tuple) or not items:
            raise OptionError(f"buckets: expected a name and a list of ranges, not {name!r}: {items!r}")
        buckets = sorted(_bucket(name, item) for item in items)
        for one, other in zip(buckets, buckets[1:], strict=False):
            if other.low <= one.high:
                raise OptionError(f"buckets of '{name}' overlap: {one} and {other}")
        found[name] = tuple(buckets)
    return found


def _bucket(name: str, item: object) -> Bucket:
    numbers = list(item) if isinstance(item, list | tuple) else []
    whole = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in numbers)
    if len(numbers) not in (2, 3) or not whole:
        raise OptionError(
            f"buckets of '{name}': expected (low, high) or (low, high, representative), not {item!r}"
        )
    low, high = numbers[:2]
    if low > high:
        raise OptionError(f"buckets of '{name}': the range {low} to {high} is empty")
    bucket = Bucket.of(low, high) if len(numbers) == 2 else Bucket(low, high, numbers[2])
    if bucket.representative not in bucket:
        raise OptionError(
            f"buckets of '{name}': the representative {bucket.representative} is not in {bucket}"
        )
    return bucket


def resolve(
    given: Mapping[str, tuple[Bucket, ...]], names: SizeNames, symbols: Sequence[Symbol]
) -> list[Axis]:
    """The axes that the option's names stand for.

    Raises OptionError for an unknown name (listing the known ones), for a size that is no free symbol, for
    two names of one symbol, and for a bucket outside of the symbol's range.
    """
    axes: dict[int, Axis] = {}
    for name, buckets in given.items():
        if name in names.others:
            raise OptionError(f"buckets: the size '{name}' can have none, {names.others[name]}")
        if name not in names.symbols:
            known = ", ".join(names.symbols) or "none: no dim is dynamic"
            raise OptionError(f"buckets: no size is called '{name}'; the names are {known}")
        index = names.symbols[name]
        if index in axes:
            raise OptionError(f"buckets: '{axes[index].name}' and '{name}' are the same size; name it once")
        low, high = symbols[index].lo or 0, symbols[index].hi
        for bucket in buckets:
            if bucket.low < low or (high is not None and bucket.high > high):
                limit = f"at least {low}" if high is None else f"{low} to {high}"
                raise OptionError(
                    f"buckets: {bucket} is not in the range of '{name}', which is {limit}; "
                    "change the bucket, or the Dim in dynamic_shapes"
                )
        axes[index] = Axis(index, name, buckets, low, high)
    return [axes[index] for index in sorted(axes)]


def resolve_traced(
    given: Mapping[str, tuple[Bucket, ...]], names: Mapping[str, int], symbols: Sequence[Symbol]
) -> list[Axis]:
    """The same for a graph that Dynamo traced, where a size may be a constant in one graph and dynamic in
    another: names that this graph doesn't have are left out, and buckets are cut to the range that Dynamo
    assumes.
    """
    axes: dict[int, Axis] = {}
    for name, buckets in given.items():
        index = names.get(name)
        if index is None or symbols[index].rule is not None:
            continue
        if index in axes:
            raise OptionError(f"buckets: '{axes[index].name}' and '{name}' are the same size; name it once")
        low, high = symbols[index].lo or 0, symbols[index].hi
        cut = []
        for bucket in buckets:
            least = max(bucket.low, low)
            most = bucket.high if high is None else min(bucket.high, high)
            if least <= most:
                cut.append(Bucket(least, most, min(max(bucket.representative, least), most)))
        if cut:
            axes[index] = Axis(index, name, tuple(cut), low, high)
    return [axes[index] for index in sorted(axes)]
