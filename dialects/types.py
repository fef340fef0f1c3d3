"""Tensor types with symbolic dims, and element types.

A tensor type with a dynamic dim carries its dims as encoding, an affine map from the function's symbols:
`tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>`. A static type has no encoding. All tensors are dense and
row-major. Element types are f64, f32, f16, bf16, i64, i32 and i1; others are refused by name.
The symbols themselves are declared on the function: see `symbol_list`, whose names are offered here too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import VerifyError
from .mlir import ir
from .symbol_list import (
    SYMBOLS_ATTR,
    SymbolInfo,
    enclosing_symbols,
    rule_of,
    scope_of,
    set_symbols,
    solve_symbols,
    symbols_of,
    syms_of,
)
from .symbolic import (
    Expr,
    IndexMap,
    as_expr,
    is_affine,
    shape_text,
)

__all__ = [
    "BYTES",
    "DTYPES",
    "FLOATS",
    "HALVES",
    "INTEGERS",
    "NUMPY_DTYPES",
    "SYMBOLS_ATTR",
    "SymbolInfo",
    "dims_of",
    "dtype_of",
    "enclosing_symbols",
    "is_tensor",
    "rule_of",
    "same_type",
    "scalar_type",
    "scope_of",
    "set_symbols",
    "solve_symbols",
    "symbols_of",
    "syms_of",
    "tensor_type",
]

FLOATS = ("f64", "f32", "f16", "bf16")
HALVES = ("f16", "bf16")
INTEGERS = ("i64", "i32")
DTYPES = (*FLOATS, *INTEGERS, "i1")

BYTES: Mapping[str, int] = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i1": 1}
"""Bytes of one element in memory."""

NUMPY_DTYPES: Mapping[str, np.dtype] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(np.uint16),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i1": np.dtype(np.bool_),
}
"""NumPy's type for each dtype. NumPy has no bfloat16: arrays hold its 16 bits as uint16."""


def scalar_type(dtype: str) -> ir.Type:
    """The MLIR type of a dtype name, in the current context. VerifyError for an unsupported name."""
    match dtype:
        case "f64":
            return ir.F64Type.get()
        case "f32":
            return ir.F32Type.get()
        case "f16":
            return ir.F16Type.get()
        case "bf16":
            return ir.BF16Type.get()
        case "i64" | "i32" | "i1":
            return ir.IntegerType.get_signless(int(dtype[1:]))
    raise VerifyError(f"unsupported element type '{dtype}'; supported: {', '.join(DTYPES)}")


def dtype_of(type_: ir.Type) -> str:
    """The dtype name of a scalar or tensor type. VerifyError if it is not supported."""
    element = type_.element_type if isinstance(type_, ir.RankedTensorType) else type_
    name = str(element)
    if name not in BYTES:
        raise VerifyError(f"unsupported element type '{name}'; supported: {', '.join(DTYPES)}")
    return name


def is_tensor(type_: ir.Type) -> bool:
    """Whether the type is a ranked tensor."""
    return isinstance(type_, ir.RankedTensorType)


def tensor_type(dims: Sequence[Expr | int], dtype: str | ir.Type) -> ir.RankedTensorType:
    """The tensor type with these dims, in the current context.

    A dim that is not affine (a minimum, say) is refused with a VerifyError: give it a symbol with a rule.
    """
    element = scalar_type(dtype) if isinstance(dtype, str) else dtype
    expressions = [as_expr(dim) for dim in dims]
    if all(dim.is_const for dim in expressions):
        static = [dim.value for dim in expressions]
        return ir.RankedTensorType.get(static, element, loc=ir.Location.unknown(element.context))
    for dim in expressions:
        if not is_affine(dim):
            raise VerifyError(
                f"dim '{dim}' of {shape_text(expressions)} is not affine: give it a symbol with a rule"
            )
    dynamic = ir.ShapedType.get_dynamic_size()
    sizes = [dim.value if dim.is_const else dynamic for dim in expressions]
    encoding = IndexMap.of((), expressions).to_attr(element.context)
    return ir.RankedTensorType.get(sizes, element, encoding, loc=ir.Location.unknown(element.context))


def dims_of(type_: ir.Type, symbols: Sequence[Expr] | None = None) -> tuple[Expr, ...]:
    """The dims of a tensor type as canonical expressions, over `symbols` (default: those in scope).

    Raises VerifyError if it is not a tensor, or if dims are dynamic without a matching encoding.
    """
    if not isinstance(type_, ir.RankedTensorType):
        raise VerifyError(f"expected a ranked tensor, got '{type_}'")
    shape = type_.shape
    encoding = type_.encoding
    dynamic = ir.ShapedType.get_dynamic_size()
    if encoding is None:
        if dynamic in shape:
            raise VerifyError(
                f"'{type_}' has a dynamic dim but no encoding that says which symbols it is made of"
            )
        return tuple(as_expr(size) for size in shape)
    if not isinstance(encoding, ir.AffineMapAttr):
        raise VerifyError(f"the encoding of '{type_}' is not an affine map of its dims")
    if encoding.value.n_dims or len(encoding.value.results) != len(shape):
        raise VerifyError(f"the encoding of '{type_}' must map no dims to {len(shape)} results")
    dims = IndexMap.from_attr(encoding, (), symbols).results
    for size, dim in zip(shape, dims, strict=True):
        if size != (dim.value if dim.is_const else dynamic):
            raise VerifyError(
                f"the encoding of '{type_}' does not match its shape: '{dim}' stands for a dim of {size}"
            )
    return dims


def same_type(lhs: ir.Type, rhs: ir.Type) -> bool:
    """Whether two types agree in dtype and in canonical dims (spelling and unused symbols aside)."""
    if lhs == rhs:
        return True
    if not (is_tensor(lhs) and is_tensor(rhs)):
        return False
    return dtype_of(lhs) == dtype_of(rhs) and dims_of(lhs) == dims_of(rhs)
