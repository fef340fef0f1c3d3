"""Integer expressions as code: offsets and coordinates, scalar or one per lane, each part in the outermost
scope.

Also what can be told of an expression without code: by how much it grows from lane to lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...dialects.symbolic import (
    ZERO,
    Atom,
    DimVar,
    Expr,
    FloorDiv,
    Min,
    Mod,
    Sym,
    as_expr,
    const,
    is_nonnegative,
)
from ...dialects.symbolic.expr import Monomial, sum_of
from .emit import Names, Scope, VectorLoop, type_text
from .tree import Node, dependences_of

_Term = tuple[Monomial, int]


def expression_dependences(scope: Scope, expr: Expr) -> frozenset[DimVar]:
    """The coordinates an expression depends on, through index values as well."""
    return dependences_of(expr, _nodes(scope))


def _nodes(scope: Scope) -> dict[DimVar, Node]:
    return scope.kernel.index_nodes  # type: ignore[return-value]


def scalar_index(scope: Scope, expr: Expr, vector: int = 0) -> str:
    """The value of `expr` as an i64; where it depends on the vector loop, at lane 0 of vector number
    `vector`.
    """
    if expr.is_const:
        return scope.kernel.index_constant(expr.value)
    dependences = expression_dependences(scope, expr)
    home = scope.home(dependences)
    key = (expr, vector if home.vector_for(dependences) else 0)
    if key not in home.values:
        home.values[key] = (_scalar_sum(home, expr, vector),)
    return home.values[key][0]


def _scalar_sum(home: Scope, expr: Expr, vector: int) -> str:
    outer, here = _split(expr, lambda term: _depth(home, term) < home.depth)
    total = scalar_index(home, outer, vector) if outer.terms else None
    for monomial, coefficient in here:
        term = _scalar_product(home, monomial, coefficient, vector)
        total = term if total is None else home.assign(f"arith.addi {total}, {term} : i64")
    return total if total is not None else home.kernel.index_constant(0)


def _split(expr: Expr, outside: Callable[[_Term], bool]) -> tuple[Expr, list[_Term]]:
    outer = [term for term in expr.terms if outside(term)]
    return sum_of(outer), [term for term in expr.terms if not outside(term)]


def _depth(scope: Scope, term: _Term) -> int:
    return scope.home(expression_dependences(scope, sum_of([term]))).depth


def _scalar_product(home: Scope, monomial: Monomial, coefficient: int, vector: int) -> str:
    if not monomial:
        return home.kernel.index_constant(coefficient)
    result: str | None
    if len(monomial) > 1 and _is_split(home, monomial):
        # Symbols and outer coordinates first: their product stays outside.
        depths = [_depth(home, ((atom,), 1)) for atom in monomial]
        outer = tuple(atom for atom, depth in zip(monomial, depths, strict=True) if depth < home.depth)
        inner = tuple(atom for atom, depth in zip(monomial, depths, strict=True) if depth == home.depth)
        result = scalar_index(home, sum_of([(outer, coefficient)]), vector)
        factors = inner
    else:
        result = None if coefficient == 1 else home.kernel.index_constant(coefficient)
        factors = monomial
    for atom in factors:
        value = _scalar_atom(home, atom, vector)
        result = value if result is None else home.assign(f"arith.muli {result}, {value} : i64")
    assert result is not None
    return result


def _is_split(home: Scope, monomial: Monomial) -> bool:
    return len({_depth(home, ((atom,), 1)) < home.depth for atom in monomial}) > 1


def _scalar_atom(scope: Scope, atom: Atom, vector: int) -> str:
    if isinstance(atom, Sym):
        return scope.kernel.symbol(atom.index)
    if isinstance(atom, DimVar):
        node = _nodes(scope).get(atom)
        if node is not None:
            return _node_value(scope, node)[0]
        names = scope.bound[atom]
        return names[vector if len(names) > 1 else 0]
    arguments = [scalar_index(scope, argument, vector) for argument in atom.arguments]
    home = scope.home(expression_dependences(scope, atom))
    key = (atom, "atom", vector)
    if key not in home.values:
        home.values[key] = (_apply(home, atom, arguments, 0),)
    return home.values[key][0]


def _node_value(scope: Scope, node: Node) -> Names:
    from .body import emit_value

    return emit_value(scope.kernel, node, scope)


def _apply(scope: Scope, atom: Atom, arguments: Sequence[str], lanes: int) -> str:
    """floor division, remainder, minimum or maximum of i64 values (or vectors of them)."""
    kind = type_text("i64", lanes)
    if not isinstance(atom, FloorDiv | Mod):
        op = "minsi" if isinstance(atom, Min) else "maxsi"
        result = arguments[0]
        for other in arguments[1:]:
            result = scope.assign(f"arith.{op} {result}, {other} : {kind}")
        return result
    dividend, divisor = atom.arguments
    quotient = isinstance(atom, FloorDiv)
    x, y = arguments
    if divisor.is_const and divisor.value > 0 and divisor.value & (divisor.value - 1) == 0:
        op, number = ("shrsi", divisor.value.bit_length() - 1) if quotient else ("andi", divisor.value - 1)
        return scope.assign(f"arith.{op} {x}, {scope.kernel.constant('i64', number, lanes)} : {kind}")
    least = divisor.bounds()[0]
    if least is None or least < 1:  # this code may be hoisted to where nothing guards it
        y = scope.assign(f"arith.maxsi {y}, {scope.kernel.constant('i64', 1, lanes)} : {kind}")
    if is_nonnegative(dividend):
        return _divide_unsigned(scope, "divui" if quotient else "remui", x, y, atom, lanes)
    remainder = scope.assign(f"arith.remsi {x}, {y} : {kind}")
    zero = scope.kernel.constant("i64", 0, lanes)
    negative = scope.assign(f"arith.cmpi slt, {remainder}, {zero} : {kind}")
    if quotient:
        result = scope.assign(f"arith.divsi {x}, {y} : {kind}")
        correction = scope.assign(f"arith.extsi {negative} : {type_text('i1', lanes)} to {kind}")
        return scope.assign(f"arith.addi {result}, {correction} : {kind}")
    shifted = scope.assign(f"arith.addi {remainder}, {y} : {kind}")
    flags = f"{type_text('i1', lanes)}, " if lanes else ""
    return scope.assign(f"arith.select {negative}, {shifted}, {remainder} : {flags}{kind}")


def _divide_unsigned(scope: Scope, op: str, x: str, y: str, atom: Atom, lanes: int) -> str:
    """32-bit division where the values fit: LLVM has vector code for constant divisors then."""
    kind = type_text("i64", lanes)
    highs = [argument.bounds()[1] for argument in atom.arguments]
    if any(high is None or high >= 1 << 31 for high in highs):
        return scope.assign(f"arith.{op} {x}, {y} : {kind}")
    narrow = type_text("i32", lanes)
    x, y = (scope.assign(f"arith.trunci {value} : {kind} to {narrow}") for value in (x, y))
    result = scope.assign(f"arith.{op} {x}, {y} : {narrow}")
    return scope.assign(f"arith.extui {result} : {narrow} to {kind}")


def vector_index(scope: Scope, expr: Expr, loop: VectorLoop) -> Names:
    """The value of `expr` in each lane: a vector of i64 for each vector of the loop."""
    key = (expr, "lanes")
    home = scope.home(expression_dependences(scope, expr) | {loop.atom})
    if key not in home.values:
        home.values[key] = tuple(_vector_sum(home, expr, loop, u) for u in range(loop.count))
    return home.values[key]


def _vector_sum(scope: Scope, expr: Expr, loop: VectorLoop, vector: int) -> str:
    kind = type_text("i64", loop.lanes)
    simple, rest = _split(expr, lambda term: _linear(scope, term, loop))
    base = scalar_index(scope, simple, vector)
    total = scope.assign(f"vector.broadcast {base} : i64 to {kind}")
    stride = simple.coefficient(loop.atom)
    assert stride is not None
    if stride is not ZERO:
        steps = scope.kernel.steps("i64", loop.lanes)
        if stride is not as_expr(1):
            factor = scope.assign(f"vector.broadcast {scalar_index(scope, stride)} : i64 to {kind}")
            steps = scope.assign(f"arith.muli {steps}, {factor} : {kind}")
        total = scope.assign(f"arith.addi {total}, {steps} : {kind}")
    for monomial, coefficient in rest:
        outer = [atom for atom in monomial if loop.atom not in expression_dependences(scope, atom)]
        product = None
        if outer or coefficient != 1:
            factor = scalar_index(scope, sum_of([(tuple(outer), coefficient)]), vector)
            product = scope.assign(f"vector.broadcast {factor} : i64 to {kind}")
        for atom in monomial:
            if atom not in outer:
                value = _vector_atom(scope, atom, loop, vector)
                product = (
                    value if product is None else scope.assign(f"arith.muli {product}, {value} : {kind}")
                )
        total = scope.assign(f"arith.addi {total}, {product} : {kind}")
    return total


def _linear(scope: Scope, term: _Term, loop: VectorLoop) -> bool:
    expr = sum_of([term])
    if loop.atom not in expression_dependences(scope, expr):
        return True
    inside = [atom for atom in term[0] if loop.atom in expression_dependences(scope, atom)]
    return inside == [loop.atom]


def _vector_atom(scope: Scope, atom: Atom, loop: VectorLoop, vector: int) -> str:
    node = _nodes(scope).get(atom) if isinstance(atom, DimVar) else None
    if node is not None:
        return _node_value(scope, node)[vector]
    if atom is loop.atom:
        return vector_index(scope, atom, loop)[vector]
    arguments = [vector_index(scope, argument, loop)[vector] for argument in atom.arguments]
    return _apply(scope, atom, arguments, loop.lanes)


def lane_stride(scope: Scope, expr: Expr, loop: VectorLoop) -> Expr | None:
    """By how much `expr` grows from lane to lane, the same for all lanes of a vector; None if there is no
    such number.

    Besides linear expressions this finds those like (d + 32) mod 64 that wrap between vectors only, never
    inside one.
    """
    for atom in expr.atoms():
        node = _nodes(scope).get(atom) if isinstance(atom, DimVar) else None
        if node is not None and loop.atom in node.dependences:
            return None
    return _stride(expr, loop)


def _stride(expr: Expr, loop: VectorLoop) -> Expr | None:
    total: Expr = ZERO
    for monomial, coefficient in expr.terms:
        moving = [atom for atom in monomial if loop.atom in atom.atoms()]
        if not moving:
            continue
        stride = _atom_stride(moving[0], loop)
        if stride is None or len(moving) > 1:
            return None
        rest = tuple(atom for atom in monomial if atom is not moving[0])
        total = total + sum_of([(rest, coefficient)]) * stride
    return total


def _atom_stride(atom: Atom, loop: VectorLoop) -> Expr | None:
    if atom is loop.atom:
        return const(1)
    if not isinstance(atom, FloorDiv | Mod):
        return None
    value, divisor = atom.arguments
    stride = _stride(value, loop)
    if stride is None or not stride.is_const or not divisor.is_const or not loop.aligned:
        return None
    step = stride.value * loop.lanes
    if step == 0:
        return ZERO
    if step < 0 or divisor.value % step or not _multiple(value, step, loop):
        return None
    return ZERO if isinstance(atom, FloorDiv) else stride


def _multiple(expr: Expr, step: int, loop: VectorLoop) -> bool:
    """Whether `expr` is a multiple of `step` at lane 0 of every vector."""
    for monomial, coefficient in expr.terms:
        scale = loop.lanes if loop.atom in monomial else 1
        if coefficient * scale % step:
            return False
    return True


def is_aligned(expr: Expr, loop: VectorLoop) -> bool:
    """Whether an offset is a multiple of the vector's length at lane 0 of every vector."""
    return loop.aligned and _multiple(expr, loop.lanes, loop)
