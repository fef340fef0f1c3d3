"""A key-value cache that a compiler can keep in place: buffers allocated once, written by row, read by
prefix.

The language model itself is transformers' own module; only the cache object handed to it is ours.
"""

import torch
from transformers.cache_utils import Cache, CacheLayerMixin


class PrefixLayer(CacheLayerMixin):
    """One layer's view of the buffers: the new rows go to `[start, stop)`, attention reads the rows `[0,
    stop)`.

    `keys`, `values`: (batch, heads, capacity, head size), written in place. With `start` None the cache is
    empty: the new rows go to its beginning and attention reads them directly.
    """

    is_compileable = True
    is_sliding = False
    is_croppable = False

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, start: int | None, stop: int) -> None:
        super().__init__()
        self.keys, self.values = keys, values
        self.start, self.stop = start, stop
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Nothing is left to allocate."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        first = 0 if self.start is None else self.start
        assert self.keys is not None and self.values is not None
        self.keys[:, :, first : self.stop] = key_states
        self.values[:, :, first : self.stop] = value_states
        if self.start is None:
            return key_states, value_states
        return self.keys[:, :, : self.stop], self.values[:, :, : self.stop]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.stop, 0

    def get_seq_length(self) -> int:
        return 0 if self.start is None else self.start

    def get_max_length(self) -> int:
        assert self.keys is not None
        return self.keys.shape[2]


class GrowingLayer(CacheLayerMixin):
    """One layer's rows so far; new rows make new, longer tensors: (batch, heads, rows, head size)."""

    is_compileable = True
    is_sliding = False
    is_croppable = False

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()
        self.keys, self.values = keys, values
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """The rows so far are given."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        assert self.keys is not None and self.values is not None
        self.keys = torch.cat([self.keys, key_states], 2)
        self.values = torch.cat([self.values, value_states], 2)
        return self.keys, self.values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.get_seq_length() + query_length, 0

    def get_seq_length(self) -> int:
        assert self.keys is not None
        return self.keys.shape[2]

    def get_max_length(self) -> int:
        return -1


class KeyValueBuffers(torch.nn.Module):
    """The cache's memory: for each layer two buffers of (1, key-value heads, capacity, head size)."""

    def __init__(self, layers: int, heads: int, capacity: int, head_size: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.layers, self.capacity = layers, capacity
        for layer in range(layers):
            for name in ("keys", "values"):
                self.register_buffer(
                    f"{name}_{layer}", torch.zeros(1, heads, capacity, head_size, dtype=dtype)
                )

    @classmethod
    def of(cls, config: object, capacity: int, dtype: torch.dtype = torch.float32) -> "KeyValueBuffers":
        """Buffers for a transformers model's configuration."""
        heads = config.num_key_value_heads  # type: ignore[attr-defined]
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads  # type: ignore[attr-defined]
        return cls(config.num_hidden_layers, heads, capacity, size, dtype)  # type: ignore[attr-defined]

    def window(self, start: int | None, stop: int) -> Cache:
        """A transformers cache over the buffers, for one call of the model."""
        buffers = ((getattr(self, f"keys_{i}"), getattr(self, f"values_{i}")) for i in range(self.layers))
        return Cache(layers=[PrefixLayer(keys, values, start, stop) for keys, values in buffers])
