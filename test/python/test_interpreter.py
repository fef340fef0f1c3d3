"""The reference interpreters: `luminal` ops against torch eager, `kernel` ops against NumPy and `luminal`."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from functions import TORCH_DTYPES, build, to_array, to_tensor

from luminal.dialects import kernel as K
from luminal.dialects import luminal as L
from luminal.dialects.symbolic import DimVar, IndexMap, Sym, dim_vars
from luminal.dialects.types import FLOATS, SymbolInfo
from luminal.errors import InputError, RuntimeFailure
from luminal.runtime.interpreter import run_l1, run_l2

SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 1e-40, 65504.0, 70000.0, 3e38, -2.5, 0.1]
INTEGERS = {"i64": [0, 1, -1, 7, -7, 2**63 - 1, -(2**63)], "i32": [0, 1, -1, 7, -7, 2**31 - 1, -(2**31)]}


def special(dtype: str) -> torch.Tensor:
    if dtype in FLOATS:
        return torch.tensor(SPECIAL, dtype=torch.float64).to(TORCH_DTYPES[dtype])
    return torch.tensor(INTEGERS.get(dtype, [False, True]), dtype=TORCH_DTYPES[dtype])


def pairs(dtype: str) -> tuple[torch.Tensor, torch.Tensor]:
    values = special(dtype)
    return values.repeat_interleave(len(values)), values.repeat(len(values))


def run_one(module, dtype: str, *tensors: torch.Tensor) -> torch.Tensor:
    return to_tensor(run_l1(module, [to_array(tensor) for tensor in tensors])[0], dtype)


def assert_same(found: torch.Tensor, expected: torch.Tensor, exact: bool = True) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if not found.is_floating_point():
        assert torch.equal(found, expected)
        return
    assert torch.equal(found.isnan(), expected.isnan())
    found, expected = found.nan_to_num(nan=0.0), expected.nan_to_num(nan=0.0)
    if exact:
        assert torch.equal(found, expected)
        assert torch.equal(found.signbit(), expected.signbit())
    else:
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("log2", torch.log2),
        ("exp2", torch.exp2),
        ("sin", torch.sin),
        ("sqrt", torch.sqrt),
        ("recip", torch.reciprocal),
    ],
)
def test_unary(name, reference, dtype):
    generator = torch.Generator().manual_seed(0)
    x = torch.cat([special(dtype), torch.randn(50, generator=generator).to(TORCH_DTYPES[dtype])])
    module = build([((len(x),), dtype)], getattr(L, name))
    assert_same(run_one(module, dtype, x), reference(x), exact=False)


@pytest.mark.parametrize("dtype", [*FLOATS, "i64", "i32", "i1"])
def test_add_mul_less_than(dtype):
    a, b = pairs(dtype)
    for build_op, reference in ((L.add, torch.add), (L.mul, torch.mul)):
        module = build([((len(a),), dtype)] * 2, build_op)
        assert_same(run_one(module, dtype, a, b), reference(a, b))
    module = build([((len(a),), dtype)] * 2, L.less_than)
    assert_same(run_one(module, "i1", a, b), a < b)


def remainder_one_by_one(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """torch.remainder's scalar code: its vector code gives NaN where the quotient overflows."""
    return torch.cat([torch.remainder(a[i : i + 1], b[i : i + 1]) for i in range(len(a))])


@pytest.mark.parametrize("dtype", FLOATS)
def test_mod_of_floats(dtype):
    a, b = pairs(dtype)
    module = build([((len(a),), dtype)] * 2, L.mod)
    assert_same(run_one(module, dtype, a, b), remainder_one_by_one(a, b))


@pytest.mark.parametrize("dtype", ["i64", "i32"])
def test_mod_of_integers(dtype):
    a, b = pairs(dtype)
    found = run_one(build([((len(a),), dtype)] * 2, L.mod), dtype, a, b)
    expected = [x % y if y else 0 for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert found.tolist() == expected


@pytest.mark.parametrize("dtype", [*FLOATS, "i64", "i32"])
def test_reductions(dtype):
    generator = torch.Generator().manual_seed(1)
    x = (torch.randn(3, 5, 4, generator=generator) * 10).to(TORCH_DTYPES[dtype])
    sums = run_one(build([((3, 5, 4), dtype)], lambda v: L.sum_reduce(v, [0, 2])), dtype, x)
    assert_same(sums, x.sum((0, 2), dtype=x.dtype), exact=dtype not in FLOATS)
    greatest = run_one(build([((3, 5, 4), dtype)], lambda v: L.max_reduce(v, [1])), dtype, x)
    assert_same(greatest, x.amax(1))


def test_reduction_of_special_values():
    x = torch.tensor([[1.0, math.nan, math.inf], [-math.inf, -1.0, -math.inf], [math.inf, 1.0, -math.inf]])
    for build_op, reference in ((L.sum_reduce, x.sum(1)), (L.max_reduce, x.amax(1))):
        assert_same(run_one(build([((3, 3), "f32")], lambda v, op=build_op: op(v, [1])), "f32", x), reference)
    wrapped = run_one(
        build([((2,), "i32")], lambda v: L.sum_reduce(v, [0])), "i32", torch.full((2,), 2**31 - 1).int()
    )
    assert wrapped.item() == -2


@pytest.mark.parametrize(
    ("dtype", "least"), [("f32", -math.inf), ("i64", -(2**63)), ("i32", -(2**31)), ("i1", False)]
)
def test_empty_reductions(dtype, least):
    x = torch.zeros((2, 0), dtype=TORCH_DTYPES[dtype])
    greatest = run_one(build([((2, 0), dtype)], lambda v: L.max_reduce(v, [1])), dtype, x)
    assert greatest.tolist() == [least] * 2
    if dtype != "i1":
        assert run_one(build([((2, 0), dtype)], lambda v: L.sum_reduce(v, [1])), dtype, x).tolist() == [0, 0]


def test_half_sums_accumulate_in_single_precision():
    x = torch.ones(5000, dtype=torch.bfloat16)
    assert run_one(build([((5000,), "bf16")], lambda v: L.sum_reduce(v, [0])), "bf16", x).item() == 4992.0


@pytest.mark.parametrize("source", list(TORCH_DTYPES))
@pytest.mark.parametrize("target", list(TORCH_DTYPES))
def test_cast(source, target):
    x = special(source)
    found = run_one(build([((len(x),), source)], lambda v: L.cast(v, target)), target, x)
    if source in FLOATS and target in INTEGERS:
        least = INTEGERS[target][-1]
        limit = 2.0 ** (63 if target == "i64" else 31)
        inside = (math.isfinite(v) and -limit <= math.trunc(v) < limit for v in x.tolist())
        expected = [int(v) if ok else least for v, ok in zip(x.tolist(), inside, strict=True)]
        assert found.tolist() == expected
    else:
        assert_same(found, x.to(TORCH_DTYPES[target]))


def test_cast_to_a_half_type_rounds_once():
    # Above the midpoint of two bf16 neighbours by less than f32 can hold: two roundings would go to even.
    x = torch.tensor([1.0 + 2**-8 + 2**-40], dtype=torch.float64)
    found = run_one(build([((1,), "f64")], lambda v: L.cast(v, "bf16")), "bf16", x)
    assert found.item() == 1.0 + 2**-7


def test_views_against_torch():
    x = torch.arange(24, dtype=torch.int32).reshape(2, 3, 4)
    cases = [
        (lambda v: L.permute(v, (2, 0, 1)), x.permute(2, 0, 1)),
        (lambda v: L.reshape(v, (6, 2, 2)), x.reshape(6, 2, 2)),
        (lambda v: L.broadcast(v, (2, 2, 3, 4)), x.expand(2, 2, 3, 4)),
        (lambda v: L.view(v, IndexMap.of((2, 2), [DimVar(0, 2), 2 - DimVar(1, 2), 3])), x.flip(1)[:, :2, 3]),
    ]
    for body, expected in cases:
        assert_same(run_one(build([((2, 3, 4), "i32")], body), "i32", x), expected.contiguous())


def test_gather_clamps():
    x = torch.arange(12.0).reshape(4, 3)
    indices = torch.tensor([0, 3, -5, 9])
    index_map = IndexMap.of((4, 3, None), [DimVar(2, None), DimVar(1, 3)])

    def body(source, i):
        return L.gather(source, [L.view(i, IndexMap.of((4, 3), [DimVar(0, 4)]))], index_map)

    found = run_one(build([((4, 3), "f32"), ((4,), "i64")], body), "f32", x, indices)
    assert_same(found, x[indices.clamp(0, 3)])
    empty = IndexMap.of((2, None), [DimVar(1, None)])
    module = build([((0,), "f32"), ((2,), "i64")], lambda s, i: L.gather(s, [i], empty))
    assert run_one(module, "f32", torch.zeros(0), torch.tensor([0, 1])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i32", "i1"])
def test_scatter(dtype):
    base = torch.zeros(5).to(TORCH_DTYPES[dtype])
    updates = torch.tensor([1, 2, 3, 4, 5]).to(TORCH_DTYPES[dtype])
    indices = torch.tensor([1, 1, 7, -1, 4])
    index_map = IndexMap.of((5, None), [DimVar(1, None)])
    for mode, expected in (("set", [0, 2, 0, 0, 5]), ("add", [0, 3, 0, 0, 5])):
        module = build(
            [((5,), dtype)] * 2 + [((5,), "i64")],
            lambda b, u, i, mode=mode: L.scatter(b, u, [i], index_map, mode),
        )
        found = run_one(module, dtype, base, updates, indices)
        assert_same(found, torch.tensor(expected).to(TORCH_DTYPES[dtype]))


def test_constants_and_rank_zero():
    values = np.array([1.5, math.nan, -0.0, math.inf])
    for dtype in FLOATS:
        (found,) = run_l1(build([], lambda dtype=dtype: L.constant(values, dtype)), [])
        assert_same(to_tensor(found, dtype), torch.from_numpy(values).to(TORCH_DTYPES[dtype]))
    module = build([((), "f32")], lambda v: L.add(v, L.constant(2, "f32")))
    assert run_l1(module, [np.float32(1)])[0].shape == ()


def test_symbols_come_from_shapes():
    rows = Sym(0, 1, 9)
    symbols = [SymbolInfo(0, 1, 9), SymbolInfo(1, 1, 4, "min(s0 + 1, 4)")]
    derived = Sym(1, 1, 4)

    def body(x):
        return [L.symbol_value(derived * 2), L.reshape(x, (rows * 3,)), L.iota_axis((rows, derived), 1)]

    module = build([((rows, 3), "f32")], body, symbols)
    value, flat, coordinates = run_l1(module, [np.zeros((2, 3), np.float32)])
    assert value == 6 and flat.shape == (6,) and coordinates.tolist() == [[0, 1, 2]] * 2
    for bad, message in (
        (np.zeros((10, 3), np.float32), "out of its range"),
        (np.zeros((2, 4), np.float32), "has shape"),
        (np.zeros(2, np.float32), "has rank 1"),
        (np.zeros((2, 3)), "NumPy type float64"),
    ):
        with pytest.raises(InputError, match=message):
            run_l1(module, [bad])


def softmax_rows(x, rows):
    """exp(x - max) / sum over the last axis, with row scratch."""
    identity, line = IndexMap.identity((rows, 6)), IndexMap.identity((6,))

    def body(tensors, index):
        at = lambda k: K.load(tensors[0], [index[0], k], identity)  # noqa: E731
        greatest = K.reduce("max", (6,), "f32", lambda k: at(k[0]))
        row = K.local((6,), "f32", lambda k: K.scalar("exp", K.scalar("sub", at(k[0]), greatest)))
        total = K.reduce("sum", (6,), "f32", lambda k: K.load(row, k, line))
        return K.scalar("div", K.load(row, [index[1]], line), total)

    return K.region([x], (rows, 6), "f32", body)


def test_kernel_region_with_row_scratch():
    rows = Sym(0, 0, None)
    module = build([((rows, 6), "f32")], lambda x: softmax_rows(x, rows), [SymbolInfo(0)])
    x = torch.randn(5, 6, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(torch.from_numpy(run_l2(module, [x.numpy()])[0]), x.softmax(-1))
    assert run_l2(module, [np.zeros((0, 6), np.float32)])[0].shape == (0, 6)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i64"])
@pytest.mark.parametrize("packed", [None, 4])
def test_kernel_contract(dtype, packed):
    generator = torch.Generator().manual_seed(3)
    a = (torch.randn(2, 3, 5, generator=generator) * 4).to(TORCH_DTYPES[dtype])
    b = (torch.randn(2, 5, 7, generator=generator) * 4).to(TORCH_DTYPES[dtype])
    bias = (torch.randn(7, generator=generator) * 4).to(TORCH_DTYPES[dtype])
    domain = (2, 3, 7, 5)
    batch, m, n, k = dim_vars(domain)

    def pack(tensors, index):
        panels = IndexMap.of((2, 2, 5, 4), [DimVar(0, 2), DimVar(2, 5), DimVar(1, 2) * 4 + DimVar(3, 4)])
        return K.load(tensors[0], index, panels, masked=True)

    def epilogue(tensors, index, accumulator):
        added = K.load(tensors[2], [index[2]], IndexMap.identity((7,)))
        return K.scalar("add", K.cast(accumulator, dtype), added)

    def body(lhs, rhs, extra):
        right = K.region([rhs], (2, 2, 5, 4), dtype, pack) if packed else rhs
        return K.contract(
            lhs,
            right,
            [extra],
            domain,
            (1, 1, 1, 1),
            IndexMap.of(domain, [batch, m, k]),
            None if packed else IndexMap.of(domain, [batch, k, n]),
            IndexMap.of(domain, [n, batch, m]),
            dtype,
            epilogue,
            packed,
        )

    module = build([((2, 3, 5), dtype), ((2, 5, 7), dtype), ((7,), dtype)], body)
    (found,) = run_l2(module, [to_array(t) for t in (a, b, bias)])
    expected = ((a.double() @ b.double()).to(TORCH_DTYPES[dtype]) + bias).permute(2, 0, 1)
    assert_same(to_tensor(found, dtype), expected.contiguous(), exact=dtype == "i64")


def test_kernel_gather_scatter_and_masks():
    def rows(tensors, index):
        row = K.load(tensors[1], [index[0]], IndexMap.identity((3,)))
        return K.load(tensors[0], [K.to_index(row, 4)], IndexMap.identity((4,)))

    def add(tensors, index):
        return K.constant(1, "f32"), K.load(tensors[1], index, IndexMap.identity((3,)))

    shifted = IndexMap.of((6,), [DimVar(0, 6) - 1])
    module = build(
        [((4,), "f32"), ((3,), "i64")],
        lambda x, i: [
            K.region([x, i], (3,), "f32", rows),
            K.scatter(x, [i], (3,), "add", add),
            K.region([x], (6,), "f32", lambda t, c: K.load(t[0], c, shifted, masked=True)),
        ],
    )
    x = np.array([1, 2, 3, 4], np.float32)
    gathered, scattered, padded = run_l2(module, [x, np.array([0, 9, 0])])
    assert gathered.tolist() == [1, 4, 1]
    assert scattered.tolist() == [3, 2, 3, 4]
    assert padded.tolist() == [0, 1, 2, 3, 4, 0]
    unmasked = build(
        [((4,), "f32")], lambda x: K.region([x], (6,), "f32", lambda t, c: K.load(t[0], c, shifted))
    )
    with pytest.raises(RuntimeFailure, match="leaves its tensor"):
        run_l2(unmasked, [x])


SCALAR_REFERENCES = {
    "neg": torch.neg,
    "abs": torch.abs,
    "recip": torch.reciprocal,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "exp": torch.exp,
    "exp2": torch.exp2,
    "log": torch.log,
    "log2": torch.log2,
    "sin": torch.sin,
    "cos": torch.cos,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sigmoid": torch.sigmoid,
    "floor": torch.floor,
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "mod": remainder_one_by_one,
    "minimum": torch.minimum,
    "maximum": torch.maximum,
    "less_than": torch.lt,
    "less_equal": torch.le,
    "equal": torch.eq,
    "not_equal": torch.ne,
    "not": torch.bitwise_not,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
}


@pytest.mark.parametrize("name", list(SCALAR_REFERENCES))
def test_scalar_functions(name):
    function = K.SCALAR_FUNCTIONS[name]
    for dtype in function.operands:
        if name == "mod" and dtype in INTEGERS:
            continue  # torch refuses division by zero; covered by test_mod_of_integers
        operands = pairs(dtype)[: function.arity] if function.arity == 2 else (special(dtype),)
        size = len(operands[0])
        identity = IndexMap.identity((size,))
        result = dtype if function.result == "same" else "i1"

        def body(*tensors, identity=identity, result=result, size=size):
            def scalar(inner, index):
                return K.scalar(name, *(K.load(t, index, identity) for t in inner))

            return K.region(list(tensors), (size,), result, scalar)

        module = build([((size,), dtype)] * function.arity, body)
        (found,) = run_l2(module, [to_array(t) for t in operands])
        reference = SCALAR_REFERENCES[name](*operands)
        exact = result not in FLOATS or name in ("neg", "abs", "add", "sub", "mul", "floor")
        assert_same(to_tensor(found, result), reference, exact)


def test_floor_div_and_select():
    a, b = pairs("i32")
    size = len(a)
    identity = IndexMap.identity((size,))

    def body(x, y):
        quotient = K.region(
            [x, y], (size,), "i32", lambda t, i: K.scalar("floor_div", *(K.load(v, i, identity) for v in t))
        )

        def smaller(t, i):
            left, right = (K.load(v, i, identity) for v in t)
            return K.scalar("select", K.scalar("less_than", left, right), left, right)

        return [quotient, K.region([x, y], (size,), "i32", smaller)]

    quotient, least = run_l2(build([((size,), "i32")] * 2, body), [a.numpy(), b.numpy()])
    expected = [x // y if y else 0 for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert quotient.tolist() == [-(2**31) if value == 2**31 else value for value in expected]
    assert least.tolist() == torch.minimum(a, b).tolist()
