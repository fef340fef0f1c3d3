"""The two programs of a cached language model: prefill reads a whole prompt, decode adds one token.

Both wrap an unmodified transformers causal language model and share its weights and one set of cache buffers.
"""

import torch

from .cache import KeyValueBuffers


class Prefill(torch.nn.Module):
    """`(ids: int64 (1, S)) -> logits (1, kept, vocabulary)`: fills the cache's rows [0, S); `kept` 0 keeps
    all S rows.
    """

    def __init__(self, model: torch.nn.Module, memory: KeyValueBuffers, kept: int = 1) -> None:
        super().__init__()
        self.model, self.memory, self.kept = model, memory, kept

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        length = ids.shape[1]
        rows = torch.arange(length)
        visible = rows[None, :] <= rows[:, None]
        mask = torch.where(visible, 0.0, torch.finfo(torch.float32).min)[None, None]
        output = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=rows[None],
            cache=self.memory.window(None, length),
            use_cache=True,
            logits_to_keep=self.kept,
        )
        return output.logits


class Decode(torch.nn.Module):
    """`(ids: int64 (1, 1), mask: float32 (1, 1, 1, T)) -> logits (1, 1, vocabulary)`: the token at position T
    - 1.

    `mask` is added to the attention scores (zeros: everything so far is visible); its length says how far the
    cache is filled, this token included.
    """

    def __init__(self, model: torch.nn.Module, memory: KeyValueBuffers) -> None:
        super().__init__()
        self.model, self.memory = model, memory

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        length = mask.shape[3]
        output = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=torch.arange(length - 1, length)[None],
            cache=self.memory.window(length - 1, length),
            use_cache=True,
            logits_to_keep=1,
        )
        return output.logits
