"""Dialects in many contexts and threads, symbol lists, and what verification leaves behind."""

from __future__ import annotations

import threading

import pytest
from functions import build

from luminal.dialects import kernel as K
from luminal.dialects import luminal as L
from luminal.dialects.mlir import context, ir, load_dialects
from luminal.dialects.symbolic import IndexMap, Sym, minimum
from luminal.dialects.types import (
    SymbolInfo,
    dims_of,
    scope_of,
    set_symbols,
    solve_symbols,
    symbols_of,
    tensor_type,
)
from luminal.errors import InputError, VerifyError

TEXT = """
#rows = affine_map<()[s0] -> (s0)>
func.func @main(%x: tensor<?xf32, #rows>) -> tensor<?xf32, #rows>
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64, max = 9 : i64}]} {
  %0 = "luminal.sin"(%x) : (tensor<?xf32, #rows>) -> tensor<?xf32, #rows>
  return %0 : tensor<?xf32, #rows>
}
"""


def test_contexts_in_threads():
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                with context():
                    module = ir.Module.parse(TEXT)
                    assert isinstance(module.body.operations[0].regions[0].blocks[0].operations[0], L.SinOp)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_loading_twice_does_nothing():
    ctx = context()
    assert load_dialects(ctx) is ctx


def test_symbol_lists_are_read_and_written():
    with context():
        module = ir.Module.parse(TEXT)
        function = module.body.operations[0]
        assert symbols_of(function) == [SymbolInfo(0, 1, 9)]
        symbols = [SymbolInfo(0, 2, 8), SymbolInfo(1, 1, None, "min(s0 + 1, 4)")]
        set_symbols(function, symbols)
        assert symbols_of(function) == symbols
        with scope_of(function) as (s0, s1):
            assert dims_of(function.arguments[0].type) == (s0,)
            assert str(tensor_type((s1, 3), "bf16")) == "tensor<?x3xbf16, affine_map<()[s0, s1] -> (s1, 3)>>"
        set_symbols(function, [])
        assert symbols_of(function) == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('{name = "s1"}', "must be named s0"),
        ('{name = "s0", min = 3 : i64, max = 2 : i64}', "empty range"),
        ('{name = "s0", maximum = 3 : i64}', "unknown keys: maximum"),
        ('{name = "s0", rule = "s1 + 1"}', "rule of symbol s0 cannot be read"),
        ("1 : i64", "must be a dictionary with a name"),
    ],
)
def test_malformed_symbol_lists(entry, message):
    with context():
        module = ir.Module.parse(f"func.func @main() attributes {{luminal.symbols = [{entry}]}} {{ return }}")
        with pytest.raises(VerifyError, match=message):
            symbols_of(module.body.operations[0])


def test_types_refuse_what_they_cannot_spell():
    with context():
        with pytest.raises(VerifyError, match="unsupported element type 'f8'"):
            tensor_type((2,), "f8")
        with pytest.raises(VerifyError, match="not affine"):
            tensor_type((4, minimum(Sym(0), 9)), "f32")


def test_sizes_that_do_not_determine_a_symbol():
    s0, s1 = Sym(0, 1), Sym(1, 1)
    symbols = [SymbolInfo(0, 1), SymbolInfo(1, 1)]
    with pytest.raises(InputError, match="sizes s0, s1 cannot be determined"):
        solve_symbols(symbols, [((s0 * s1,), (6,), "x")])
    assert solve_symbols(symbols, [((s0 * s1, s0), (6, 2), "x")]) == {s0: 2, s1: 3}
    with pytest.raises(InputError, match="not of the form"):
        solve_symbols(symbols, [((s0 * 2, s1), (5, 1), "x")])


def test_verification_leaves_no_trace():
    identity = IndexMap.identity((3,))

    def body(x, i):
        return K.region([x, i], (3,), "f32", lambda tensors, index: K.load(tensors[0], index, identity))

    module = build([((3,), "f32"), ((3,), "i64")], body)
    assert module.operation.verify()
    assert "operandSegmentSizes" not in str(module)
