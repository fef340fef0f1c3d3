"""luminal: a search-based compiler for PyTorch models.

`luminal.compile(model, example_inputs)` compiles ahead of time; `torch.compile(model, backend="luminal")`
as Dynamo asks. Importing this package loads nothing: each name loads what it needs when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import (
        ImportFailure,
        InputError,
        LoweringError,
        LuminalError,
        PassError,
        RuleError,
        RuntimeFailure,
        VerifyError,
    )
    from .runtime.api import CompiledModel, compile
    from .runtime.options import CompileOptions

_HOMES = {
    "compile": ".runtime.api",
    "CompiledModel": ".runtime.api",
    "CompileOptions": ".runtime.options",
    "LuminalError": ".errors",
    "ImportFailure": ".errors",
    "InputError": ".errors",
    "LoweringError": ".errors",
    "PassError": ".errors",
    "RuleError": ".errors",
    "RuntimeFailure": ".errors",
    "VerifyError": ".errors",
}

__all__ = [
    "CompileOptions",
    "CompiledModel",
    "ImportFailure",
    "InputError",
    "LoweringError",
    "LuminalError",
    "PassError",
    "RuleError",
    "RuntimeFailure",
    "VerifyError",
    "compile",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'luminal' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
