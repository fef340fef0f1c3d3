"""Every schedule of a contraction computes the same, on awkward sizes, layouts and machines."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from contractions import S0, attention_values, check, matmul
from cpu_kernels import Contraction

from luminal.dialects.kernel import schedule_of
from luminal.dialects.symbolic import as_expr
from luminal.errors import VerifyError
from luminal.lowering.cpu import contract, contract_plan
from luminal.lowering.cpu.target import Target
from luminal.passes.eqsat.contract_schedules import contract_schedules

SCHEDULES: list[dict[str, Any]] = [
    {"tile": (1, 1)},
    {"tile": (4, 3), "unroll": 1},
    {"tile": (3, 4), "unroll": 3},
    {"tile": (16, 8)},
    {"k_block": 5, "order": "nm"},
    {"k_block": 0, "pack_lhs": True},
    {"row_block": 1, "pack_lhs": True, "order": "nm"},
    {"row_block": 1000, "pack_lhs": False, "unroll": 16},
    {"pack_rhs": True, "order": "nm", "k_block": 7, "row_block": 6},
    {"pack_rhs": False, "pack_lhs": False},
]


def row_major(m: int, n: int, k: int, **options: Any) -> Contraction:
    return Contraction(
        (), (m,), (n,), (k,),
        lambda i, j, p: (i, p), lambda i, j, p: (p, j), lambda i, j, p: (i, j), [(m, k), (k, n)], **options,
    )  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("size", [(1, 1, 1), (13, 37, 29), (2, 67, 11)], ids=str)
def test_schedules(schedule: dict[str, Any], size: tuple[int, int, int]) -> None:
    chosen = schedule_of(schedule)
    check(matmul(*size, packed=16, schedule=chosen), threads=(1, 3))
    check(matmul(*size, schedule=chosen), threads=(2,))
    check(row_major(*size, schedule=chosen), threads=(2,))


@pytest.mark.parametrize("schedule", SCHEDULES[3:8], ids=str)
def test_schedules_of_dynamic_rows_and_depth(schedule: dict[str, Any]) -> None:
    chosen = schedule_of(schedule)
    for size in (1, 7, 40):
        check(matmul(S0.sym, 33, 21, packed=32, symbols=[S0], schedule=chosen), (size,), threads=(2,))
        case = attention_values(S0.sym, S0.sym)
        case.schedule = chosen
        check(case, (size,), threads=(2,))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_schedules_of_empty_products(schedule: dict[str, Any]) -> None:
    for shape in ((0, 5, 3), (5, 0, 3), (5, 7, 0)):
        check(row_major(*shape, schedule=schedule_of(schedule)), threads=(2,))


@pytest.mark.parametrize("bits", [128, 512])
def test_schedules_on_other_machines(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "host_target", lambda: Target("another", bits))
    for schedule in SCHEDULES[1:6]:
        check(matmul(13, 37, 29, packed=48, schedule=schedule_of(schedule)), threads=(2,))


@pytest.mark.parametrize("dtype", ["f64", "bf16", "i32"])
def test_schedules_of_other_dtypes(dtype: str) -> None:
    for schedule in (SCHEDULES[4], SCHEDULES[8]):
        check(matmul(9, 20, 23, dtype=dtype, schedule=schedule_of(schedule)), threads=(2,))


@pytest.mark.parametrize("schedule", [{}, {"order": "nm"}, {"tile": (4, 1), "pack_lhs": True}], ids=str)
@pytest.mark.parametrize("columns", [256, 277])
def test_column_tiles_in_groups(
    schedule: dict[str, Any], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for deep products, whose rows don't stay in the second cache."""
    monkeypatch.setattr(contract_plan, "_CACHE_BYTES", 1024)
    monkeypatch.setattr(contract_plan, "_GROUP", 3)
    chosen = schedule_of({**schedule, "k_block": 16})
    check(matmul(23, columns, 70, packed=16, schedule=chosen), threads=(1, 2, 5))
    check(matmul(S0.sym, columns, 70, packed=16, symbols=[S0], schedule=chosen), (23,), threads=(2,))


SIZES = (0, 1, 3, 4, 64, 1000)


@pytest.mark.parametrize("packed", [None, 32])
def test_what_is_offered(packed: int | None) -> None:
    for batch, m, n, k in itertools.product((1, 12), SIZES, SIZES, SIZES):
        for dtype in ("f32", "bf16"):
            offered = contract_schedules(batch, m, n, k, dtype, packed)
            assert offered[0] == {} and len(offered) <= 8
            assert all(offered.count(schedule) == 1 for schedule in offered)
            for schedule in offered:
                schedule_of(schedule)


def test_offered_schedules_compute_the_same() -> None:
    for size, packed in (((2, 40, 30), 32), ((9, 40, 300), 32), ((100, 130, 30), None)):
        for schedule in contract_schedules(1, *size, "f32", packed):
            check(matmul(*size, packed=packed, schedule=schedule_of(schedule)), threads=(2,))


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(VerifyError, match="no field 'rows'"):
        schedule_of({"rows": as_expr(3)})
    with pytest.raises(VerifyError, match="between 1 and 16"):
        schedule_of({"tile": (17, 1)})
