"""What verifiers share: checks raise `VerifyError`, and the wrapper reports them at the op's location.

MLIR calls a Python verifier before it checks the operand, attribute and region counts of the definition.
Where
those are wrong the wrapper steps aside and lets MLIR report them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ..errors import VerifyError
from .mlir import ext, ir
from .symbolic import DimVar, Expr, IndexMap, shape_text, symbols_in_scope
from .types import dims_of, dtype_of, enclosing_symbols, is_tensor, same_type


def verifier(check: Callable[[Any], None]) -> staticmethod:
    """Turn a function that raises VerifyError into a `verify_invariants` that emits an error at the op."""

    def verify(op: ir.OpView) -> bool:
        if not _well_formed(op):
            return True
        error = _failure(check, op)
        if error is not None:
            op.location.emit_error(f"'{op.operation.name}' op {error}")
        return error is None

    return staticmethod(verify)


_REPORTED = (VerifyError, ValueError, ZeroDivisionError)


def _failure(check: Callable[[Any], None], op: ir.OpView) -> Exception | None:
    """What is wrong with an op, None if nothing is."""
    try:
        _check_attributes(op)
        check(op)
    except _REPORTED as first:
        # Once more with the ranges of the function's symbols, which may prove more dims equal.
        try:
            symbols = enclosing_symbols(op)
            if not symbols:
                return first
            with symbols_in_scope(symbols):
                _check_attributes(op)
                check(op)
        except _REPORTED as error:
            return error
    return None


def _check_attributes(op: ir.OpView) -> None:
    """Typed attributes that MLIR's definitions cannot name: `REQUIRED` must be there, `OPTIONAL` may."""
    cls = type(op)
    required, optional = getattr(cls, "REQUIRED", {}), getattr(cls, "OPTIONAL", {})
    for name in required:
        require(name in op.attributes, f"needs an attribute '{name}'")
    for name, kind in (*required.items(), *optional.items()):
        if name in op.attributes:
            found = op.attributes[name]
            require(isinstance(found, kind), f"attribute '{name}' must be a {kind.__name__}, got '{found}'")


@cache
def _shape_of(cls: type[ir.OpView]) -> tuple[int, bool, int, bool, int, tuple[tuple[str, Any], ...]]:
    """Single operands, whether more may follow, the same of results, regions, attributes of a definition."""
    counts: list[Any] = []
    for kind in (ext.OperandDef, ext.ResultDef):
        definitions = [field for field in cls._fields if isinstance(field, kind)]
        single = sum(field.variadicity == ext.Variadicity.single for field in definitions)
        counts += [single, single < len(definitions)]
    counts.append(sum(isinstance(field, ext.RegionDef) for field in cls._fields))
    attributes = [(f.name, f.constraint) for f in cls._fields if isinstance(f, ext.AttributeDef)]
    return (*counts, tuple(attributes))


def _well_formed(op: ir.OpView) -> bool:
    """Whether operand, result, region and attribute counts are those of the op's definition."""
    shape = _shape_of(type(op))  # type: ignore[arg-type]
    operands, more_operands, results, more_results, regions, attributes = shape
    for present, single, more in (
        (op.operands, operands, more_operands),
        (op.results, results, more_results),
    ):
        if len(present) < single or (len(present) > single and not more):
            return False
    if len(op.regions) != regions:
        return False
    present = op.attributes
    return all(name in present and isinstance(present[name], kind) for name, kind in attributes)


def require(condition: bool, message: str) -> None:
    """Raise VerifyError with the message unless the condition holds."""
    if not condition:
        raise VerifyError(message)


def require_same_type(lhs: ir.Type, rhs: ir.Type, what: str) -> None:
    """Types must agree in dtype and canonical dims."""
    if not same_type(lhs, rhs):
        raise VerifyError(f"{what}: '{lhs}' and '{rhs}'")


def require_dtype(type_: ir.Type, allowed: Sequence[str], what: str) -> str:
    """The dtype of a type, which must be one of `allowed`."""
    dtype = dtype_of(type_)
    if dtype not in allowed:
        raise VerifyError(f"{what} must be {' or '.join(allowed)}, got '{dtype}'")
    return dtype


def require_dims(type_: ir.Type, expected: Sequence[Expr], what: str) -> None:
    """A tensor type must have exactly these dims."""
    dims = dims_of(type_)
    if dims != tuple(expected):
        raise VerifyError(f"{what} has dims {shape_text(dims)}, expected {shape_text(expected)}")


def require_tensor(type_: ir.Type, what: str) -> tuple[Expr, ...]:
    """The dims of a tensor type."""
    if not is_tensor(type_):
        raise VerifyError(f"{what} must be a ranked tensor, got '{type_}'")
    return dims_of(type_)


def require_map(attr: ir.AffineMapAttr, dims: int, results: int, what: str = "map") -> None:
    """An affine map must have this many dims and results."""
    value = attr.value
    require(value.n_dims == dims, f"{what} has {value.n_dims} dims, expected {dims}")
    require(len(value.results) == results, f"{what} has {len(value.results)} results, expected {results}")


def require_in_bounds(index_map: IndexMap, dims: Sequence[Expr], what: str) -> None:
    """Refuse a map that certainly leaves its source somewhere in a non-empty domain."""
    for extent in index_map.extents:
        if extent is None or not extent.is_const or extent.value < 1:
            return
    for axis, (result, dim) in enumerate(zip(index_map.results, dims, strict=True)):
        if not dim.is_const or any(
            len(m) > 1 or not all(isinstance(a, DimVar) for a in m) for m, _ in result.terms
        ):
            continue
        low, high = result.bounds()
        if low is not None and high is not None and not (0 <= low and high < dim.value):
            raise VerifyError(f"{what} reads [{low}, {high}] of axis {axis}, which has size {dim}")
