"""Benchmarks of whole models. Each contestant runs the unmodified transformers module; eager as its users run
it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from ..measure import StageClock
from ..models.cache import KeyValueBuffers
from ..models.generate import CachedLanguageModel, EagerLanguageModel, LanguageModel
from ..models.language import Decode, Prefill
from .workload import Contestant, Run, Workload

CAPACITY = 512
FILLED = 64
STEPS = 16
PROMPT = 128


def decode(threads: int) -> Workload:
    """Tokens after a prompt of FILLED tokens; a unit is one token."""
    model = _smollm2()
    tokens = _tokens(FILLED + STEPS, model.config.vocab_size)

    def rounds(language: LanguageModel) -> tuple[Callable[[], object], Run]:
        def run() -> torch.Tensor:
            logits = [language.decode(tokens[at], at) for at in range(FILLED, FILLED + STEPS)]
            return torch.stack(logits)

        return lambda: language.prefill(tokens[:FILLED]), run

    cached = (
        2
        * 4
        * FILLED
        * model.config.num_key_value_heads
        * model.config.head_dim
        * model.config.num_hidden_layers
    )
    return Workload(
        _language_contestants(model, threads, rounds),
        bytes=_parameter_bytes(model) + cached,
        flops=2.0 * _parameters(model),
        units=STEPS,
    )


def prefill(threads: int) -> Workload:
    """A prompt of PROMPT tokens."""
    model = _smollm2()
    tokens = _tokens(PROMPT, model.config.vocab_size)
    inner = _parameters(model) - model.lm_head.weight.numel()
    return Workload(
        _language_contestants(model, threads, lambda language: (_nothing, lambda: language.prefill(tokens))),
        bytes=_parameter_bytes(model),
        flops=2.0 * (inner * PROMPT + model.lm_head.weight.numel()),
    )


def embed(threads: int) -> Workload:
    """8 sentences of 64 tokens."""
    from ..models.compiled import compile_embedding
    from ..models.minilm import load_minilm

    module, _ = load_minilm()
    ids = torch.tensor([_tokens(64, 30000) for _ in range(8)])
    inputs = (ids, torch.ones_like(ids))
    layers = module.model.encoder.parameters()  # type: ignore[union-attr,operator]
    return Workload(
        _module_contestants(module, inputs, threads, compile_embedding, attention=module.model),
        bytes=_parameter_bytes(module),
        flops=2.0 * ids.numel() * sum(parameter.numel() for parameter in layers),
    )


def images(threads: int) -> Workload:
    """One image of 224x224."""
    from ..models.compiled import compile_images
    from ..models.resnet import seeded_resnet

    module = seeded_resnet()
    image = torch.randn(1, 3, 224, 224, generator=torch.Generator().manual_seed(0))

    def compiled(network: torch.nn.Module, options: Any) -> Callable[..., torch.Tensor]:
        return compile_images(network, 224, options)

    return Workload(
        _module_contestants(module, (image,), threads, compiled), bytes=_parameter_bytes(module), flops=3.6e9
    )


def _language_contestants(
    model: Any, threads: int, rounds: Callable[[LanguageModel], tuple[Callable[[], object], Run]]
) -> dict[str, Contestant]:
    def by_luminal(clock: StageClock) -> tuple[Callable[[], object], Run]:
        import luminal

        from ..models.compiled import compile_language

        model.set_attn_implementation("eager")
        programs = ("prefill", "decode")
        options = {
            name: luminal.CompileOptions(threads=threads, progress=partial(clock.stage_of, name))
            for name in programs
        }
        return rounds(compile_language(model, CAPACITY, options).model)

    def by_inductor(_clock: StageClock) -> tuple[Callable[[], object], Run]:
        model.set_attn_implementation("sdpa")
        buffers = KeyValueBuffers.of(model.config, CAPACITY)
        first = torch.compile(Prefill(model, buffers), dynamic=True)
        step = torch.compile(Decode(model, buffers), dynamic=True)
        return rounds(CachedLanguageModel(first, step, CAPACITY))

    def by_eager(_clock: StageClock) -> tuple[Callable[[], object], Run]:
        model.set_attn_implementation("sdpa")
        return rounds(EagerLanguageModel(model))

    return {
        "eager": Contestant(by_eager),
        "luminal": Contestant(by_luminal),
        "inductor": Contestant(by_inductor),
    }


def _module_contestants(
    module: torch.nn.Module,
    inputs: tuple[torch.Tensor, ...],
    threads: int,
    compile_module: Callable[[Any, Any], Callable[..., torch.Tensor]],
    attention: Any = None,
) -> dict[str, Contestant]:
    """`attention` is the transformers model within `module`, whose users run it with fused attention."""

    def choose(implementation: str) -> None:
        if attention is not None:
            attention.set_attn_implementation(implementation)

    def by_luminal(clock: StageClock) -> tuple[Callable[[], object], Run]:
        import luminal

        choose("eager")
        compiled = compile_module(module, luminal.CompileOptions(threads=threads, progress=clock))
        return _nothing, lambda: compiled(*inputs)

    def by_inductor(_clock: StageClock) -> tuple[Callable[[], object], Run]:
        choose("sdpa")
        compiled = torch.compile(module)
        return _nothing, lambda: compiled(*inputs)

    def by_eager(_clock: StageClock) -> tuple[Callable[[], object], Run]:
        choose("sdpa")
        return _nothing, lambda: module(*inputs)

    return {
        "eager": Contestant(by_eager),
        "luminal": Contestant(by_luminal),
        "inductor": Contestant(by_inductor),
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


def _nothing() -> None:
    """No preparation."""
