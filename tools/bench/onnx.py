"""ONNX Runtime and OpenVINO: the module as torch.onnx exports it, run as their documentation recommends.

Inputs are passed without a copy, and results stand in memory that is allocated once: the fastest way to use
either.
"""

import logging
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ..measure import StageClock
from .workload import Contestant, Run

EXPORT = ("onnx", "onnxscript")


class OnnxFile:
    """A module as an ONNX file in a temporary folder, exported when it is first asked for.

    `dynamic_shapes` as for torch.export; `outputs` names the results.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        inputs: tuple[torch.Tensor, ...],
        names: tuple[str, ...],
        outputs: tuple[str, ...] = ("result",),
        dynamic_shapes: Any = None,
    ) -> None:
        self.inputs = dict(zip(names, inputs, strict=True))
        self.outputs = outputs
        self._module, self._dynamic_shapes = module, dynamic_shapes
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._seconds = 0.0

    def path(self, clock: StageClock) -> Path:
        """The file; `clock` is told of the export's seconds, whoever paid them."""
        if self._folder is not None:
            clock.shared += self._seconds
        else:
            clock("onnx export", None)
            start = time.perf_counter()
            self._folder = self._export()
            self._seconds = time.perf_counter() - start
        clock("onnx export", self._seconds)
        return Path(self._folder.name) / "model.onnx"

    def _export(self) -> "tempfile.TemporaryDirectory[str]":
        folder = tempfile.TemporaryDirectory(prefix="luminal-bench-")
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            logging.getLogger("torch.onnx").setLevel(logging.ERROR)
            program = torch.onnx.export(
                self._module.eval(),
                tuple(self.inputs.values()),
                dynamo=True,
                verbose=False,
                input_names=list(self.inputs),
                output_names=list(self.outputs),
                dynamic_shapes=self._dynamic_shapes,
            )
            assert program is not None
            program.save(os.path.join(folder.name, "model.onnx"), external_data=True)
        return folder


def onnxruntime_session(file: OnnxFile, threads: int, clock: StageClock) -> Any:
    """An InferenceSession with all of ONNX Runtime's graph optimizations."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or torch.get_num_threads()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(file.path(clock)), options, providers=["CPUExecutionProvider"])


def openvino_model(
    file: OnnxFile, threads: int, clock: StageClock, change: Callable[[Any], object] = lambda model: None
) -> Any:
    """A model compiled for the CPU for least latency, in float32; `change` may transform it before."""
    import openvino

    core = openvino.Core()
    model = core.read_model(str(file.path(clock)))
    change(model)
    settings = {
        "INFERENCE_NUM_THREADS": threads or torch.get_num_threads(),
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32",
    }
    return core.compile_model(model, "CPU", settings)


def onnxruntime_contestant(file: OnnxFile, threads: int) -> Contestant:
    """The file's module on its inputs, by ONNX Runtime."""

    def make(clock: StageClock) -> tuple[Callable[[], object], Run]:
        import onnxruntime

        session = onnxruntime_session(file, threads, clock)
        binding = session.io_binding()
        for name, tensor in file.inputs.items():
            value = onnxruntime.OrtValue.ortvalue_from_numpy(tensor.numpy())
            binding.bind_ortvalue_input(name, value)
        binding.bind_output(file.outputs[0], "cpu")
        session.run_with_iobinding(binding)
        result = torch.from_numpy(binding.get_outputs()[0].numpy())
        binding.bind_output(
            file.outputs[0], "cpu", 0, result.numpy().dtype.type, list(result.shape), result.data_ptr()
        )

        def run() -> torch.Tensor:
            session.run_with_iobinding(binding)
            return result

        return lambda: None, run

    return Contestant(make, packages=("onnxruntime", *EXPORT))


def openvino_contestant(file: OnnxFile, threads: int) -> Contestant:
    """The file's module on its inputs, by OpenVINO."""

    def make(clock: StageClock) -> tuple[Callable[[], object], Run]:
        import openvino

        request = openvino_model(file, threads, clock).create_infer_request()
        for name, tensor in file.inputs.items():
            request.set_tensor(name, openvino.Tensor(tensor.numpy(), shared_memory=True))

        def run() -> torch.Tensor:
            request.infer()
            return torch.from_numpy(request.get_output_tensor(0).data)

        return lambda: None, run

    return Contestant(make, packages=("openvino", *EXPORT))
