"""Which ATen ops PyTorch breaks up before the import, and which are kept because luminal does better
itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .graph_cleanup import is_assertion
from .registry import load_converters

# Broken up although they are core ATen, or not in PyTorch's core table.
_EXTRA = (
    "native_group_norm",
    "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit.no_stats",
    "_batch_norm_with_update_functional",
    "_batch_norm_no_update",
    "native_batch_norm",
    "instance_norm",
    "cudnn_batch_norm",
    "miopen_batch_norm",
    "_euclidean_dist",
    "diag",
    "grid_sampler_2d",
    "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d",
    "max_pool2d_with_indices",
    "scaled_dot_product_attention",
)


# Convertible only without side effects or random numbers: always broken up where PyTorch gets the chance.
_STATEFUL = ("torch.aten.batch_norm", "torch.aten.dropout")


def needs_decomposition(graph: torch.fx.Graph) -> bool:
    """Whether an exported graph has ops that write in place, keep state, or have no converter of their own.

    Retracing a large model takes seconds; a graph for which this is False imports as it is.
    """
    return any(needs_decomposition_of(node) for node in graph.nodes)


def needs_decomposition_of(node: torch.fx.Node) -> bool:
    """Whether this node makes `needs_decomposition` say so."""
    if node.op != "call_function":
        return False
    if not isinstance(node.target, torch._ops.OpOverload):
        return getattr(node.target, "__module__", None) != "_operator"
    if is_assertion(node):
        return False
    name = _dialect_name(node.target)
    if name in _STATEFUL:
        # The flag `training` (batch_norm) or `train` (dropout) is the sixth or third operand.
        return bool(node.args[5 if name == "torch.aten.batch_norm" else 2])
    return node.target._schema.is_mutable or name not in load_converters()


@functools.cache
def decomposition_table() -> dict[Any, Callable[..., Any]]:
    """Decompositions to run before `import_*` (for `ExportedProgram.run_decompositions` and AOTAutograd):
    PyTorch's core ATen table and a few more, without the ops that have a converter of their own."""
    from torch._decomp import core_aten_decompositions, get_decompositions

    table: dict[Any, Callable[..., Any]] = dict(core_aten_decompositions().items())
    extra = [_overloads(name) for name in _EXTRA]
    table.update(get_decompositions([packet for packet in extra if packet is not None]))
    converters = load_converters()
    kept = converters.keys() - set(_STATEFUL)
    return {op: body for op, body in table.items() if _dialect_name(op) not in kept}


def _overloads(name: str) -> Any:
    packet, _, overload = name.partition(".")
    found = getattr(torch.ops.aten, packet, None)
    return getattr(found, overload, None) if overload and found is not None else found


def _dialect_name(op: Any) -> str:
    name, _, overload = str(op).removeprefix("aten.").partition(".")
    namespace = str(op.namespace) if hasattr(op, "namespace") else "aten"
    return f"torch.{namespace}.{name}" + (f".{overload}" if overload not in ("", "default") else "")
