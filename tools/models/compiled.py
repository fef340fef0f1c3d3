"""The models of this folder, compiled by luminal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import Dim

import luminal

from .cache import KeyValueBuffers
from .generate import CachedLanguageModel
from .language import Decode, Prefill


@dataclass(frozen=True)
class CompiledLanguage:
    """Both programs of a language model and the LanguageModel over them."""

    model: CachedLanguageModel
    prefill: Any
    decode: Any
    buffers: KeyValueBuffers


def compile_language(
    model: Any, capacity: int, options: Mapping[str, Any] | None = None, kept: int = 1
) -> CompiledLanguage:
    """Compile prefill (1 to `capacity` - 1 tokens) and decode of a transformers causal language model.

    `options` holds CompileOptions by program, "prefill" and "decode". `kept`: how many positions' logits
    prefill returns, 0 for all.
    """
    buffers = KeyValueBuffers.of(model.config, capacity)
    prompt, filled = (Dim(name, min=1, max=capacity - 1) for name in ("prompt", "filled"))
    example = torch.zeros(1, 8, dtype=torch.int64)
    options = options or {}
    with torch.no_grad():
        prefill = luminal.compile(
            Prefill(model, buffers, kept).eval(),
            (example,),
            dynamic_shapes=({1: prompt},),
            options=options.get("prefill"),
        )
        decode = luminal.compile(
            Decode(model, buffers).eval(),
            (example[:, :1], torch.zeros(1, 1, 1, 9)),
            dynamic_shapes=({}, {3: filled}),
            options=options.get("decode"),
        )
        # The first call packs the weights.
        language = CachedLanguageModel(prefill, decode, capacity)
        language.prefill([0, 0])
        language.decode(0, 2)
    return CompiledLanguage(language, prefill, decode, buffers)


def compile_embedding(module: torch.nn.Module, options: Any = None) -> Callable[..., torch.Tensor]:
    """Compile a SentenceEmbedding for 1 to 256 sentences of 1 to 512 tokens."""
    batch, length = Dim("batch", min=1, max=256), Dim("length", min=1, max=512)
    example = torch.ones(3, 8, dtype=torch.int64)
    shape = {0: batch, 1: length}
    with torch.no_grad():
        return luminal.compile(module, (example, example), dynamic_shapes=(shape, shape), options=options)


def compile_images(module: torch.nn.Module, size: int, options: Any = None) -> Callable[..., torch.Tensor]:
    """Compile an image network for 1 to 64 images of `size` x `size`."""
    example = torch.zeros(2, 3, size, size)
    shape = {0: Dim("batch", min=1, max=64)}
    with torch.no_grad():
        return luminal.compile(module, (example,), dynamic_shapes=(shape,), options=options)
