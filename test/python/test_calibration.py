"""The constants of the estimate from measured kernels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import luminal
from luminal.dialects.symbolic import Sym, symbols_in_scope
from luminal.lowering.cpu import cache
from luminal.passes.eqsat.cost import Machine
from luminal.runtime.native.team import Team
from luminal.runtime.tuning import Budget, Measurer, TuningDatabase, buffers, calibration
from luminal.runtime.tuning.calibration import machine_of, measured_machine


@pytest.fixture(autouse=True)
def small_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LUMINAL_CACHE_DIR", str(tmp_path))
    for module in (buffers, calibration):
        monkeypatch.setattr(module, "cache_bytes", lambda: 1 << 20)
    cache.clear_memory()
    yield
    cache.clear_memory()


def test_constants_follow_from_seconds() -> None:
    found = machine_of({"launch": 1e-6, "memory": 3e-6, "matmul": 2e-3})
    assert found.launch == 1e-6
    assert found.memory == pytest.approx(4 * (1 << 20) / 2e-6)
    assert found.matmul == pytest.approx(512**3 / (2e-3 - 1e-6))
    assert (found.cache, found.work) == (Machine.cache, Machine.work)
    assert found.cache_bytes == 1 << 19


def test_a_kernel_no_longer_than_a_launch_has_a_finite_rate() -> None:
    assert machine_of({"launch": 1e-3, "cache": 1e-3}).cache == pytest.approx((8 << 17) / 1e-4)


def test_measured_once_and_only_what_was_undisturbed_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Team(2)
    monkeypatch.setattr("luminal.runtime.tuning.timing._waited", lambda: 0.0)
    monkeypatch.setattr("luminal.runtime.tuning.timing.NOISE", 1.0)
    monkeypatch.setattr("luminal.runtime.tuning.timing.MOST_SECONDS", 60.0)
    database = TuningDatabase.open(tmp_path / "db.jsonl")
    first = Measurer(database, team, Budget(60.0, 10))
    found = measured_machine(first)
    assert [entry.outcome for entry in first.log] == ["measured"] * 5, first.log
    defaults = Machine()
    assert all(getattr(found, name) > 0 for name in ("launch", "memory", "cache", "work", "matmul"))
    assert found.matmul != defaults.matmul and found.scalar_penalty == defaults.scalar_penalty
    again = Measurer(database, team, Budget(0.0, 0))
    with symbols_in_scope((Sym(0, 1, 8),)):  # as while a function with a dynamic dim is searched
        assert measured_machine(again) == found
    for entry in list(database):
        details = {key: entry[key] for key in ("op", "operands", "result")}
        database.put(entry["key"], entry["seconds"], **details, disturbed=True)
    assert measured_machine(again) == Machine(cache_bytes=1 << 19)
    team.close()


def test_a_measured_search_with_a_dynamic_dim() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 12), torch.nn.Softmax(-1)).eval()
    shapes = ({0: torch.export.Dim("batch", min=1, max=64)},)
    with torch.no_grad():
        options = luminal.CompileOptions(search_seconds=5.0, search_candidates=8)
        compiled = luminal.compile(model, (torch.randn(3, 8),), dynamic_shapes=shapes, options=options)
        x = torch.randn(17, 8)
        torch.testing.assert_close(compiled(x), model(x))
    assert len(TuningDatabase.open(None)) > 0
