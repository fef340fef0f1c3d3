"""The table of converters: torch-dialect op name -> function that builds the same values from luminal
primitives.

    @converter("torch.aten.add.Tensor", "torch.aten.add.Scalar")
    def convert_add(b, x, other, alpha):
        return ...

A converter receives the builder `b` (see `builder.py`) and one Python value per operand of the torch op, in
the order of the ATen schema (the torch dialect always spells out defaults):
  Tensor                    -> builder.Tensor
  int / SymInt              -> int, or symbolic.Expr when it depends on a symbol
  float, bool, str, None    -> the Python value (a float known only at run time: a rank-0 f64 Tensor)
  dtype                     -> int (ATen scalar type number; see dtypes.py)
  list                      -> list of the above
It returns one value per result: a Tensor, or a tuple of Tensors/scalars, with exactly the shape and dtype
that eager gives. `b.results` holds the result types the importer recorded (dtype, rank, static dims). What
a converter can't do exactly it refuses by `raise Unsupported("why")`; the import then lists every such
place at once.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

Converter = Callable[..., Any]

CONVERTERS: dict[str, Converter] = {}

FAMILIES = (
    "activations",
    "attention",
    "bessel",
    "bitwise",
    "casts",
    "comparisons",
    "convolution",
    "creation",
    "division",
    "dropouts",
    "embedding_bags",
    "extremes",
    "histograms",
    "indexing",
    "matmul",
    "normalization",
    "padding",
    "pointwise",
    "pooling",
    "products",
    "random",
    "rearrange",
    "reductions",
    "resize",
    "scalars",
    "scans",
    "scatters",
    "softmax",
    "sorting",
    "special_functions",
    "transcendental",
    "transformer",
    "triangles",
    "views",
)


class Unsupported(Exception):
    """This use of an op can't be expressed exactly; the message says why."""


def converter(*names: str) -> Callable[[Converter], Converter]:
    """Register the decorated function for torch-dialect ops, for example `torch.aten.add.Tensor`."""

    def register(function: Converter) -> Converter:
        for name in names:
            if name in CONVERTERS:
                raise ValueError(f"two converters for {name}")
            CONVERTERS[name] = function
        return function

    return register


@functools.cache
def load_converters() -> dict[str, Converter]:
    """Import every family once and return the filled table."""
    for family in FAMILIES:
        importlib.import_module(f".{family}", __package__)
    return CONVERTERS
