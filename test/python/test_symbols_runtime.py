"""Symbols are solved from input shapes, and what does not fit is refused by name."""

import pytest

from luminal.dialects.symbolic import Sym, as_expr, minimum
from luminal.errors import InputError, RuntimeFailure
from luminal.passes.schedule import Symbol
from luminal.runtime.symbols import Input, SymbolSolver

S0, S1 = Sym(0, 1, 512), Sym(1, 0, None)
SYMBOLS = [Symbol("s0", 1, 512), Symbol("s1", 0, None)]


def dims(*sizes):
    return tuple(as_expr(size) for size in sizes)


def solver(*inputs, symbols=SYMBOLS):
    return SymbolSolver(symbols, list(inputs), set(range(len(symbols))))


def test_reads_bare_and_linear_dims():
    solve = solver(Input("x", dims(S0, 64)), Input("y", dims(S1 * 8 + S0)))
    assert solve.solve([(3, 64), (43,)]) == (3, 5)


def test_scalars_determine_symbols():
    solve = solver(Input("x", dims(4)), Input("n", dims(S0), scalar=True), Input("m", dims(S1), scalar=True))
    assert solve.solve([(4,), (7,), (0,)]) == (7, 0)


def test_derived_symbols_follow_their_rule():
    symbols = [*SYMBOLS, Symbol("s2", 0, 9, minimum(S0 + 1, 9))]
    s2 = Sym(2, 0, 9)
    solve = solver(Input("x", dims(S0, S1)), Input("y", dims(s2)), symbols=symbols)
    assert solve.solve([(3, 2), (4,)]) == (3, 2, 4)
    assert solve.solve([(100, 2), (9,)]) == (100, 2, 9)
    with pytest.raises(InputError, match=r"input 'y' is 5 along dimension 0, expected 4"):
        solve.solve([(3, 2), (5,)])


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(3, 65), (3, 1)], r"input 'x' is 65 along dimension 1, expected 64"),
        ([(3, 64, 1), (3, 1)], r"input 'x' has 3 dimensions \(3, 64, 1\), expected 2: \(s0, 64\)"),
        ([(513, 64), (513, 1)], r"input 'x' is 513 along dimension 0, expected between 1 and 512"),
        ([(0, 64), (0, 1)], r"input 'x' is 0 along dimension 0, expected between 1 and 512"),
        ([(3, 64), (4, 1)], r"input 'y' is 4 along dimension 0, expected 3 \(s0 with s0 = 3\)"),
    ],
)
def test_names_what_does_not_fit(shapes, message):
    with pytest.raises(InputError, match=message):
        solver(Input("x", dims(S0, 64)), Input("y", dims(S0, S1))).solve(shapes)


def test_refuses_a_size_that_does_not_divide():
    with pytest.raises(InputError, match=r"input 'y' is 9 along dimension 0, expected 8"):
        solver(Input("x", dims(S0)), Input("y", dims(S1 * 4))).solve([(1,), (9,)])


def test_a_size_that_nothing_determines_is_an_error():
    with pytest.raises(RuntimeFailure, match="no input's shape determines the size s1"):
        solver(Input("x", dims(S0)))
