"""Measuring kernels: the database on disk, budgets, the log, and memory that no kernel leaves."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cpu_kernels import Contraction
from cpu_regions import guarded

from luminal.dialects import kernel as K
from luminal.dialects.mlir import context, func, ir
from luminal.dialects.symbol_list import SymbolInfo, set_symbols
from luminal.dialects.symbolic import Expr, IndexMap, minimum, symbols_in_scope
from luminal.dialects.types import NUMPY_DTYPES, tensor_type
from luminal.errors import RuntimeFailure
from luminal.lowering.cpu import cache
from luminal.runtime.native.team import Team
from luminal.runtime.tuning import (
    Budget,
    Measurer,
    TuningDatabase,
    buffers,
    database,
    database_path,
    device,
    timing,
)
from luminal.runtime.tuning.buffers import Buffers, bytes_of, pattern
from luminal.runtime.tuning.signature import launch_of
from luminal.tools.tune import main as tune

S0, S1 = SymbolInfo(0, 1, 64), SymbolInfo(1, 1, 64)
WIDE = Budget(60.0, 100)
Shape = Sequence[Expr | int]
KEPT: list[ir.Module] = []


@pytest.fixture(autouse=True)
def small_and_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Object code and database in a folder of the test; little memory is a cold cache."""
    monkeypatch.setenv("LUMINAL_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("LUMINAL_TUNING_DB", raising=False)
    monkeypatch.setattr(buffers, "cache_bytes", lambda: 1 << 16)
    cache.clear_memory()
    yield tmp_path
    cache.clear_memory()


@pytest.fixture(scope="module")
def team() -> Iterator[Team]:
    shared = Team(2)
    yield shared
    shared.close()


def kernel_of(
    operands: Sequence[tuple[Shape, str]],
    build: Callable[[list[ir.Value]], ir.Value],
    symbols: Sequence[SymbolInfo] = (),
) -> ir.Operation:
    """The op that `build` makes of operands, in a function that declares `symbols`."""
    with context(), ir.Location.unknown(), symbols_in_scope([symbol.sym for symbol in symbols]):
        module = ir.Module.create()
        types = [tensor_type(shape, dtype) for shape, dtype in operands]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", (types, []))
            set_symbols(function, symbols)
        with ir.InsertionPoint(function.add_entry_block()):
            op = build(list(function.arguments)).owner
    KEPT.append(module)
    return op.operation


def scaled(dims: Shape, symbols: Sequence[SymbolInfo] = ()) -> ir.Operation:
    """2 * x."""

    def body(tensors, indices):
        x = K.load(tensors[0], indices, IndexMap.identity(dims))
        return K.scalar("mul", x, K.constant(2.0, "f32"))

    return kernel_of([(dims, "f32")], lambda values: K.region(values, dims, "f32", body), symbols)


def gather(rows: int, columns: int, count: int) -> ir.Operation:
    """Rows of a table, by index."""

    def body(tensors, indices):
        index = K.load(tensors[1], indices[:1], IndexMap.identity([count]))
        row = K.to_index(index, rows)
        return K.load(tensors[0], [row, indices[1]], IndexMap.identity([rows, columns]))

    operands = [((rows, columns), "f32"), ((count,), "i64")]
    return kernel_of(operands, lambda values: K.region(values, [count, columns], "f32", body))


def scatter(size: int, count: int, in_place: bool = False) -> ir.Operation:
    """base[index] += update."""

    def body(tensors, indices):
        return [K.load(tensor, indices, IndexMap.identity([count])) for tensor in tensors[1:]]

    operands = [((size,), "f32"), ((count,), "f32"), ((count,), "i64")]
    return kernel_of(operands, lambda v: K.scatter(v[0], v[1:], [count], "add", body, in_place))


def prefix(symbols: Sequence[SymbolInfo] = (S0, S1)) -> ir.Operation:
    """The first s1 elements of s0."""
    size, part = S0.sym, S1.sym

    def body(tensors, indices):
        return K.load(tensors[0], indices, IndexMap.identity([part]))

    return kernel_of([((size,), "f32")], lambda values: K.region(values, [part], "f32", body), symbols)


def measurer(team: Team, path: Path, budget: Budget = WIDE, **options) -> Measurer:
    return Measurer(TuningDatabase.open(path / "db.jsonl"), team, budget, **options)


def outcomes(measured: Measurer) -> list[str]:
    return [entry.outcome for entry in measured.log]


def test_a_kernel_is_measured_once_and_remembered(team: Team, tmp_path: Path) -> None:
    first = measurer(team, tmp_path)
    seconds = first.measure([scaled([64]), scaled([128]), scaled([64])], ())
    assert all(s is not None and s > 0 for s in seconds) and seconds[0] == seconds[2]
    assert outcomes(first) == ["measured"] * 2 and first.measured == 2 and first.seconds_spent > 0
    again = measurer(team, tmp_path, Budget(0.0, 0))
    assert again.measure([scaled([128]), scaled([64])], ()) == [seconds[1], seconds[0]]
    assert outcomes(again) == ["known"] * 2 and again.seconds_spent == 0


def test_other_threads_sizes_and_cold_operands_are_other_kernels(team: Team) -> None:
    dynamic = scaled([S0.sym], [S0])
    launches = [
        launch_of(dynamic, (8,), 2),
        launch_of(dynamic, (9,), 2),
        launch_of(dynamic, (8,), 1),
        launch_of(dynamic, (8,), 2, [0]),
        launch_of(scaled([8]), (), 2),
        launch_of(scaled([S0.sym], [SymbolInfo(0, 1, 32)]), (8,), 2),
    ]
    assert len({launch.key for launch in launches}) == len(launches)
    assert launch_of(dynamic, {S0.sym: 8}, 2).key == launches[0].key


def test_symbols_that_a_kernel_does_not_mention_do_not_matter() -> None:
    alone, beside = scaled([S0.sym], [S0]), scaled([S0.sym], [S0, S1])
    keys = {launch_of(alone, (8,), 2).key, *(launch_of(beside, (8, size), 2).key for size in (1, 5))}
    assert len(keys) == 1


def test_the_same_value_twice_is_another_kernel() -> None:
    def product(values):
        def body(tensors, indices):
            loaded = [K.load(tensor, indices, IndexMap.identity([8])) for tensor in tensors]
            return K.scalar("mul", *loaded)

        return K.region(values, [8], "f32", body)

    two = kernel_of([((8,), "f32"), ((8,), "f32")], product)
    one = kernel_of([((8,), "f32")], lambda values: product([*values, *values]))
    assert launch_of(two, (), 2).same == (0, 1) and launch_of(one, (), 2).same == (0, 0)
    assert launch_of(two, (), 2).key != launch_of(one, (), 2).key


def test_dynamic_sizes(team: Team, tmp_path: Path) -> None:
    measured = measurer(team, tmp_path)
    op = scaled([S0.sym, 16], [S0])
    assert all(measured.measure([op], sizes)[0] is not None for sizes in ((1,), (64,), {S0.sym: 7}))
    entry = next(entry for entry in measured.database if entry["symbols"] == {"s0": 64})
    assert entry["operands"] == ["64x16xf32"] and entry["op"] == "kernel.region" and entry["threads"] == 2


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [((), "no value"), ((65,), "out of its range"), ((0,), "out of its range")],
)
def test_sizes_that_do_not_fit_are_logged(team: Team, tmp_path: Path, sizes, reason: str) -> None:
    measured = measurer(team, tmp_path)
    assert measured.measure([scaled([S0.sym], [S0])], sizes) == [None]
    assert outcomes(measured) == ["sizes"] and reason in measured.log[0].reason


def test_sizes_that_contradict_each_other_are_not_run(team: Team, tmp_path: Path) -> None:
    measured = measurer(team, tmp_path)
    op = prefix()
    assert measured.measure([op], (8, 8))[0] is not None
    assert measured.measure([op], (8, 9)) == [None] == measured.measure([op], (8, 9))
    assert outcomes(measured) == ["measured", "sizes", "sizes"]
    assert "read coordinates 0 to 8 of axis 0 of a tensor of shape (8,)" in measured.log[-1].reason


def test_a_size_that_contradicts_its_rule_is_not_run(team: Team, tmp_path: Path) -> None:
    ruled = SymbolInfo(1, 1, 64, rule=str(minimum(S0.sym, 4)))
    measured = measurer(team, tmp_path)
    op = prefix([S0, ruled])
    assert measured.measure([op], (8, 4))[0] is not None and measured.measure([op], (8, 5)) == [None]
    assert "contradicts its rule" in measured.log[-1].reason


def test_a_contraction_with_scratch_and_epilogue(team: Team, tmp_path: Path) -> None:
    case = Contraction(
        (), (33,), (40,), (17,),
        lambda i, j, p: (i, p), lambda i, j, p: (p, j), lambda i, j, p: (i, j), [(33, 17), (17, 40)],
    )  # fmt: skip
    with context(), ir.Location.unknown():
        module = case.build()
        op = module.body.operations[0].regions[0].blocks[0].operations[0].operation
        measured = measurer(team, tmp_path)
        assert measured.measure([op], (), cold=[{1}])[0] is not None, measured.log


class Guarded(Buffers):
    """Every operand and result stands in memory of its own, before a page that faults."""

    def pointers(self, launch, count):
        self.tensors = []
        for k, operand in enumerate((*launch.operands, launch.result)):
            values = np.resize(pattern(operand.dtype), operand.shape)
            if operand.dtype == "i64":
                values = values * 10**6 * (-1) ** np.arange(values.size).reshape(values.shape)
            values = values.astype(NUMPY_DTYPES[operand.dtype])
            shared = launch.in_place and k == len(launch.operands)
            self.tensors.append(self.tensors[0] if shared else guarded(values))
        return np.tile(np.array([tensor.ctypes.data for tensor in self.tensors], np.uint64), (count, 1))


@pytest.mark.parametrize(
    "build", [lambda: gather(50, 7, 33), lambda: scatter(40, 33), lambda: scatter(40, 33, in_place=True)]
)
def test_kernels_stay_within_their_tensors(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: Callable[[], ir.Operation]
) -> None:
    monkeypatch.setattr("luminal.runtime.tuning.timing.LARGEST_BATCH", 3)
    measured = measurer(team, tmp_path)
    measured._buffers = Guarded()
    assert measured.measure([build()], ())[0] is not None, measured.log


@pytest.mark.parametrize("in_place", [False, True])
def test_where_operands_stand(in_place: bool) -> None:
    launch = launch_of(scatter(100, 33, in_place), (), 2, [1])
    memory = Buffers(cold_bytes=4096)
    memory.prepare(launch)
    table = memory.pointers(launch, 40)
    assert (table[:, 3] == table[:, 0]).all() == in_place
    assert (table % 64 == 0).all() and all(len(set(table[:, k])) == 1 for k in (0, 2, 3))
    assert len(set(table[:, 1])) == -(-4096 // bytes_of(launch.operands[1])) + 1
    blocks = [(block.ctypes.data, block.ctypes.data + block.nbytes) for block in memory._blocks.values()]
    for k, tensor in enumerate((*launch.operands, launch.result)):
        for address in map(int, table[:, k]):
            assert any(start <= address and address + bytes_of(tensor) <= end for start, end in blocks)


def test_budgets(team: Team, tmp_path: Path) -> None:
    measured = measurer(team, tmp_path, Budget(60.0, 2))
    seconds = measured.measure([scaled([size]) for size in (16, 24, 32, 16)], ())
    assert [s is None for s in seconds] == [False, False, True, False]
    assert outcomes(measured) == ["measured", "measured", "budget"]
    assert "2 of 2 candidates" in measured.log[-1].reason
    assert measured.measure([scaled([32]), scaled([24])], ())[0] is None
    assert outcomes(measured)[3:] == ["known", "budget"]
    late = measurer(team, tmp_path, Budget(0.0, 100))
    assert late.measure([scaled([40])], ()) == [None] and outcomes(late) == ["budget"]


def test_a_launch_longer_than_the_time_left_is_not_run(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = measurer(team, tmp_path)
    monkeypatch.setattr("luminal.runtime.tuning.measurer.Clock.estimate", lambda clock: 100.0)
    assert measured.measure([scaled([16])], ()) == [None]
    assert outcomes(measured) == ["budget"] and "a launch takes about 1e+02 s" in measured.log[0].reason


def test_what_needs_too_much_memory_is_left_out(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("luminal.runtime.tuning.measurer.available_memory", lambda: 1 << 20)
    measured = measurer(team, tmp_path)
    assert measured.measure([scaled([1 << 20]), scaled([16])], ())[0] is None
    assert outcomes(measured) == ["memory", "measured"]
    assert "more than half of the 1048576 bytes free" in measured.log[0].reason


def test_what_the_lowering_refuses_is_logged(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("luminal.lowering.cpu.object_code.LOWERINGS", {})
    measured = measurer(team, tmp_path)
    assert measured.measure([scaled([16])], ()) == [None] == measured.measure([scaled([16])], ())
    assert outcomes(measured) == ["refused"] * 2
    assert "'kernel.region' has no lowering to the CPU" in measured.log[0].reason


def test_much_slower_than_the_best_alternative(team: Team, tmp_path: Path) -> None:
    op = scaled([1 << 14])
    measured = measurer(team, tmp_path)
    (rough,) = measured.measure([op], (), limits=[1e-12])
    assert rough is not None and outcomes(measured) == ["rough"]
    assert measured.measure([op], (), limits=[1e-12]) == [rough]
    launch = launch_of(op, (), 2)
    assert measured.database.get(launch.key) is None  # too little to rank by
    (full,) = measured.measure([op], (), limits=[None])
    assert outcomes(measured) == ["rough", "known", "measured"]
    assert (
        measured.database.get(launch.key)
        == full
        == TuningDatabase.open(measured.database.path).get(launch.key)
    )


def test_disturbed_times_are_marked_and_repeated(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "NOISE", 1.0)  # every batch agrees with those before
    monkeypatch.setattr(timing, "MOST_SECONDS", 60.0)
    monkeypatch.setattr(timing, "_waited", lambda: 0.0)
    calm = measurer(team, tmp_path)
    calm.measure([scaled([16])], ())
    monkeypatch.setattr(timing, "_waited", iter(range(10**6)).__next__)
    monkeypatch.setattr(timing, "MOST_SECONDS", 0.01)
    busy = measurer(team, tmp_path)
    busy.measure([scaled([24])], ())
    assert "disturbed" not in calm.log[0].reason and "disturbed" in busy.log[0].reason
    found = {entry["result"]: entry.get("disturbed", False) for entry in busy.database}
    assert found == {"16xf32": False, "24xf32": True}


def test_known_kernels_measured_again(team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def again(seconds: float, **how: bool) -> float | None:
        found = timing.Timing(seconds, 9, **how)
        monkeypatch.setattr("luminal.runtime.tuning.measurer.Clock.seconds", lambda *args, **limits: found)
        return measurer(team, tmp_path).measure([scaled([16])], (), again=True)[0]

    assert again(2.0, calm=True) == 2.0
    assert again(3.0, calm=True) == 2.0 and again(9.0, rough=True) == 2.0
    assert again(1.0) == 1.0
    late = measurer(team, tmp_path, Budget(0.0, 0))
    assert late.measure([scaled([16])], (), again=True) == [1.0]
    assert outcomes(late) == ["known"] and "spent: 0.00 of 0 s" in late.log[0].reason


def test_progress_is_shown(team: Team, tmp_path: Path) -> None:
    shown: list[tuple[str, float | None]] = []
    measured = measurer(team, tmp_path, progress=lambda name, seconds: shown.append((name, seconds)))
    (seconds,) = measured.measure([scaled([16])], ())
    assert shown == [
        (f"measure {measured.log[0].kernel}", None),
        (f"measure {measured.log[0].kernel}", seconds),
    ]


def test_where_the_database_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert database_path() == tmp_path / "tuning.jsonl"
    monkeypatch.setenv("LUMINAL_TUNING_DB", str(tmp_path / "named" / "here.jsonl"))
    opened = TuningDatabase.open(None)
    assert opened.path == tmp_path / "named" / "here.jsonl" and len(opened) == 0
    opened.put("key", 1.0)
    opened.save()
    assert TuningDatabase.open(None).get("key") == 1.0


def test_entries_of_another_environment_never_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "db.jsonl"
    here = TuningDatabase.open(path)
    here.put("key", 1.0, op="kernel.region")
    here.save()
    environment = device.host_environment()
    other = replace(environment, cores=environment.cores + 1)
    monkeypatch.setattr(database, "host_environment", lambda: other)
    there = TuningDatabase.open(path)
    assert there.get("key") is None and len(there) == 1
    there.put("key", 2.0)
    there.save()
    monkeypatch.undo()
    reopened = TuningDatabase.open(path)
    assert reopened.get("key") == 1.0 and len(reopened) == 2 and len(reopened.environments) == 2


def test_any_change_of_the_lowering_is_another_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    before = device.lowering_digest.__wrapped__()
    monkeypatch.setattr("luminal.lowering.cpu.codegen._ATTRIBUTES", "[]")
    assert device.lowering_digest.__wrapped__() != before


@pytest.mark.parametrize(
    "damage", [b"\xff\x00not text", b'{"key": "a", "seconds": "fast"}', b"[]", b'{"key": 1']
)
def test_damaged_lines_are_kept_aside(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "db.jsonl"
    whole = TuningDatabase.open(path)
    whole.put("good", 1.0)
    whole.save()
    content = path.read_bytes()
    path.write_bytes(damage + b"\n" + content)
    with pytest.warns(UserWarning, match="moved to .*db.jsonl.damaged"):
        assert TuningDatabase.open(path).get("good") == 1.0
    assert path.read_bytes() == content
    assert (tmp_path / "db.jsonl.damaged").read_bytes() == damage + b"\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert TuningDatabase.open(path).get("good") == 1.0


def test_a_line_cut_short_by_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "db.jsonl"
    first = TuningDatabase.open(path)
    first.put("a", 1.0)
    first.save()
    with open(path, "ab") as file:
        file.write(b'{"key": "b", "sec')
    first.put("c", 3.0)
    first.save()
    with pytest.warns(UserWarning, match="damaged"):
        found = TuningDatabase.open(path)
    assert (found.get("a"), found.get("b"), found.get("c")) == (1.0, None, 3.0)


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.warns(UserWarning, match="cannot be read"):
        blocked = TuningDatabase.open(tmp_path / "file" / "db.jsonl")
    blocked.put("key", 1.0)
    with pytest.warns(UserWarning, match="cannot be written"):
        blocked.save()
    assert blocked.get("key") == 1.0


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from luminal.runtime.tuning import TuningDatabase
database = TuningDatabase.open(Path(sys.argv[1]))
for k in range(50):
    database.put(f"{sys.argv[2]}-{k}", 1.0 + k)
    database.save()
"""


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "db.jsonl"
    command = [sys.executable, "-W", "error", "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, name]) for name in ("a", "b", "c")]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    found = TuningDatabase.open(path)
    assert all(found.get(f"{name}-{k}") == 1.0 + k for name in "abc" for k in range(50))
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_merging_keeps_the_better_of_two(tmp_path: Path) -> None:
    ours, theirs = TuningDatabase.open(tmp_path / "a"), TuningDatabase.open(tmp_path / "b")
    for key, seconds in (("same", 1.0), ("slower", 2.0), ("faster", 3.0)):
        ours.put(key, seconds)
    ours.put("rough", 0.5, rough=True)
    for key, seconds in (("same", 1.0), ("slower", 3.0), ("faster", 2.0), ("rough", 4.0), ("new", 5.0)):
        theirs.put(key, seconds)
    theirs.save()
    assert ours.merge(theirs.path) == 3
    ours.save()
    merged = TuningDatabase.open(ours.path)
    assert [merged.get(key) for key in ("same", "slower", "faster", "rough", "new")] == [
        1.0,
        2.0,
        2.0,
        4.0,
        5.0,
    ]
    assert merged.merge(theirs.path) == 0
    with pytest.raises(RuntimeFailure, match="cannot be read"):
        merged.merge(tmp_path / "absent")


def test_removing_entries(tmp_path: Path) -> None:
    path = tmp_path / "db.jsonl"
    ours, theirs = TuningDatabase.open(path), TuningDatabase.open(path)
    ours.put("mine", 1.0)
    theirs.put("yours", 2.0)
    theirs.save()
    assert ours.remove(lambda entry: entry["seconds"] > 5.0) == 0
    assert ours.remove(lambda entry: entry["key"] == "mine") == 1 and ours.get("mine") is None
    found = TuningDatabase.open(path)
    assert (len(found), found.get("yours"), len(found.environments)) == (1, 2.0, 1)
    assert found.remove(lambda entry: True) == 1 and path.read_bytes() == b""
    found.put("new", 3.0)
    found.save()
    assert TuningDatabase.open(path).environments.keys() == {found.environment.identity}


def measured_file(path: Path, entries: dict[str, float]) -> Path:
    database = TuningDatabase.open(path)
    for key, seconds in entries.items():
        database.put(
            key, seconds, op="kernel.region", operands=["4x8xf32"], result="4x8xf32", body=f"load {key}",
            symbols={"s0": 4}, cold=[], threads=2, runs=7,
        )  # fmt: skip
    database.save()
    return path


def test_luminal_tune_shows_merges_and_clears(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours = measured_file(tmp_path / "a", {"exp": 1e-6, "sin": 2.5e-3})
    theirs = measured_file(tmp_path / "b", {"tanh": 2.0})
    assert tune(["merge", str(ours), str(theirs)]) == 0
    assert capsys.readouterr().out == f"1 entries of {theirs} taken over; {ours} has 3\n"
    assert tune(["show", "--database", str(ours)]) == 0
    shown = capsys.readouterr().out
    assert f"{device.processors()} cores" in shown and "this one" in shown
    lines = [line for line in shown.splitlines() if "kernel.region" in line]
    assert [line.split()[:2] for line in lines] == [["2.000", "s"], ["2.500", "ms"], ["1.000", "us"]]
    assert "(4x8xf32) -> 4x8xf32" in lines[0] and "load tanh" in lines[0] and "s0=4" in lines[0]
    assert tune(["show", "--database", str(ours), "--filter", "TANH"]) == 0
    assert "1 of 3 entries" in capsys.readouterr().out
    assert tune(["clear", "--database", str(ours), "--filter", "tanh"]) == 0
    assert len(TuningDatabase.open(ours)) == 2
    assert tune(["clear", "--database", str(ours), "--outdated"]) == 0 and len(TuningDatabase.open(ours)) == 2
    assert tune(["clear", "--database", str(ours)]) == 0 and len(TuningDatabase.open(ours)) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"2 entries removed from {ours}; 0 left"


def test_luminal_tune_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(["merge", str(tmp_path / "a"), str(tmp_path / "absent")]) == 1
    assert "absent cannot be read" in capsys.readouterr().err
    assert tune(["show", "--database", str(tmp_path / "a")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'a'}: nothing has been measured\n"
