"""Row scratch: a costly value that several loops over the same extent compute again is computed once into
`kernel.local`.

softmax:  sum_r exp(x[i, r] - m)  and  exp(x[i, j] - m) / sum     =>     e = local_q exp(x[i, q] - m);  e[j] /
sum_r e[r]
"""

from __future__ import annotations

from ...dialects.symbolic import Atom, DimVar, Expr
from .analysis import SCALAR_WORK
from .body import Bodies, Value, Var

LEAST_WORK = 8.0
"""Vector operations per element from which keeping a value beats computing it again (a store, a load and
their addresses).
"""


def keep_rows(bodies: Bodies, root: Value, loops: tuple[Var, ...]) -> Value:
    """The body with shared row values kept; `loops`: the region's coordinate variables, outermost first."""
    while True:
        group = _largest_group(bodies, root, loops)
        if group is None:
            return root
        extent = group[0][1].extent
        assert extent is not None
        var = bodies.fresh(extent)
        body = _Substitution(bodies, group[0][1], var).visit(group[0][0])
        assert body is not None
        local = bodies.make("local", (body,), ((var,),), body.dtype, body.deps - {var})
        mapping = {value: bodies.load(local, (along,), False, body.dtype) for value, along in group}
        mapping = {v: _with_deps(bodies, new, local.deps) for v, new in mapping.items()}
        root = _replace(bodies, root, mapping)


def _with_deps(bodies: Bodies, load: Value, deps: frozenset[Var]) -> Value:
    return bodies.make(load.op, (*load.args, load.attrs[0]), load.attrs, load.dtype, load.deps | deps)


def _largest_group(bodies: Bodies, root: Value, loops: tuple[Var, ...]) -> list[tuple[Value, Var]] | None:
    """The outermost value that is computed along two or more loop variables, with those variables."""
    values = _walk(root)
    inner = {v.attrs[1][0] for v in values if v.op == "reduce" and len(v.attrs[1]) == 1}
    inner |= {v.attrs[0][0] for v in values if v.op == "local"}
    inner |= set(loops[-1:])
    if len(inner) < 2:
        return None
    rows = set(loops[:-1])
    work = _Work()
    moves = {var: _Substitution(bodies, var, DimVar(999, var.extent)) for var in inner}
    groups: dict[Value, list[tuple[Value, Var]]] = {}
    for value in reversed(values):
        along = value.deps & inner
        if len(along) != 1 or not value.deps - along <= rows or value.op in _FREE:
            continue
        (var,) = along
        if work.along(value, var) < LEAST_WORK:
            continue
        normal = moves[var].visit(value)
        if normal is not None:
            groups.setdefault(normal, []).append((value, var))
    shared = [g for g in groups.values() if len({v for _, v in g}) > 1]
    return max(shared, key=lambda g: work.along(*g[0]), default=None)


_FREE = ("load", "constant", "index_value", "to_index")


class _Work:
    """Vector operations per element of a value along one variable (shared operands count once per use)."""

    def __init__(self) -> None:
        self._memo: dict[tuple[Value, Var], float] = {}

    def along(self, value: Value, var: Var) -> float:
        if var not in value.deps:
            return 0.0
        key = (value, var)
        if key not in self._memo:
            self._memo[key] = SCALAR_WORK.get(value.op, 1.0) + sum(self.along(a, var) for a in value.args)
        return self._memo[key]


class _Substitution:
    """Values along another variable; None if a reduce or a runtime index inside depends on the old one."""

    def __init__(self, bodies: Bodies, var: Var, new: Var) -> None:
        self.bodies, self.var, self.new = bodies, var, new
        self._memo: dict[Value, Value | None] = {}

    def visit(self, value: Value) -> Value | None:
        if self.var not in value.deps:
            return value
        if value not in self._memo:
            self._memo[value] = self._move(value)
        return self._memo[value]

    def _move(self, value: Value) -> Value | None:
        bodies = self.bodies
        swap: dict[Atom, Expr] = {self.var: self.new}
        if value.op in ("reduce", "local", "to_index", "contract"):
            return None
        if value.op == "load":
            source, coords, masked = value.attrs
            if any(a.op == "to_index" for a in value.args):
                return None
            moved = bodies.load(source, tuple(c.substitute(swap) for c in coords), masked, value.dtype)
            return _with_deps(bodies, moved, source.deps) if isinstance(source, Value) else moved
        if value.op == "index_value":
            return bodies.index_value(value.attrs[0].substitute(swap))
        args = [self.visit(a) for a in value.args]
        kept = tuple(a for a in args if a is not None)
        if len(kept) < len(args):
            return None
        return bodies.make(
            value.op, kept, value.attrs, value.dtype, frozenset().union(*(a.deps for a in kept))
        )


def _replace(bodies: Bodies, root: Value, mapping: dict[Value, Value]) -> Value:
    memo: dict[Value, Value] = dict(mapping)

    def visit(v: Value) -> Value:
        if v not in memo:
            args = tuple(visit(a) for a in v.args)
            if args == v.args:
                memo[v] = v
            else:
                bound = set(v.attrs[1]) if v.op == "reduce" else set(v.attrs[0]) if v.op == "local" else set()
                attrs = v.attrs
                if v.op == "load" and isinstance(attrs[0], Value):
                    attrs = (args[-1], *attrs[1:])
                deps = v.deps if v.op == "load" else frozenset().union(*(a.deps for a in args)) - bound
                memo[v] = bodies.make(v.op, args, attrs, v.dtype, deps)
        return memo[v]

    return visit(root)


def _walk(root: Value) -> list[Value]:
    from .kernels import walk

    return walk(root)
