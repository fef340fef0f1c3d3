"""Index maps, shapes and reduction axes as short keys, and the oracle that answers the rules' questions about
them.

egglog terms hold keys ("m3", "s1", "a2"); this table holds what they mean as canonical symbolic expressions.
Rules that need affine algebra
put a question into a `*-wanted` relation; `IndexTable.answer` turns every open question into facts between
two rounds of saturation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from ...dialects.symbolic import Atom, DimVar, Expr, IndexMap, const, product
from .constants import exact_reciprocal_key, reciprocal_key
from .contract_schedules import contract_schedules

Dims = tuple[Expr, ...]

SMALL = 1 << 18
"""Products of a contraction (a few microseconds) below which no schedule but the default is offered."""

MAX_INDICES = 6
"""Most index tensors one gather or scatter may have: the rank limit of indexing in practice."""


@dataclass(frozen=True)
class Gather:
    """Source coordinates from (result coordinates..., index values...); `source` are the source's dims."""

    extents: Dims
    indices: int
    results: Dims
    source: Dims

    def value_var(self, k: int) -> DimVar:
        """The variable of index value k."""
        return DimVar(len(self.extents) + k, None)

    def apply(self, coords: Dims) -> Dims:
        """The source coordinates (still in terms of the index values) at the given result coordinates."""
        swap: dict[Atom, Expr] = {
            d: c for d, c in zip(dims_for(self.extents), coords, strict=True) if isinstance(d, DimVar)
        }
        return tuple(r.substitute(swap) for r in self.results)


@dataclass(frozen=True)
class Axes:
    """A reduction of the axes `axes` of an operand with dims `operand`."""

    operand: Dims
    axes: tuple[int, ...]

    @property
    def extents(self) -> Dims:
        """Extents of the reduced axes."""
        return tuple(self.operand[a] for a in self.axes)

    def operand_coords(self, outer: Dims, reduced: Dims) -> Dims:
        """Operand coordinates from the result's coordinates and the reduced ones."""
        rest, summed = iter(outer), iter(reduced)
        return tuple(next(summed) if i in self.axes else next(rest) for i in range(len(self.operand)))


@dataclass(frozen=True)
class Contraction:
    """Sum over k of lhs[lhs_map] * rhs[rhs_map]; maps take (result dims..., k dims...)."""

    result: Dims
    summed: Dims
    lhs: IndexMap
    rhs: IndexMap
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def panel_dims(self, width: int) -> Dims:
        """Shape of the right operand in panels: [*batch, ceil(N / width), K, width]."""
        columns = product(self.result[i] for i in self.columns)
        batch = tuple(self.result[i] for i in self.batch)
        return (*batch, (columns + (width - 1)) // width, product(self.summed), const(width))


def extents_of(index_map: IndexMap) -> Dims:
    """The extents of a map whose coordinates are all loop coordinates."""
    return tuple(e for e in index_map.extents if e is not None)


def dims_for(extents: Dims) -> Dims:
    """One coordinate variable per extent; an axis of extent 1 has only the coordinate 0."""
    return tuple(const(0) if e is const(1) else DimVar(i, e) for i, e in enumerate(extents))


Inverse = list[tuple[int, Expr, int] | Expr]


class IndexTable:
    """Interns maps, shapes, axes and contractions; answers the oracle's questions."""

    def __init__(
        self, panel_width: int = 0, symbols: dict[Atom, int] | None = None, library: bool = False
    ) -> None:
        self.panel_width = panel_width
        self._library = library
        self._symbols = symbols
        self._keys: dict[object, str] = {}
        self._values: dict[str, object] = {}
        self._answered: set[tuple[str, ...]] = set()
        self._facts: list[str] = []
        self._inverses: dict[str, Inverse | None] = {}

    def _intern(self, prefix: str, value: object) -> tuple[str, bool]:
        key = self._keys.get(value)
        if key is not None:
            return key, False
        key = f"{prefix}{len(self._keys)}"
        self._keys[value] = key
        self._values[key] = value
        return key, True

    def map(self, extents: Dims, results: Dims) -> str:
        """Key of an index map; states its facts (insertable, planes) when it is new."""
        only = _only_coordinates(extents)
        key, new = self._intern("m", IndexMap(tuple(extents), tuple(r.substitute(only) for r in results)))
        if new:
            self._facts.extend(_map_facts(key, self.get_map(key)))
        return key

    def shape(self, dims: Dims) -> str:
        """Key of a shape; states its identity map when it is new."""
        key, new = self._intern("s", ("shape", tuple(dims)))
        if new:
            identity = self.map(tuple(dims), dims_for(tuple(dims)))
            self._facts.append(f'(set (identity-map "{key}") "{identity}")')
        return key

    def gather(self, extents: Dims, indices: int, results: Dims, source: Dims) -> str:
        """Key of a gather's map; states whether it picks one of two planes."""
        results = tuple(r.substitute(_only_coordinates(extents)) for r in results)
        gather = Gather(tuple(extents), indices, results, tuple(source))
        key, new = self._intern("g", gather)
        picks = (gather.value_var(0), *dims_for(gather.extents)) if indices == 1 else None
        if new and source and source[0] is const(2) and results == picks:
            self._facts.append(f'(plane-select "{key}")')
        return key

    def scatter(self, extents: Dims, indices: int, results: Dims) -> str:
        """Key of a scatter's map from (update coordinates..., index values...) to base coordinates."""
        return self.map(extents, results) if not indices else self.gather(extents, indices, results, ())

    def axes(self, operand: Dims, axes: tuple[int, ...]) -> str:
        """Key of a reduction's axes."""
        key, new = self._intern("a", Axes(tuple(operand), tuple(axes)))
        if new and axes == (0,) and operand[0] is const(2):
            self._facts.append(f'(pair-axis "{key}")')
        return key

    def get_map(self, key: str) -> IndexMap:
        value = self._values[key]
        assert isinstance(value, IndexMap)
        return value

    def inverse(self, key: str) -> Inverse | None:
        """The linear inverse of a map, if it has one."""
        if key not in self._inverses:
            self._inverses[key] = linear_inverse(self.get_map(key))
        return self._inverses[key]

    def get_gather(self, key: str) -> Gather:
        value = self._values[key]
        assert isinstance(value, Gather)
        return value

    def get_axes(self, key: str) -> Axes:
        value = self._values[key]
        assert isinstance(value, Axes)
        return value

    def get_contraction(self, key: str) -> Contraction:
        value = self._values[key]
        assert isinstance(value, Contraction)
        return value

    def get_shape(self, key: str) -> Dims:
        value = self._values[key]
        assert isinstance(value, tuple)
        return value[1]

    @property
    def has_facts(self) -> bool:
        """Whether facts wait to be taken."""
        return bool(self._facts)

    def take_facts(self) -> list[str]:
        """Facts stated since the last call, as egglog commands."""
        facts, self._facts = self._facts, []
        return facts

    def answer(self, questions: list[tuple[str, ...]]) -> None:
        """Answer questions, for instance ("compose-wanted", m, n), once each."""
        for question in questions:
            if question in self._answered:
                continue
            self._answered.add(question)
            relation, *keys = question
            topic = relation.replace("-wanted", "")
            if topic.startswith("gather-view"):
                found = self._gather_view(*keys)
            else:
                found = _ANSWERS[topic](self, *keys)
            if found is not None:
                self._facts.append(f'(set ({topic} {" ".join(map(_quoted, keys))}) "{found}")')

    def _compose(self, outer_key: str, inner_key: str) -> str | None:
        outer, inner = self.get_map(outer_key), self.get_map(inner_key)
        if len(outer.results) != len(inner.extents):
            return None  # two views of one constant, which has no shape of its own
        return self.map(extents_of(outer), inner.apply(outer.results))

    def _index_sum(self, first: str, second: str) -> str | None:
        a, b = self.get_map(first), self.get_map(second)
        if extents_of(a) != extents_of(b):
            return None
        return self._index(extents_of(a), a.results[0] + b.results[0])

    def _index_shift(self, key: str, value: str) -> str | None:
        index, number = self.get_map(key), int(value)
        return self._index(extents_of(index), index.results[0] + number)

    def _index_scale(self, key: str, value: str) -> str | None:
        index, number = self.get_map(key), int(value)
        return self._index(extents_of(index), index.results[0] * number)

    def _index(self, extents: Dims, value: Expr) -> str | None:
        return self.map(extents, (value,)) if _stays_in_i64(value) else None

    def _index_less(self, key: str, value: str) -> str | None:
        low, high = self.get_map(key).results[0].bounds()
        if low is not None and low >= int(value):
            return "0"
        return "1" if high is not None and high < int(value) else None

    def _gather_view(self, gather_key: str, *index_keys: str) -> str | None:
        gather, maps = self.get_gather(gather_key), [self.get_map(k) for k in index_keys]
        if any(extents_of(m) != gather.extents for m in maps):
            return None
        swap: dict[Atom, Expr] = {gather.value_var(k): m.results[0] for k, m in enumerate(maps)}
        coords = tuple(r.substitute(swap) for r in gather.results)
        if not all(inside(c, e) for c, e in zip(coords, gather.source, strict=True)):
            return None  # a gather clamps, a view must not need to
        return self.map(gather.extents, coords)

    def _contraction(self, axes_key: str, lhs_key: str, rhs_key: str) -> str | None:
        axes, maps = self.get_axes(axes_key), (self.get_map(lhs_key), self.get_map(rhs_key))
        if any(extents_of(m) != axes.operand for m in maps):
            return None  # a view of a constant, which has no shape of its own
        contraction = classify(axes, *maps)
        if contraction is None:
            return None
        key, new = self._intern("k", contraction)
        if new:
            self._offer_schedules(key, contraction)
            if self.panel_width:
                self._facts.append(f'(packable "{key}" {self.panel_width})')
        return key

    def _offer_schedules(self, key: str, contraction: Contraction) -> None:
        """States the schedules that are worth measuring; none without sizes for the symbols."""
        if self._symbols is None:
            return
        batch, rows, columns = (
            prod(contraction.result[i].evaluate(self._symbols) for i in axes)
            for axes in (contraction.batch, contraction.rows, contraction.columns)
        )
        summed = sizes(contraction.summed, self._symbols)
        if batch * rows * columns * summed < SMALL:
            return
        for width in (None, self.panel_width) if self.panel_width else (None,):
            schedules = contract_schedules(batch, rows, columns, summed, packed=width)[1:]
            if self._library and width is None:
                schedules.append({"library": "blas"})
            for schedule in schedules:
                named, _ = self._intern("h", tuple(sorted(schedule.items())))
                fact = f'schedule "{key}"' if width is None else f'panel-schedule "{key}" {width}'
                self._facts.append(f'({fact} "{named}")')

    def get_schedule(self, key: str) -> dict[str, Any]:
        value = self._values[key]
        assert isinstance(value, tuple)
        return dict(value)

    def _streams(self, contraction_key: str, axes_key: str, spread_key: str) -> str | None:
        contraction, axes = self.get_contraction(contraction_key), self.get_axes(axes_key)
        spread = self.get_map(spread_key)
        coords = dims_for(axes.operand)
        rows = tuple(c for i, c in enumerate(coords) if i not in axes.axes)
        if spread.extents != axes.operand or spread.results != rows:
            return None
        results = contraction.lhs.results
        outer = len(contraction.result)
        summed = [v for v in dims_for(extents_of(contraction.lhs))[outer:] if isinstance(v, DimVar)]
        along = [results[i] for i in axes.axes if axes.operand[i] is not const(1)]
        if len(results) != len(coords) or along != summed:
            return None
        if any(v.extent is not e for v, e in zip(summed, _long(axes.extents), strict=True)):
            return None
        free = {a for i, r in enumerate(results) if i not in axes.axes for a in r.atoms()}
        return None if free.intersection(summed) else "yes"


_ANSWERS: dict[str, Callable[..., str | None]] = {
    "reciprocal": lambda _, dtype, key: reciprocal_key(dtype, key),
    "exact-reciprocal": lambda _, dtype, key: exact_reciprocal_key(dtype, key),
    "compose": IndexTable._compose,
    "contraction": IndexTable._contraction,
    "streams": IndexTable._streams,
    "index-sum": IndexTable._index_sum,
    "index-shift": IndexTable._index_shift,
    "index-scale": IndexTable._index_scale,
    "index-less": IndexTable._index_less,
}
QUESTIONS = (
    *(f"{topic}-wanted" for topic in _ANSWERS),
    *(f"gather-view-wanted-{count}" for count in range(1, MAX_INDICES + 1)),
)
"""Relations that hold questions."""


def _quoted(key: str) -> str:
    return f'"{key}"'


def _stays_in_i64(value: Expr) -> bool:
    """Whether an integer surely is what i64 arithmetic makes of it. Where a symbol has no upper bound, the
    coefficients must leave room for any size that fits into memory.
    """
    if any(bound is not None and abs(bound) > _LARGEST for bound in value.bounds()):
        return False
    if None not in value.bounds():
        return True
    return sum(abs(coefficient) for _, coefficient in value.terms) < _LARGEST_UNBOUNDED


_LARGEST = 1 << 62
_LARGEST_UNBOUNDED = 1 << 31


def _long(extents: Dims) -> Dims:
    return tuple(e for e in extents if e is not const(1))


def inside(coord: Expr, extent: Expr) -> bool:
    """Whether 0 <= coord < extent is proved."""
    low = coord.bounds()[0]
    slack = (extent - 1 - coord).bounds()[0]
    return low is not None and low >= 0 and slack is not None and slack >= 0


def classify(axes: Axes, lhs: IndexMap, rhs: IndexMap) -> Contraction | None:
    """Dims of a sum of products as batch (both operands), rows (lhs only) and columns (rhs only); None if it
    is no contraction.
    """
    outer = tuple(e for i, e in enumerate(axes.operand) if i not in axes.axes)
    n = len(outer)
    variables = dims_for(outer + axes.extents)
    operand = axes.operand_coords(variables[:n], variables[n:])
    lhs_map = IndexMap(outer + axes.extents, lhs.apply(operand))
    rhs_map = IndexMap(outer + axes.extents, rhs.apply(operand))
    uses = [{a for r in m.results for a in r.atoms()} for m in (lhs_map, rhs_map)]
    batch, rows, columns = [], [], []
    for i, variable in enumerate(variables[:n]):
        in_lhs, in_rhs = variable in uses[0], variable in uses[1]
        if in_lhs and in_rhs:
            batch.append(i)
        elif in_rhs:
            columns.append(i)
        elif in_lhs or outer[i] is const(1):
            rows.append(i)
        else:
            return None
    if any((v in uses[0]) != (v in uses[1]) for v in variables[n:]) or not columns:
        return None
    if not all(v in uses[0] for v, e in zip(variables[n:], axes.extents, strict=True) if e is not const(1)):
        return None
    return Contraction(outer, axes.extents, lhs_map, rhs_map, tuple(batch), tuple(rows), tuple(columns))


def linear_inverse(m: IndexMap) -> Inverse | None:
    """For each result of `m`: (dim, offset, stride) when it is stride*dim + offset, or a constant expression;
    None if not invertible.

    Every dim of extent other than 1 must stand in exactly one result.
    """
    found: Inverse = []
    seen: set[int] = set()
    variables = dims_for(extents_of(m))
    for result in m.results:
        used = [i for i, v in enumerate(variables) if isinstance(v, DimVar) and v in result.atoms()]
        if not used:
            found.append(result)
            continue
        if len(used) > 1 or used[0] in seen:
            return None
        variable = variables[used[0]]
        stride = result.coefficient(variable) if isinstance(variable, DimVar) else None
        if stride is None or not stride.is_const or stride.value <= 0:
            return None
        seen.add(used[0])
        found.append((used[0], result - variable * stride, stride.value))
    if any(i not in seen and e is not const(1) for i, e in enumerate(m.extents)):
        return None
    return found


def _map_facts(key: str, m: IndexMap) -> list[str]:
    facts = []
    variables = dims_for(extents_of(m))
    if len(m.results) == len(variables) + 1 and m.results[1:] == variables:
        for plane in (0, 1):
            if m.results[0] is const(plane):
                facts.append(f'(plane "{key}" {plane})')
    if linear_inverse(m) is not None:
        facts.append(f'(insertable "{key}")')
    return facts


def _only_coordinates(extents: Dims) -> dict[Atom, Expr]:
    """An axis of extent 1 has only the coordinate 0."""
    return {DimVar(i, e): const(0) for i, e in enumerate(extents) if e is const(1)}


def sizes(extents: Dims, values: dict[Atom, int]) -> int:
    """Product of extents at the given symbol values."""
    return prod(e.evaluate(values) for e in extents)
