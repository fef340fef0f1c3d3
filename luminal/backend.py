"""Entry point of `torch.compile(..., backend="luminal")`; imports the compiler when the first graph
arrives.
"""

from __future__ import annotations

from typing import Any


def luminal_backend(module: Any, example_inputs: Any, **keywords: Any) -> Any:
    """Compile one Dynamo graph; see `luminal.runtime.backend`."""
    from .runtime.backend import luminal_backend as run

    return run(module, example_inputs, **keywords)
