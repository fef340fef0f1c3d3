"""Symbolic expressions: identities that must hold by object identity, and random ones that must keep their
value.
"""

from __future__ import annotations

import pickle
import random

import pytest

from luminal.dialects.mlir import context, ir
from luminal.dialects.symbolic import (
    DimVar,
    Expr,
    IndexMap,
    Sym,
    compiled,
    const,
    dim_vars,
    in_range,
    is_nonnegative,
    less_equal,
    maximum,
    minimum,
    parse,
    product,
    reshape_map,
    symbols_in_scope,
)

S0, S1 = Sym(0, 1, 512), Sym(1, 1, None)


def test_equal_expressions_are_one_object():
    assert 8 * S0 is S0 * 8
    assert S0 + 1 - 1 is S0
    assert (S0 + 1) * S0 is S0 * S0 + S0
    assert minimum(S0 + 1, S0) is S0
    assert maximum(S0, 1) is S0
    assert (8 * S0) // 8 is S0
    assert (8 * S0) % 8 is const(0)
    assert minimum(S0 + 1, 9) is minimum(9, 1 + S0) is minimum(S0, 8) + 1
    assert minimum(S0, minimum(S1, 4)) is minimum(4, S1, S0)
    assert -((-S0) // 8) is (S0 + 7) // 8
    assert S0 % 600 is S0


def test_coordinates_leave_divisions_by_their_extents():
    d0, d1 = dim_vars((S0, S1))
    assert (d0 * S1 + d1) // S1 is d0
    assert (d0 * S1 + d1) % S1 is d1
    e0, e1 = dim_vars((8, 64))
    assert (64 * e0 + e1) % 64 is e1
    assert (64 * e0 + e1) // 64 is e0
    assert (64 * e0 + e1) // 32 is 2 * e0 + e1 // 32
    assert (7 - e0) // 8 is const(0)


def test_quotient_and_remainder_join():
    (x,) = dim_vars((4096,))
    assert 8 * (x // 8) + x % 8 is x
    assert 64 * (x // 64) + 8 * ((x // 8) % 8) + x % 8 is x
    assert 8 * ((x // 8) % 8) + x % 8 is x % 64


def test_ranges_and_proofs():
    assert S0.bounds() == (1, 512)
    assert (3 * S0 - 1).bounds() == (2, 1535)
    assert (S0 // 8).bounds() == (0, 64)
    assert less_equal(S0, (S0 + 7) // 8 * 8)
    assert is_nonnegative(S0 * S1 - S1)
    assert not is_nonnegative(S0 - S1)
    d0, d1 = dim_vars((S0, S1))
    assert in_range(d0 * S1 + d1, S0 * S1)
    assert not in_range(d0 * S1 + d1 + 1, S0 * S1)
    unbounded = DimVar(0, None)
    assert unbounded.bounds() == (None, None)
    assert not is_nonnegative(unbounded)


def test_coefficients():
    d0, d1 = dim_vars((S0, S1))
    assert (d0 * S1 + d1).coefficient(d0) is S1
    assert (d0 * S1 + d1).coefficient(DimVar(2, 4)) is const(0)
    assert (d0 // 2).coefficient(d0) is None
    assert (d0 * d0).coefficient(d0) is None


def test_refusals():
    with pytest.raises(ZeroDivisionError):
        S0 // 0
    with pytest.raises(ValueError, match="empty range"):
        Sym(3, 2, 1)
    with pytest.raises(TypeError):
        S0 + 1.5  # type: ignore[operator]
    with pytest.raises(ValueError, match="malformed"):
        parse("s0 ** 2", {"s0": S0})
    with pytest.raises(ValueError, match="not a constant"):
        _ = S0.value


def test_text_compilation_and_pickling():
    expr = minimum(S0 + 1, 9) * 4 + (S0 * 3) // (S1 + 1) - S1 % 7
    assert parse(str(expr), {"s0": S0, "s1": S1}) is expr
    assert compiled((expr, S1), 2)((5, 10)) == (expr.evaluate({S0: 5, S1: 10}), 10)
    assert pickle.loads(pickle.dumps(expr)) is expr


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ((S0, S1, 64), (S0 * S1, 8, 8), "(d0, d1, d2) -> (d0 floordiv s1, d0 mod s1, d1 * 8 + d2)"),
        ((S0 * S1, 8, 8), (S0, S1, 64), "(d0, d1, d2) -> (d0 * s1 + d1, d2 floordiv 8, d2 mod 8)"),
        ((1, S0, 1, 6), (S0, 2, 3, 1), "(d0, d1, d2, d3) -> (0, d0, 0, d1 * 3 + d2)"),
        ((4, 0), (0, 7), "(d0, d1) -> (0, 0)"),
        ((), (1, 1), "(d0, d1) -> ()"),
        ((S0 * 8,), (S0 * 2, 4), "(d0, d1) -> (d0 * 4 + d1)"),
    ],
)
def test_reshape_divides_only_inside_split_axes(old, new, expected):
    assert str(reshape_map(old, new)) == expected


def test_reshape_there_and_back_is_the_identity():
    for old, new in (
        ((8, 6), (12, 4)),
        ((S0, S1, 64), (S0 * S1, 8, 8)),
        ((2, 3, 4), (24,)),
        ((4, S0, 3), (S0 * 2, 6)),
    ):
        there, back = reshape_map(old, new), reshape_map(new, old)
        assert there.compose(back).is_identity
        assert back.compose(there).is_identity


def test_reshape_refuses_different_sizes():
    with pytest.raises(ValueError, match="cannot reshape"):
        reshape_map((S0, 4), (S0, 5))


def test_reshape_keeps_row_major_order():
    shapes = [(4, 6), (3, 8), (2, 2, 6), (24,), (2, 3, 2, 2), (6, 1, 4)]
    for old in shapes:
        for new in shapes:
            index_map = reshape_map(old, new)
            for flat in range(24):
                assert _flat(index_map.evaluate(_unflat(flat, new)), old) == flat


def _flat(coordinates, shape):
    flat = 0
    for coordinate, size in zip(coordinates, shape, strict=True):
        assert 0 <= coordinate < size
        flat = flat * size + coordinate
    return flat


def _unflat(flat, shape):
    coordinates = []
    for size in reversed(shape):
        coordinates.append(flat % size)
        flat //= size
    return coordinates[::-1]


def test_maps_go_to_mlir_and_back():
    index_map = IndexMap.of((S0, S1), [dim_vars((S0, S1))[0] * S1 + dim_vars((S0, S1))[1], (S0 * S1) // 4])
    with context(), symbols_in_scope((S0, S1)):
        attr = index_map.to_attr()
        assert str(attr) == "affine_map<(d0, d1)[s0, s1] -> (d0 * s1 + d1, (s0 * s1) floordiv 4)>"
        assert IndexMap.from_attr(attr, (S0, S1)) == index_map
        with pytest.raises(ValueError, match="not affine"):
            IndexMap.of((), [minimum(S0, S1)]).to_attr()
        with pytest.raises(ValueError, match="not affine"):
            IndexMap.of((4, 4), [product(dim_vars((4, 4)))]).to_attr()
        ceiling = ir.AffineMap.get(0, 1, [ir.AffineExpr.get_ceil_div(ir.AffineSymbolExpr.get(0), 8)])
        assert IndexMap.from_attr(ceiling, ()).results[0] is (S0 + 7) // 8


def _random_expression(r: random.Random, atoms: list[Expr], symbols: list[Sym], depth: int):
    """An expression, and a function that evaluates the same formula without any simplification."""
    if depth == 0 or r.random() < 0.2:
        if r.random() < 0.75:
            atom = r.choice([*atoms, *symbols])
            return atom, lambda env: env[atom]
        number = r.choice([0, 1, 2, 3, 4, 6, 8, 16, -1, -3])
        return const(number), lambda env: number
    a, eval_a = _random_expression(r, atoms, symbols, depth - 1)
    kind = r.choice(["+", "-", "*", "//", "//", "%", "%", "min", "max"])
    if kind in ("//", "%"):
        s, t = symbols
        divisor = r.choice([const(2), const(4), const(8), const(6), s, t, s * t, s * 4, const(-3), s + 1])
        if kind == "//":
            return a // divisor, lambda env: eval_a(env) // divisor.evaluate(env)
        return a % divisor, lambda env: eval_a(env) % divisor.evaluate(env)
    b, eval_b = _random_expression(r, atoms, symbols, depth - 1)
    match kind:
        case "+":
            return a + b, lambda env: eval_a(env) + eval_b(env)
        case "-":
            return a - b, lambda env: eval_a(env) - eval_b(env)
        case "*":
            return a * b, lambda env: eval_a(env) * eval_b(env)
        case "min":
            return minimum(a, b), lambda env: min(eval_a(env), eval_b(env))
    return maximum(a, b), lambda env: max(eval_a(env), eval_b(env))


@pytest.mark.parametrize("seed", range(8))
def test_simplification_keeps_the_value(seed: int):
    r = random.Random(seed)
    for _ in range(120):
        symbols = [Sym(0, 1, r.choice([None, 7, 64])), Sym(1, r.choice([1, 2]), r.choice([None, 5]))]
        s, t = symbols
        extents = [r.choice([s, 8, t, 4]), r.choice([t, 8, 6]), s * t, 64]
        dims = list(dim_vars(extents))
        expr, unsimplified = _random_expression(r, dims, symbols, r.randint(2, 5))
        low, high = expr.bounds()
        assert parse(str(expr), {str(atom): atom for atom in [*symbols, *dims]}) is expr
        for _ in range(8):
            env = {
                symbol: r.randint(symbol.lo, symbol.hi if symbol.hi is not None else 9) for symbol in symbols
            }
            for dim in dims:
                env[dim] = r.randrange(dim.extent.evaluate(env))
            value = expr.evaluate(env)
            assert value == unsimplified(env), (str(expr), env)
            assert (low is None or low <= value) and (high is None or value <= high)
            assert not is_nonnegative(expr) or value >= 0
