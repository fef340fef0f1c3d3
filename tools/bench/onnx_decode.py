"""SmolLM2's decode step for ONNX Runtime and OpenVINO.

Neither writes a torch buffer in place. Their usual form of a step takes the rows so far and returns them with
one more: ONNX Runtime feeds results back by pointer, OpenVINO keeps them as the state of a request.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..measure import StageClock
from ..models.cache import GrowingLayer
from .onnx import EXPORT, OnnxFile, onnxruntime_session, openvino_model
from .workload import Contestant, Run


class GrowingDecode(torch.nn.Module):
    """`(ids: int64 (1, 1), mask: float32 (1, 1, 1, T), past...: float32 (1, heads, T - 1, size))` to logits
    (1, 1, vocabulary) and each past with one more row: keys and values of each layer in turn.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, *past: torch.Tensor) -> tuple[torch.Tensor, ...]:
        from transformers.cache_utils import Cache

        length = mask.shape[3]
        layers = [GrowingLayer(keys, values) for keys, values in zip(past[::2], past[1::2], strict=True)]
        output = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=torch.arange(length - 1, length)[None],
            cache=Cache(layers=layers),
            use_cache=True,
            logits_to_keep=1,
        )
        return output.logits, *(rows for layer in layers for rows in (layer.keys, layer.values))


class DecodeSteps:
    """What both runtimes run: the tokens from position `filled` on, after the cache of those before."""

    def __init__(self, model: Any, tokens: Sequence[int], filled: int, threads: int) -> None:
        config = model.config
        count = 2 * config.num_hidden_layers
        # One tensor each: torch.export would take the same tensor twice for one input.
        shape = (1, config.num_key_value_heads, filled, config.head_dim)
        past_rows = [torch.zeros(shape) for _ in range(count)]
        self._past_names = tuple(f"past_{k}" for k in range(count))
        self._present_names = tuple(f"present_{k}" for k in range(count))
        past = torch.export.Dim("past", min=2, max=config.max_position_embeddings - 1)
        self._file = OnnxFile(
            GrowingDecode(model),
            (torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, 1, 1, filled + 1), *past_rows),
            ("ids", "mask", *self._past_names),
            ("logits", *self._present_names),
            ({}, {3: past + 1}, ({2: past},) * count),
        )
        self._model, self._filled, self._threads = model, filled, threads
        self._prompt = torch.tensor([tokens[:filled]])
        self._steps = [
            (torch.tensor([[token]]).numpy(), torch.zeros(1, 1, 1, at + 1).numpy())
            for at, token in enumerate(tokens[filled:], filled)
        ]

    def contestants(self) -> dict[str, Contestant]:
        """By name."""
        return {
            "onnxruntime": Contestant(self._by_onnxruntime, packages=("onnxruntime", *EXPORT)),
            "openvino": Contestant(self._by_openvino, packages=("openvino", *EXPORT)),
        }

    def _past(self) -> list[torch.Tensor]:
        """The cache after the prompt, by eager."""
        from transformers import DynamicCache

        cache = DynamicCache()
        self._model(input_ids=self._prompt, cache=cache, use_cache=True, logits_to_keep=1)
        return [rows.contiguous() for layer in cache.layers for rows in (layer.keys, layer.values)]

    def _by_onnxruntime(self, clock: StageClock) -> tuple[Callable[[], object], Run]:
        import onnxruntime

        session = onnxruntime_session(self._file, self._threads, clock)
        make_value = onnxruntime.OrtValue.ortvalue_from_numpy
        filled = [make_value(rows.numpy()) for rows in self._past()]

        def run() -> torch.Tensor:
            past, logits = filled, []
            for ids, mask in self._steps:
                binding = session.io_binding()
                binding.bind_cpu_input("ids", ids)
                binding.bind_cpu_input("mask", mask)
                for name, value in zip(self._past_names, past, strict=True):
                    binding.bind_ortvalue_input(name, value)
                for name in self._file.outputs:
                    binding.bind_output(name, "cpu")
                session.run_with_iobinding(binding)
                first, *past = binding.get_outputs()
                logits.append(torch.from_numpy(first.numpy())[0, 0])
            return torch.stack(logits)

        return lambda: None, run

    def _by_openvino(self, clock: StageClock) -> tuple[Callable[[], object], Run]:
        import openvino
        from openvino._offline_transformations import apply_make_stateful_transformation

        pairs = dict(zip(self._past_names, self._present_names, strict=True))
        compiled = openvino_model(
            self._file,
            self._threads,
            clock,
            lambda model: apply_make_stateful_transformation(model, pairs),
        )
        request = compiled.create_infer_request()
        filled = {
            name + present: openvino.Tensor(rows.numpy())
            for (name, present), rows in zip(pairs.items(), self._past(), strict=True)
        }

        def prepare() -> None:
            for state in request.query_state():
                state.state = filled[state.name]

        def run() -> torch.Tensor:
            logits = []
            for ids, mask in self._steps:
                request.infer({"ids": ids, "mask": mask})
                logits.append(torch.from_numpy(request.get_output_tensor(0).data.copy())[0, 0])
            return torch.stack(logits)

        return prepare, run
