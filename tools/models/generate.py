"""Greedy generation over any pair of prefill and decode steps, timed token by token."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch


class LanguageModel(Protocol):
    """What generation needs: both steps return the last position's logits, float (vocabulary,)."""

    def prefill(self, ids: Sequence[int]) -> torch.Tensor: ...

    def decode(self, token: int, position: int) -> torch.Tensor:
        """The logits after `token`, which stands at `position` (counted from 0)."""
        ...


@dataclass
class Generation:
    """Generated tokens and seconds: to the first token (the prompt's pass), and for each later one."""

    tokens: list[int] = field(default_factory=list)
    first_seconds: float = 0.0
    step_seconds: list[float] = field(default_factory=list)

    @property
    def seconds_per_token(self) -> float:
        """Mean of the decode steps (TPOT); 0 without any."""
        return sum(self.step_seconds) / len(self.step_seconds) if self.step_seconds else 0.0


def generate(
    model: LanguageModel,
    prompt: Sequence[int],
    limit: int,
    stop: frozenset[int],
    emit: Callable[[int], None] = lambda token: None,
) -> Generation:
    """At most `limit` greedy tokens after `prompt`, ending after a token of `stop`; `emit` sees each as it
    comes.
    """
    result = Generation()
    start = time.perf_counter()
    token = int(model.prefill(prompt).argmax())
    result.first_seconds = time.perf_counter() - start
    result.tokens.append(token)
    emit(token)
    for position in range(len(prompt), len(prompt) + limit - 1):
        if token in stop:
            break
        start = time.perf_counter()
        token = int(model.decode(token, position).argmax())
        result.step_seconds.append(time.perf_counter() - start)
        result.tokens.append(token)
        emit(token)
    return result


class CachedLanguageModel:
    """A LanguageModel over compiled (or plain) `Prefill` and `Decode` modules that share one cache."""

    def __init__(
        self,
        prefill: Callable[[torch.Tensor], torch.Tensor],
        decode: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
        capacity: int,
    ) -> None:
        self._prefill, self._decode = prefill, decode
        self._visible = torch.zeros(1, 1, 1, capacity)

    @torch.no_grad()
    def prefill(self, ids: Sequence[int]) -> torch.Tensor:
        return self._prefill(torch.tensor([list(ids)]))[0, -1]

    @torch.no_grad()
    def decode(self, token: int, position: int) -> torch.Tensor:
        return self._decode(torch.tensor([[token]]), self._visible[..., : position + 1])[0, -1]


class EagerLanguageModel:
    """A LanguageModel over a transformers model as its users run it: eager, with its own growing cache."""

    def __init__(self, model: torch.nn.Module) -> None:
        from transformers import DynamicCache

        self._model, self._new_cache = model, DynamicCache
        self._cache = DynamicCache()

    @torch.no_grad()
    def prefill(self, ids: Sequence[int]) -> torch.Tensor:
        self._cache = self._new_cache()
        return self._step(torch.tensor([list(ids)]))

    @torch.no_grad()
    def decode(self, token: int, position: int) -> torch.Tensor:
        return self._step(torch.tensor([[token]]))

    def _step(self, ids: torch.Tensor) -> torch.Tensor:
        return self._model(input_ids=ids, cache=self._cache, use_cache=True, logits_to_keep=1).logits[0, -1]
