"""luminal-bench: luminal, torch eager, Inductor, ONNX Runtime and OpenVINO on the same work, in turns."""

from .command import main

__all__ = ["main"]
