"""The pipeline of each target, as readable lists of stages.

A stage is a piece of pass pipeline, or a function that turns the module into a target's text.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Stage:
    """`passes` is pipeline text; `emit` is a `module:function` path, called with the module operation, giving
    text.
    """

    name: str
    passes: str = ""
    emit: str = ""

    def emitter(self) -> Callable[[Any], str]:
        module, _, attribute = self.emit.partition(":")
        return getattr(importlib.import_module(module), attribute)


SEARCH = (
    Stage("luminal", "torch-to-luminal,canonicalize-views,outline-layers"),
    Stage("kernel", "luminal-eqsat"),
)

TARGETS: dict[str, tuple[Stage, ...]] = {
    "cpu": (*SEARCH, Stage("memory", "plan-memory")),
    "cuda": SEARCH,
    "metal": SEARCH,
}
