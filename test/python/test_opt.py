"""luminal-opt as a library: pipelines of upstream and luminal passes, diagnostics, failures, help."""

import os
import subprocess
import sys
from dataclasses import dataclass
from types import ModuleType

import pytest

from luminal.dialects.mlir import context, ir, passmanager
from luminal.errors import LoweringError, PassError
from luminal.passes.pipeline import PipelineError, build_pipeline, option_values, run_pipeline, split_elements
from luminal.passes.registry import PASSES, PassEntry, parse_options, print_options
from luminal.passes.targets import TARGETS
from luminal.tools.opt import main
from luminal.tools.opt_diagnostics import check_expectations
from luminal.tools.opt_driver import Diagnostic
from luminal.tools.opt_help import upstream_passes
from luminal.tools.opt_input import Chunk, split_chunks


@dataclass(frozen=True)
class ToyOptions:
    """Options of the toy pass.

    level: how it ends
    """

    level: int = 1
    rate: float = 0.5
    loud: bool = False
    names: tuple[str, ...] = ()
    limit: int | None = None


def toy(op, options):
    """Record that it ran."""
    if options.level == 8:
        raise LoweringError("no lowering for eight")
    if options.level == 9:
        raise KeyError("nine")
    op.attributes["toy.level"] = ir.IntegerAttr.get(
        ir.IntegerType.get_signless(64, op.context), options.level
    )
    return {"level": options.level}


@pytest.fixture
def toy_pass(monkeypatch):
    module = ModuleType("luminal_toy_pass")
    module.toy, module.ToyOptions = toy, ToyOptions
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = PassEntry("toy", "luminal_toy_pass:toy", "luminal_toy_pass:ToyOptions")
    monkeypatch.setitem(PASSES, "toy", entry)
    return entry


SOURCE = """
func.func @f(%a: i32) -> i32 {
  %c = arith.constant 0 : i32
  %d = arith.addi %a, %c : i32
  return %d : i32
}
"""


def run(pipeline, source=SOURCE):
    seen = []
    with context():
        module = ir.Module.parse(source)
        run_pipeline(
            module.operation, pipeline, lambda name, statistics: seen.append((name, dict(statistics)))
        )
        return str(module), seen


def test_upstream_and_luminal_passes_run_in_order(toy_pass):
    text, seen = run("builtin.module(toy{level=3},func.func(canonicalize))")
    assert "toy.level = 3" in text and "arith.addi" not in text
    assert seen == [("toy", {"level": 3})]


def test_options_are_parsed_by_type(toy_pass):
    values = option_values("level=3 rate=0.25 loud names=a;b limit=7")
    options = parse_options(toy_pass, values)
    assert options == ToyOptions(3, 0.25, True, ("a", "b"), 7)
    assert parse_options(toy_pass, option_values(print_options(options).strip("{}"))) == options


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("toy{level=x}", "option 'level' of pass 'toy': expected an integer, got 'x'"),
        ("toy{speed=1}", "pass 'toy' has no option 'speed'"),
        ("func.func(toy)", "runs on builtin.module, not nested within 'func.func'"),
        ("nothing-like-it", "'nothing-like-it' does not refer to a registered pass"),
        ("canonicalize{max-iterations=x}", "canonicalize"),
        ("toy{level=3", "missing '}' at the end"),
        ("toy)", "unbalanced '\\)' at column 4"),
    ],
)
def test_bad_pipelines_are_refused(toy_pass, text, message):
    with context(), pytest.raises(PipelineError, match=message):
        build_pipeline(text)


def test_failures_name_the_pass_and_reproduce(toy_pass):
    with pytest.raises(PassError, match="pass 'toy' failed: KeyError: 'nine'") as caught:
        run("toy{level=9 loud=true}")
    note = caught.value.__notes__[0]
    saved = note.split("IR before it: ")[1].split("\n")[0]
    assert "--pass-pipeline=builtin.module(toy{level=9 loud=true})" in note
    try:
        with open(saved) as file, context():
            ir.Module.parse(file.read())
    finally:
        os.unlink(saved)


def test_luminal_errors_keep_their_class(toy_pass):
    with pytest.raises(LoweringError, match="no lowering for eight") as caught:
        run("toy{level=8}")
    os.unlink(caught.value.__notes__[0].split("IR before it: ")[1].split("\n")[0])


def test_elements_split_at_the_top_level_only():
    elements = list(split_elements("a{x=[1,2] y={z,w}}, func.func(b,c{k='q,r'}) ,d"))
    assert [(element.name, element.nested) for element in elements] == [
        ("a", None),
        ("func.func", "b,c{k='q,r'}"),
        ("d", None),
    ]


def test_chunks_keep_the_lines_of_the_file():
    chunks = list(split_chunks("x", "a\n// -----\nb\nc\n// -----\nd", True))
    assert [chunk.line(number) for chunk, number in zip(chunks, (1, 3, 6), strict=True)] == ["a", "b", "d"]


def test_unmatched_expectations_fail(capsys):
    chunk = Chunk("x.mlir", "// expected-error@+1 {{bad}}\nop\n// expected-remark@unknown {{never}}")
    found = [Diagnostic("error", "-", 2, 1, "very bad thing")]
    assert not check_expectations(chunk, found)
    assert capsys.readouterr().err == 'x.mlir:3: error: expected remark "never" was not produced\n'
    assert check_expectations(chunk, [*found, Diagnostic("remark", "", 0, 0, "never mind")])


def test_upstream_list_is_what_mlir_registers():
    with context():
        for name, anchor in upstream_passes():
            passmanager.PassManager(anchor).add(name)


def test_every_luminal_pass_is_documented():
    for entry in PASSES.values():
        assert entry.summary().endswith("."), entry.name
        assert entry.options_class()() is not None


def test_every_stage_exists():
    with context():
        for stages in TARGETS.values():
            for stage in stages:
                assert callable(stage.emitter()) if stage.emit else build_pipeline(stage.passes)


def test_output_is_whole_or_absent(tmp_path, capsys):
    source, output = tmp_path / "in.mlir", tmp_path / "out.mlir"
    source.write_text(SOURCE)
    output.write_text("before")
    assert main([str(source), "--no-such-pass", "-o", str(output)]) == 1
    assert output.read_text() == "before"
    assert main([str(source), "--canonicalize", "-o", str(output)]) == 0
    assert "arith.addi" not in output.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mlir", "out.mlir"]
    assert "unknown option or pass '--no-such-pass'" in capsys.readouterr().err


def test_help_loads_neither_torch_nor_cuda():
    code = (
        "import sys; from luminal.tools.opt import main; main(['--help']); "
        "print([name for name in ('torch', 'cuda', 'egglog') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    for name in PASSES:
        assert f"--{name}\n" in done.stdout
