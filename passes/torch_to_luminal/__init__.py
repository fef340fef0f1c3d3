"""L0 -> L1: the torch dialect (functional ATen ops) rewritten into the fifteen primitives of the `luminal`
dialect.

One file per family of ATen ops; each converter registers itself with one line (see `registry.py`). The
forms that converters build are in `composite.py`; PyTorch programs come in through `frontend.py`, the only
file here that needs torch itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.mlir import ir


@dataclass(frozen=True)
class TorchToLuminalOptions:
    """The import has no options."""


def torch_to_luminal(op: ir.Operation, options: TorchToLuminalOptions) -> None:
    """Rewrite functions over torch tensors into luminal primitives.

    before:  %2 = torch.aten.sub.Tensor %0, %1, %int1 : !torch.vtensor<[4],f32>, ... ->
    !torch.vtensor<[4],f32> after:   %3 = "luminal.mul"(%1, %m) : ...   // m: -1 expanded to (4)
             %4 = "luminal.add"(%0, %3) : ...
    Raises ImportFailure listing every op that can't be imported.
    """
    from .conversion import convert_function

    for operation in list(op.regions[0].blocks[0].operations):
        if operation.operation.name == "func.func" and "!torch." in str(
            operation.attributes["function_type"]
        ):
            convert_function(operation.operation)
