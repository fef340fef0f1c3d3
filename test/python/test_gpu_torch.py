"""PyTorch modules through import, saturation and both GPU targets, against eager."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from gpu_compare import require_target
from gpu_programs import TARGETS, EmulatedProgram

from luminal.passes.pipeline import run_pipeline
from luminal.passes.torch_to_luminal.frontend import import_exported_program

functional = torch.nn.functional


class Block(torch.nn.Module):
    """A transformer block."""

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.first_norm, self.second_norm = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.projection, self.output = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.projection(self.first_norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(query @ key.transpose(-1, -2) / 4, -1)
        x = x + self.output((weights @ value).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.second_norm(x))))


class Indexing(torch.nn.Module):
    """Embedding, concatenation, argmax, a running sum and an indexed addition."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(11, 8)

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rows = self.table(ids)
        added = torch.zeros(4, 8).index_add(0, ids[0] % 4, rows[0])
        return torch.cat([rows, rows * 2], -1), rows.argmax(-1), torch.cumsum(ids, -1), added


class Llama(torch.nn.Module):
    """A small Hugging Face Llama, unmodified."""

    def __init__(self) -> None:
        super().__init__()
        transformers = pytest.importorskip("transformers", reason="the 'models' extra is not installed")
        config = transformers.LlamaConfig(
            hidden_size=16,
            num_attention_heads=2,
            num_key_value_heads=1,
            intermediate_size=24,
            num_hidden_layers=1,
            vocab_size=32,
            attn_implementation="eager",
        )
        self.model = transformers.LlamaForCausalLM(config)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=ids[None], use_cache=False).logits


def run_everywhere(model: torch.nn.Module, sample: torch.Tensor, sizes: Sequence[int], target: str) -> None:
    """Export with a dynamic first dim, and compare with eager at several sizes."""
    require_target(target)
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(model.eval(), (sample,), dynamic_shapes=({0: batch},))
    imported = import_exported_program(program)
    passes = "canonicalize-views,outline-layers,luminal-eqsat{disable=attention}"
    run_pipeline(imported.module.operation, passes)
    emulated = EmulatedProgram(str(imported.module), target)
    for size in sizes:
        x = sample[torch.arange(size) % len(sample)]
        tensors = [x if argument.tensor is None else argument.tensor for argument in imported.arguments]
        results = emulated.run(
            *(np.array(tensor.detach().contiguous().numpy(), order="C") for tensor in tensors)
        )
        with torch.no_grad():
            expected = model(x)
        for ours, eager in zip(
            results, expected if isinstance(expected, tuple) else (expected,), strict=True
        ):
            np.testing.assert_allclose(ours, eager.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_transformer_block(target: str) -> None:
    torch.manual_seed(0)
    run_everywhere(Block(), torch.randn(2, 5, 16), (1, 2), target)


@pytest.mark.parametrize("target", TARGETS)
def test_indexing(target: str) -> None:
    torch.manual_seed(0)
    run_everywhere(Indexing(), torch.randint(0, 11, (2, 6)), (2, 3), target)


@pytest.mark.parametrize("target", TARGETS)
def test_llama_of_any_length(target: str) -> None:
    torch.manual_seed(0)
    run_everywhere(Llama(), torch.randint(0, 32, (5,)), (1, 5), target)
