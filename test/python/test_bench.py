"""luminal-bench: tables, JSON, means and missing packages, on toy contestants and small sizes. No time is
asserted.
"""

import importlib.util
import json

import pytest
import torch

from luminal.tools.bench import command, compile_time, contestants, linear_workloads, onnx, runner
from luminal.tools.bench.machine import Machine
from luminal.tools.bench.report import as_json, better_seconds, least_seconds, print_report
from luminal.tools.bench.runner import run_workload
from luminal.tools.bench.search import SEARCHES, options_of, print_searches
from luminal.tools.bench.summary import geometric_mean, print_summary, ratios
from luminal.tools.bench.workload import Contestant, Result, Workload
from luminal.tools.bench.workloads import BUILDERS

MACHINE = Machine(bandwidth=1e9, flops=1e9, threads=1)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(runner, "quiet", lambda: None)


def giving(value, **fields):
    return Contestant(lambda clock: (lambda: None, lambda: torch.full((4,), value)), **fields)


def figures(**seconds):
    return {who.replace("_", "-"): Result(second, second, 3) for who, second in seconds.items()}


def test_contestants_take_turns_and_each_round_begins_with_another():
    order = []

    def noting(who):
        def run():
            order.append(who)
            return torch.zeros(1)

        return Contestant(lambda clock: (lambda: None, run))

    names = ("eager", "luminal", "inductor")
    workload = Workload({who: noting(who) for who in names}, bytes=4, flops=1)
    results = run_workload("toy", workload, ["luminal", "eager", "inductor"], 0.0, rounds=3)
    assert list(results) == ["eager", "luminal", "inductor"]
    assert order[:6] == [who for who in names for _ in range(2)]
    turns = [who for previous, who in zip([None, *order[6:]], order[6:], strict=False) if who != previous]
    assert turns[:3] == ["eager", "luminal", "inductor"]
    assert turns[3:6] == ["luminal", "inductor", "eager"]
    assert all(result.runs == 3 and 0 < result.seconds <= result.median for result in results.values())


def test_processor_time_runs_on_one_thread(capsys, monkeypatch):
    from luminal.tools.bench import machine, workloads

    seen = []

    def build(name, threads):
        seen.append((threads, torch.get_num_threads()))
        return Workload({"eager": giving(1.0)}, bytes=4, flops=1)

    monkeypatch.setattr(workloads, "build_workload", build)
    monkeypatch.setattr(machine, "measure_machine", lambda known=None, timer=None: MACHINE)
    before = torch.get_num_threads()
    try:
        assert command.main(["norm", "--cpu-time", "--seconds", "0.01"]) == 0
    finally:
        torch.set_num_threads(before)
    assert seen == [(1, 1)]


def test_a_missing_package_is_a_line_that_says_how_to_install_it(capsys):
    absent = giving(1.0, packages=("luminal_no_such_package",))
    workload = Workload({"eager": giving(1.0), "openvino": absent}, bytes=4, flops=1)
    results = run_workload("toy", workload, ["eager", "openvino"], 0.0, rounds=1)
    assert (
        results["openvino"].skipped == "luminal_no_such_package not installed; pip install 'luminal[bench]'"
    )
    print_report("toy", "a toy", workload, results, MACHINE)
    assert "  openvino: luminal_no_such_package not installed; pip install" in capsys.readouterr().out


def test_another_contestant_that_fails_or_is_wrong_is_left_out():
    def failing(clock):
        raise ValueError("no such operator\nand more")

    others = {"inductor": Contestant(failing), "onnxruntime": giving(3.0), "openvino": giving(float("nan"))}
    workload = Workload({"eager": giving(1.0), **others}, bytes=4, flops=1)
    results = run_workload("toy", workload, ["eager", *others], 0.0, rounds=1)
    assert results["inductor"].skipped == "failed: ValueError: no such operator"
    assert results["onnxruntime"].skipped == "result differs from torch eager's by 2.00e+00"
    assert "nan" in results["openvino"].skipped
    assert not results["eager"].skipped


def test_ratios_and_means_leave_out_who_did_not_run():
    results = {
        "one": figures(eager=2.0, luminal=1.0, inductor=4.0),
        "two": figures(eager=8.0, luminal=1.0, inductor=4.0),
        "three": {**figures(luminal=1.0, eager=3.0), "inductor": Result(skipped="no C++ compiler")},
    }
    assert better_seconds(results["one"]) == 2.0
    assert better_seconds(results["three"]) is None
    assert ratios(results, "better") == [0.5, 0.25]
    assert geometric_mean(ratios(results, "better")) == pytest.approx(8**-0.5)
    assert len(ratios(results, "eager")) == 3
    assert geometric_mean([]) is None


def test_the_summary_ends_with_the_geometric_mean(capsys):
    one = figures(eager=2.0, luminal=1.0, inductor=4.0, onnxruntime=0.5)
    print_summary({"one": one, "two": figures(eager=8.0, luminal=1.0, inductor=4.0)})
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[1].split()[:4] == ["luminal", "better", "eager", "inductor"]
    assert lines[-1].split() == ["geometric", "mean", "0.35", "0.25", "0.25", "2.00"]
    assert lines[2].split()[-1] == "onnxruntime"
    print_summary({"one": one})
    assert capsys.readouterr().out == ""


def test_the_report_compares_with_the_physical_limit(capsys):
    workload = Workload({}, bytes=2e6, flops=1e6)
    results = figures(eager=0.008, luminal=0.004)
    results["luminal"].planned_bytes, results["luminal"].packed_bytes = 3_000_000, 1_000_000
    assert least_seconds(workload, MACHINE) == pytest.approx(0.002)
    print_report("toy", "a toy", workload, results, MACHINE)
    text = capsys.readouterr().out
    assert "toy: a toy; 2.00 ms at this machine's best (moving)" in text
    row = next(line for line in text.splitlines() if line.startswith("luminal")).split()
    assert row[:6] == ["luminal", "4.00", "ms", "4.00", "ms", "0.50"] and "50%" in row
    assert "luminal: 3.0 MB of temporary memory planned, 1.0 MB of packed weights" in text


def test_figures_survive_json():
    results = {"toy": figures(eager=2.0, luminal=1.0)}
    read = json.loads(json.dumps(as_json(results, MACHINE)))
    assert read["workloads"]["toy"]["luminal"]["seconds"] == 1.0
    assert read["machine"]["bandwidth"] == 1e9


def test_the_search_table_has_a_row_for_each_workload_and_the_mean(capsys):
    seconds = dict.fromkeys(SEARCHES, 1.0) | {"luminal-unsearched": 4.0}
    print_searches({"toy": {who: Result(second, compile_seconds=2.0) for who, second in seconds.items()}})
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[2].split()[0] == "toy" and "0.25" in lines[2]
    assert lines[3].split()[:3] == ["geometric", "mean", "0.25"]


def test_search_settings_are_options_that_exist():
    import luminal

    for name in SEARCHES:
        luminal.CompileOptions(**options_of(name))
    assert options_of("luminal-unsearched")["search_sweeps"] == 0


def test_every_workload_has_a_description():
    assert set(command.WORKLOADS) == set(BUILDERS)


def test_a_small_module_runs_by_everyone_who_is_here():
    torch.manual_seed(0)
    module = linear_workloads.Linear(16).eval()
    x = torch.randn(16, 16)
    entrants = contestants.module_contestants(module, (x,), 1)
    workload = Workload(entrants, bytes=4, flops=1)
    names = ("eager", "luminal", "luminal-unsearched", "onnxruntime", "openvino")
    results = run_workload("toy", workload, names, 0.0, rounds=1)
    assert list(results) == list(names)
    for who, result in results.items():
        missing = [name for name in entrants[who].packages if importlib.util.find_spec(name) is None]
        assert bool(result.skipped) == bool(missing), result.skipped
    assert results["luminal"].packed_bytes >= 16 * 16 * 4


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this torch has no oneDNN")
def test_onednn_by_itself_computes_the_layer():
    torch.manual_seed(0)
    module, x = linear_workloads.Linear(16).eval(), torch.randn(16, 16)
    with torch.no_grad():
        _, run = linear_workloads._onednn(module.linear, x).make(None)
        torch.testing.assert_close(run(), module(x))


def test_a_growing_cache_gives_the_logits_of_transformers():
    transformers = pytest.importorskip("transformers", reason="the models extra is not installed")
    pytest.importorskip("onnxscript", reason="the bench extra is not installed")
    from luminal.tools.bench.onnx_decode import DecodeSteps
    from luminal.tools.measure import StageClock
    from luminal.tools.models.generate import EagerLanguageModel

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=32,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        intermediate_size=48,
        num_hidden_layers=2,
        vocab_size=128,
        max_position_embeddings=64,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    tokens = [5, 6, 7, 8, 9, 1]
    eager = EagerLanguageModel(model)
    eager.prefill(tokens[:4])
    expected = torch.stack([eager.decode(tokens[at], at) for at in (4, 5)])
    for who, contestant in DecodeSteps(model, tokens, 4, 1).contestants().items():
        pytest.importorskip(who, reason="the bench extra is not installed")
        with torch.no_grad():
            prepare, run = contestant.make(StageClock(who, show=False))
            for _ in range(2):
                prepare()
                torch.testing.assert_close(run(), expected, rtol=1e-4, atol=1e-5)


def test_an_export_is_shared_and_its_seconds_are_counted_for_both():
    pytest.importorskip("onnxscript", reason="the bench extra is not installed")
    from luminal.tools.measure import StageClock

    file = onnx.OnnxFile(torch.nn.ReLU(), (torch.zeros(2),), ("x",))
    first, second = StageClock("first", show=False), StageClock("second", show=False)
    assert file.path(first) == file.path(second)
    assert first.shared == 0.0 and second.shared == first.seconds["onnx export"] > 0.0


def test_compile_seconds_come_from_new_processes(capsys, monkeypatch):
    code = (
        "print('noise'); print('luminal-bench-compile:{\"search\": 1.5, \"total\": 2.0}') # {name} {threads}"
    )
    monkeypatch.setattr(compile_time, "_CHILD", code.replace('{"', '{{"').replace("0}", "0}}"))
    measured = compile_time.measure_compile_time("matmul", 1)
    assert measured == dict.fromkeys(("cold", "warm"), {"search": 1.5, "total": 2.0})
    assert "search  1.50  1.50" in capsys.readouterr().out


def test_one_workload_that_fails_does_not_keep_the_others_from_being_measured(capsys, monkeypatch, tmp_path):
    from luminal.errors import RuntimeFailure
    from luminal.tools.bench import machine, workloads

    def build(name, threads):
        if name == "decode":
            raise RuntimeFailure("no weights")
        return Workload({"eager": giving(1.0), "luminal": giving(1.0)}, bytes=4, flops=1)

    monkeypatch.setattr(workloads, "build_workload", build)
    monkeypatch.setattr(machine, "measure_machine", lambda known=None, timer=None: MACHINE)
    file = tmp_path / "figures.json"
    names = ["decode", "norm", "mlp"]
    assert command.main([*names, "--only", "luminal", "--seconds", "0.01", "--json", str(file)]) == 1
    captured = capsys.readouterr()
    assert captured.err == "luminal-bench: error: no weights\n"
    assert list(json.loads(file.read_text())["workloads"]) == names[1:]
    unwritable = str(tmp_path / "none" / "figures.json")
    assert command.main(["norm", "--only", "eager", "--seconds", "0.01", "--json", unwritable]) == 1
    assert f"error: cannot write {unwritable}" in capsys.readouterr().err


def test_a_failing_process_is_an_error_with_its_last_line(capsys, monkeypatch):
    monkeypatch.setattr(compile_time, "_CHILD", "raise ValueError('broken {name} {threads}')")
    assert command.main(["matmul", "--compile"]) == 1
    assert "error: matmul: compiling in a new process failed: ValueError: broken matmul 0" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "arguments",
    [["--search", "--compile", "matmul"], ["matmul", "--seconds", "0"], ["matmul", "--threads", "-1"], []],
)
def test_bad_arguments_end_with_a_message(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        command.main(arguments)
    assert caught.value.code == 2
    assert "error: " in capsys.readouterr().err
