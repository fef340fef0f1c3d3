"""The pipeline of each target, as readable lists of stages.

A stage is a piece of pass pipeline, or a function that turns the module into a target's text.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """`passes` is pipeline text; `emit` is a `module:function` path, called with the module operation, giving
    text.

    A stage with `arch` True takes the architecture after the target's colon, as in `cuda:sm_90a`.
    """

    name: str
    passes: str = ""
    emit: str = ""
    arch: bool = False

    def emitter(self) -> Callable[..., str]:
        module, _, attribute = self.emit.partition(":")
        return getattr(importlib.import_module(module), attribute)


SEARCH = (
    Stage("luminal", "torch-to-luminal,canonicalize-views,outline-layers"),
    Stage("kernel", "luminal-eqsat"),
)
SIMT = (*SEARCH, Stage("gpu", "lower-to-gpu"))

TARGETS: dict[str, tuple[Stage, ...]] = {
    "cpu": (
        *SEARCH,
        Stage("chunks", "split-reductions"),
        Stage("memory", "plan-memory"),
        Stage("upstream", emit="luminal.lowering.cpu.listing:list_upstream"),
        Stage("llvm", emit="luminal.lowering.cpu.listing:list_llvm_ir"),
    ),
    "cuda": (
        *SIMT,
        Stage("nvvm", "gpu-to-nvvm"),
        Stage("ptx", emit="luminal.lowering.nvvm:to_ptx", arch=True),
    ),
    "metal": (*SIMT, Stage("msl", emit="luminal.lowering.metal:to_msl")),
}
