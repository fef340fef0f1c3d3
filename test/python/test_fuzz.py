"""The equivalence fuzzer: programs drawn from one e-graph agree; a wrong rule is caught and named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from luminal.dialects.mlir import ir
from luminal.passes.eqsat import terms
from luminal.passes.registry import PASSES
from luminal.runtime.options import OPTIONAL_PASSES, CompileOptions, OptionError
from luminal.tools.fuzz import bisect as bisection
from luminal.tools.fuzz.bisect import bisect
from luminal.tools.fuzz.blocks import BLOCKS, build_block
from luminal.tools.fuzz.command import main
from luminal.tools.fuzz.native import run_native
from luminal.tools.fuzz.program import from_torch
from luminal.tools.fuzz.search import blame, failure, shrink


@pytest.mark.parametrize("name", BLOCKS)
def test_samples_of_a_block_agree(name: str) -> None:
    found = failure(from_torch(*build_block(name)), range(32))
    assert found is None, f"seed {found.seed}: {found.what}\n{found.program.text}\n{found.kernels}"


@pytest.mark.parametrize("name", BLOCKS)
def test_primitives_agree_with_eager(name: str) -> None:
    module, inputs = build_block(name)
    (got,) = from_torch(module, inputs).reference
    torch.testing.assert_close(torch.from_numpy(got), module(*inputs).detach(), rtol=1e-4, atol=1e-5)


WRONG = {
    "swaps-a-difference": "(rule ((= e (Sub a b))) ((union e (Sub b a)))",
    "power-is-nothing": "(rule ((= e (Exp x))) ((union e x))",
    "largest-is-sum": '(rule ((= e (Reduce "max" r x))) ((union e (Reduce "sum" r x)))',
}


class Program(torch.nn.Module):
    """A few steps around the ones that the planted rules break."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scaled = (x * 3 + 1).exp() - x
        return (scaled / scaled.amax(-1, keepdim=True)).sigmoid() @ scaled.t()


@pytest.fixture
def planted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The rules with a wrong one among them."""
    original = terms.rule_text
    wrong = f'{WRONG[request.param]} :ruleset algebra :name "{request.param}")'
    monkeypatch.setattr(
        terms, "rule_text", lambda family: original(family) + (wrong if family == "algebra" else "")
    )
    for cached in (terms.prelude, terms.rule_names):
        cached.cache_clear()
    yield request.param
    for cached in (terms.prelude, terms.rule_names):
        cached.cache_clear()


@pytest.mark.parametrize("planted", ["swaps-a-difference", "largest-is-sum"], indirect=True)
def test_a_wrong_rule_is_caught_reduced_and_named(planted: str) -> None:
    x = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    program = from_torch(Program(), (x,))
    found = failure(program, range(32))
    assert found is not None
    small = shrink(found, 8)
    assert small.program.size < program.size / 2
    assert planted in blame(small, 8)


@pytest.mark.parametrize("planted", ["power-is-nothing"], indirect=True)
def test_bisect_names_the_rule(planted: str) -> None:
    report = bisect(Program(), (torch.randn(3, 5, generator=torch.Generator().manual_seed(0)),))
    assert report is not None
    assert report.startswith("the search differs from the primitives")
    (line,) = [line for line in report.splitlines() if line.startswith("rules without which it agrees: ")]
    assert planted in line


def test_bisect_tells_the_levels_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    class Exported(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1 if torch.compiler.is_exporting() else x

    x = torch.randn(30, 50, generator=torch.Generator().manual_seed(0))
    assert bisect(Program(), (x,)) is None
    assert (bisect(Exported(), (x,)) or "").startswith("the import differs from eager")

    def broken(text: str, arrays: Sequence[np.ndarray], options: CompileOptions) -> list[np.ndarray]:
        results = run_native(text, arrays, options)
        return [result * 2 for result in results] if "kernel.contract" in text else results

    monkeypatch.setattr(bisection, "run_native", broken)
    report = bisect(Program(), (x,)) or ""
    assert report.startswith("the native code of a kernel differs from its meaning")
    assert report.count('"kernel.contract"') == 1


@pytest.mark.parametrize("name", ["canonicalize-views", "outline-layers", "split-reductions"])
def test_bisect_names_a_wrong_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that also turns every sum into a difference (of primitives, or of what kernels compute)."""
    x = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    entry = PASSES[name]

    class Planted:
        """The entry of a pass that does harm after its work."""

        def __getattr__(self, attribute: str) -> object:
            return getattr(entry, attribute)

        def load(self) -> Callable[[ir.Operation, object], None]:
            def run(op: ir.Operation, options: object) -> None:
                entry.load()(op, options)
                spoil(op)

            return run

    monkeypatch.setitem(PASSES, name, Planted())  # type: ignore[arg-type]
    report = bisect(Program(), (x,)) or ""
    assert name in report.splitlines()[0 if name == "canonicalize-views" else 1]


def spoil(op: ir.Operation) -> None:
    """Swap the operands of what does not commute: the first comparison or difference, at either level."""

    def visit(found: ir.Operation) -> ir.WalkResult:
        if found.name in ("luminal.sum_reduce", "kernel.sub"):
            spoiled.append(found.operation)
        return ir.WalkResult.ADVANCE

    spoiled: list[ir.Operation] = []
    op.walk(visit)
    for found in spoiled:
        operands = list(found.operands)
        if found.name == "kernel.sub":
            found.operands[0], found.operands[1] = operands[1], operands[0]
            continue
        with found.context, ir.Location.unknown(), ir.InsertionPoint(found):
            twice = ir.Operation.create("luminal.add", [operands[0].type], [operands[0], operands[0]], {})
        found.operands[0] = twice.result


def test_optional_passes_may_be_left_out_and_required_ones_not() -> None:
    x = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    program = from_torch(Program(), (x,))
    for name in OPTIONAL_PASSES:
        (got,) = run_native(program.text, program.arrays, CompileOptions(disable_passes=(name,)))
        np.testing.assert_allclose(got, program.reference[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(OptionError, match="no program runs without 'luminal-eqsat'; canonicalize-views"):
        CompileOptions(disable_passes=("luminal-eqsat",))
    with pytest.raises(OptionError, match="no pass is called 'fold-things'"):
        CompileOptions(disable_passes=("fold-things",))


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model.py"
    file.write_text("import torch\nmodel = torch.nn.Linear(3, 2).eval()\ninputs = (torch.ones(2, 3),)\n")
    assert main([str(file), "--samples", "3"]) == 0
    assert "3 samples agree" in capsys.readouterr().out
    file.write_text("model = 3\ninputs = ()\n")
    assert main([str(file)]) == 1
    assert main(["no-such-block"]) == 1
    errors = capsys.readouterr().err
    assert "must define `model`" in errors
    assert "neither a file nor a built-in block (llama" in errors
