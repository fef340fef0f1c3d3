"""`luminal-run chat`: a language model compiled once for prefill and once for decode, its answer streamed."""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

from luminal.errors import InputError

from .measure import Peak, StageClock, measured_block, print_table
from .models.generate import EagerLanguageModel, Generation, LanguageModel, generate
from .models.smollm2 import load_smollm2


def chat(arguments: argparse.Namespace) -> int:
    """Answer one question; print the table; 1 if the greedy tokens differ from torch eager's."""
    print("loading SmolLM2-135M-Instruct ...", file=sys.stderr, flush=True)
    start = time.perf_counter()
    model, tokenizer = load_smollm2()
    print(f"loaded in {time.perf_counter() - start:.1f} s", file=sys.stderr)
    messages = [{"role": "user", "content": arguments.question}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)[
        "input_ids"
    ]
    if len(prompt) >= arguments.context:
        raise InputError(
            f"the question has {len(prompt)} tokens; --context {arguments.context} must be larger"
        )
    limit = min(arguments.max_tokens, arguments.context - len(prompt))
    stop = frozenset({tokenizer.eos_token_id, model.config.eos_token_id})

    def answer(language: LanguageModel, emit: Callable[[int], None]) -> Generation:
        return generate(language, prompt, limit, stop, emit)

    from .models.compiled import compile_language

    columns: dict[str, tuple[Generation, Peak, float | None]] = {}
    with measured_block() as peak:
        clocks = {program: StageClock(f"compiling {program}") for program in ("prefill", "decode")}
        started = time.perf_counter()
        compiled = compile_language(model, arguments.context, _options(arguments.threads, clocks))
        seconds = time.perf_counter() - started
        for clock in clocks.values():
            clock.done()
        ours = answer(compiled.model, Stream(tokenizer, stop))
        print(flush=True)
    columns["luminal"] = (ours, peak, seconds)
    if not arguments.no_eager:
        del compiled
        model.set_attn_implementation("sdpa")
        eager = EagerLanguageModel(model)
        with measured_block() as peak:
            eager.prefill(prompt)
            theirs = answer(eager, lambda token: None)
        columns["torch eager"] = (theirs, peak, None)
    _report(columns)
    if not arguments.no_eager and ours.tokens != theirs.tokens:
        print("luminal-run: error: the greedy tokens differ from torch eager's", file=sys.stderr)
        return 1
    return 0


class Stream:
    """Prints a token's text as soon as its characters are whole."""

    def __init__(self, tokenizer: Any, stop: frozenset[int]) -> None:
        self._tokenizer, self._stop = tokenizer, stop
        self._tokens: list[int] = []
        self._shown = ""

    def __call__(self, token: int) -> None:
        if token in self._stop:
            return
        self._tokens.append(token)
        text = self._tokenizer.decode(self._tokens)
        if not text.endswith("\ufffd"):
            print(text[len(self._shown) :], end="", flush=True)
            self._shown = text


def _options(threads: int, clocks: dict[str, StageClock]) -> dict[str, Any]:
    """The compile options of each program."""
    import luminal

    return {name: luminal.CompileOptions(threads=threads, progress=clock) for name, clock in clocks.items()}


def _rate(run: Generation) -> float | None:
    return 1 / run.seconds_per_token if run.step_seconds else None


def _report(columns: dict[str, tuple[Generation, Peak, float | None]]) -> None:
    """The table: one column for luminal, one for torch eager, and their ratio where both are there."""

    def row(name: str, unit: str, values: list[float | None]) -> tuple[str, ...]:
        cells = ["-" if value is None else f"{value:.2f} {unit}" for value in values]
        if len(values) == 2:
            both = values[0] is not None and values[1]
            cells.append(f"{values[0] / values[1]:.2f}" if both else "")  # type: ignore[operator]
        return (name, *cells)

    runs = list(columns.values())
    rows = [
        row("compile", "s", [seconds for _, _, seconds in runs]),
        row("time to first token", "ms", [run.first_seconds * 1e3 for run, _, _ in runs]),
        row("time per token", "ms", [run.seconds_per_token * 1e3 for run, _, _ in runs]),
        row(
            "tokens per second",
            "",
            [_rate(run) for run, _, _ in runs],
        ),
        row("peak memory", "GB", [peak.bytes / 1e9 for _, peak, _ in runs]),
    ]
    print()
    print_table(("", *columns, *(("ratio",) if len(runs) == 2 else ())), rows)
