"""Benchmarks of whole models. Each contestant runs the unmodified transformers module; eager as its users run
it.
"""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from ..measure import StageClock
from .contestants import luminal_contestant, module_contestants, nothing, with_same_weights
from .search import SEARCHES, options_of
from .workload import Contestant, Run, Workload

CAPACITY = 512
FILLED = 64
STEPS = 16
PROMPT = 128

Rounds = Callable[[Any], tuple[Callable[[], object], Run]]


def decode(threads: int) -> Workload:
    """Tokens after a prompt of FILLED tokens; a unit is one token."""
    from .onnx_decode import DecodeSteps

    model = _smollm2()
    config = model.config
    tokens = _tokens(FILLED + STEPS, config.vocab_size)

    def rounds(language: Any) -> tuple[Callable[[], object], Run]:
        def run() -> torch.Tensor:
            logits = [language.decode(tokens[at], at) for at in range(FILLED, FILLED + STEPS)]
            return torch.stack(logits)

        return lambda: language.prefill(tokens[:FILLED]), run

    cached = 2 * 4 * FILLED * config.num_key_value_heads * config.head_dim * config.num_hidden_layers
    contestants = _language_contestants(model, threads, rounds, "decode")
    steps = DecodeSteps(with_same_weights(model), tokens, FILLED, threads)
    return Workload(
        {**contestants, **steps.contestants()},
        bytes=_parameter_bytes(model) + cached,
        flops=2.0 * _parameters(model),
        units=STEPS,
    )


def prefill(threads: int) -> Workload:
    """A prompt of PROMPT tokens."""
    model = _smollm2()
    tokens = _tokens(PROMPT, model.config.vocab_size)
    inner = _parameters(model) - model.lm_head.weight.numel()

    def rounds(language: Any) -> tuple[Callable[[], object], Run]:
        return nothing, lambda: language.prefill(tokens)

    return Workload(
        _language_contestants(model, threads, rounds, "prefill"),
        bytes=_parameter_bytes(model),
        flops=2.0 * (inner * PROMPT + model.lm_head.weight.numel()),
    )


def embed(threads: int) -> Workload:
    """8 sentences of 64 tokens."""
    from ..models.compiled import compile_embedding
    from ..models.minilm import load_minilm

    module, _ = load_minilm("sdpa")
    written_out = with_same_weights(module)
    written_out.model.set_attn_implementation("eager")  # type: ignore[union-attr,operator]
    ids = torch.tensor([_tokens(64, 30000) for _ in range(8)])
    inputs = (ids, torch.ones_like(ids))
    layers = module.model.encoder.parameters()  # type: ignore[union-attr,operator]
    return Workload(
        module_contestants(module, inputs, threads, compile_embedding, written_out, ("ids", "mask")),
        bytes=_parameter_bytes(module),
        flops=2.0 * ids.numel() * sum(parameter.numel() for parameter in layers),
    )


def images(threads: int) -> Workload:
    """One image of 224x224."""
    from ..models.compiled import compile_images
    from ..models.resnet import seeded_resnet

    module = seeded_resnet()
    image = torch.randn(1, 3, 224, 224, generator=torch.Generator().manual_seed(0))

    def compiled(network: torch.nn.Module, options: Any) -> Any:
        return compile_images(network, 224, options)

    return Workload(
        module_contestants(module, (image,), threads, compiled), bytes=_parameter_bytes(module), flops=3.6e9
    )


def _language_contestants(model: Any, threads: int, rounds: Rounds, measured: str) -> dict[str, Contestant]:
    """`measured`: the program, prefill or decode, whose memory is reported."""
    from ..models.cache import KeyValueBuffers
    from ..models.generate import CachedLanguageModel, EagerLanguageModel
    from ..models.language import Decode, Prefill

    fused, written_out = with_same_weights(model), with_same_weights(model)
    fused.set_attn_implementation("sdpa")
    written_out.set_attn_implementation("eager")

    def by_luminal(options: Mapping[str, Any]) -> Contestant:
        def compiled(chosen: Any) -> Any:
            from ..models.compiled import compile_language

            clock: StageClock = chosen.progress
            programs = {
                name: dataclasses.replace(chosen, progress=partial(clock.stage_of, name))
                for name in ("prefill", "decode")
            }
            return compile_language(written_out, CAPACITY, programs)

        return luminal_contestant(
            compiled,
            lambda language: rounds(language.model),
            threads,
            options,
            lambda language: getattr(language, measured),
        )

    def by_inductor(_clock: StageClock) -> tuple[Callable[[], object], Run]:
        module = with_same_weights(fused)
        buffers = KeyValueBuffers.of(model.config, CAPACITY)
        first = torch.compile(Prefill(module, buffers), dynamic=True)
        step = torch.compile(Decode(module, buffers), dynamic=True)
        return rounds(CachedLanguageModel(first, step, CAPACITY))

    return {
        "eager": Contestant(lambda _clock: rounds(EagerLanguageModel(fused))),
        **{name: by_luminal(options_of(name)) for name in SEARCHES},
        "inductor": Contestant(by_inductor, compiler=True),
    }


def _smollm2() -> Any:
    from ..models.smollm2 import load_smollm2

    return load_smollm2()[0]


def _tokens(count: int, vocabulary: int) -> list[int]:
    """Fixed token ids, spread over the vocabulary."""
    return [(7919 * (index + 1)) % vocabulary for index in range(count)]


def _parameters(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _parameter_bytes(module: torch.nn.Module) -> float:
    return float(sum(parameter.numel() * parameter.element_size() for parameter in module.parameters()))
