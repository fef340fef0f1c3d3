"""Tensor types with symbolic dims, element types, and the symbol list of a function.

A tensor type with a dynamic dim carries its dims as encoding, an affine map from the function's symbols:
`tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>`. A static type has no encoding. All tensors are dense and
row-major. Element types are f64, f32, f16, bf16, i64, i32 and i1; others are refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import VerifyError
from .mlir import ir
from .symbolic import (
    Atom,
    Expr,
    IndexMap,
    Sym,
    as_expr,
    current_symbols,
    is_affine,
    parse,
    shape_text,
    symbols_in_scope,
)

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

SYMBOLS_ATTR = "luminal.symbols"


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
        return ir.RankedTensorType.get([dim.value for dim in expressions], element)
    for dim in expressions:
        if not is_affine(dim):
            raise VerifyError(
                f"dim '{dim}' of {shape_text(expressions)} is not affine: give it a symbol with a rule"
            )
    dynamic = ir.ShapedType.get_dynamic_size()
    sizes = [dim.value if dim.is_const else dynamic for dim in expressions]
    encoding = IndexMap.of((), expressions).to_attr(element.context)
    return ir.RankedTensorType.get(sizes, element, encoding)


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
            raise VerifyError(f"'{type_}' has a dynamic dim but no encoding that says which symbols it is made of")
        return tuple(as_expr(size) for size in shape)
    if not isinstance(encoding, ir.AffineMapAttr):
        raise VerifyError(f"the encoding of '{type_}' is not an affine map of its dims")
    if encoding.value.n_dims or len(encoding.value.results) != len(shape):
        raise VerifyError(f"the encoding of '{type_}' must map no dims to {len(shape)} results")
    dims = IndexMap.from_attr(encoding, (), symbols).results
    for size, dim in zip(shape, dims, strict=True):
        if size != (dim.value if dim.is_const else dynamic):
            raise VerifyError(f"the encoding of '{type_}' does not match its shape: '{dim}' stands for a dim of {size}")
    return dims


def same_type(lhs: ir.Type, rhs: ir.Type) -> bool:
    """Whether two types agree in dtype and in canonical dims (spelling and unused symbols aside)."""
    if lhs == rhs:
        return True
    if not (is_tensor(lhs) and is_tensor(rhs)):
        return False
    return dtype_of(lhs) == dtype_of(rhs) and dims_of(lhs) == dims_of(rhs)


@dataclass(frozen=True)
class SymbolInfo:
    """One symbol of a function: its position gives the name `s<k>`.

    `maximum` None is unbounded. `rule` (an expression over earlier symbols, as text) makes it a derived symbol: its
    value is computed, not read from an argument's shape.
    """

    index: int
    minimum: int = 0
    maximum: int | None = None
    rule: str | None = None

    @property
    def name(self) -> str:
        """`s<index>`."""
        return f"s{self.index}"

    @property
    def sym(self) -> Sym:
        """The symbol as an expression, with its range."""
        return Sym(self.index, self.minimum, self.maximum)


def rule_of(symbol: SymbolInfo, symbols: Sequence[SymbolInfo]) -> Expr | None:
    """The rule of a derived symbol as an expression over earlier symbols; None for a free symbol."""
    if symbol.rule is None:
        return None
    return parse(symbol.rule, {other.name: other.sym for other in symbols[: symbol.index]})


def symbols_of(func: ir.OpView | ir.Operation) -> list[SymbolInfo]:
    """The declared symbols of a function, in order; empty if it has none. VerifyError if the list is malformed."""
    attributes = func.attributes
    if SYMBOLS_ATTR not in attributes:
        return []
    entries = attributes[SYMBOLS_ATTR]
    if not isinstance(entries, ir.ArrayAttr):
        raise VerifyError(f"'{SYMBOLS_ATTR}' must be an array of dictionaries")
    infos = [_symbol_from_attr(index, entry) for index, entry in enumerate(entries)]
    for info in infos:
        try:
            rule_of(info, infos)
        except ValueError as error:
            raise VerifyError(f"the rule of symbol {info.name} cannot be read: {error}") from error
    return infos


def _symbol_from_attr(index: int, entry: ir.Attribute) -> SymbolInfo:
    if not isinstance(entry, ir.DictAttr) or "name" not in entry:
        raise VerifyError(f"entry {index} of '{SYMBOLS_ATTR}' must be a dictionary with a name")
    unknown = {entry[k].name for k in range(len(entry))} - {"name", "min", "max", "rule"}
    if unknown:
        raise VerifyError(f"entry {index} of '{SYMBOLS_ATTR}' has unknown keys: {', '.join(sorted(unknown))}")
    name = ir.StringAttr(entry["name"]).value
    if name != f"s{index}":
        raise VerifyError(f"entry {index} of '{SYMBOLS_ATTR}' must be named s{index}, not '{name}'")
    least = ir.IntegerAttr(entry["min"]).value if "min" in entry else 0
    greatest = ir.IntegerAttr(entry["max"]).value if "max" in entry else None
    if greatest is not None and least > greatest:
        raise VerifyError(f"symbol {name} has an empty range [{least}, {greatest}]")
    return SymbolInfo(index, least, greatest, ir.StringAttr(entry["rule"]).value if "rule" in entry else None)


def set_symbols(func: ir.OpView | ir.Operation, symbols: Sequence[SymbolInfo]) -> None:
    """Declare the symbols of a function (an empty list removes the attribute)."""
    if not symbols:
        if SYMBOLS_ATTR in func.attributes:
            del func.attributes[SYMBOLS_ATTR]
        return
    with func.context:
        i64 = ir.IntegerType.get_signless(64)
        entries: list[ir.Attribute] = []
        for index, symbol in enumerate(symbols):
            if symbol.index != index:
                raise ValueError(f"symbol {symbol.name} stands at position {index}")
            entry: dict[str, ir.Attribute] = {
                "name": ir.StringAttr.get(symbol.name),
                "min": ir.IntegerAttr.get(i64, symbol.minimum),
            }
            if symbol.maximum is not None:
                entry["max"] = ir.IntegerAttr.get(i64, symbol.maximum)
            if symbol.rule is not None:
                entry["rule"] = ir.StringAttr.get(symbol.rule)
            entries.append(ir.DictAttr.get(entry))
        func.attributes[SYMBOLS_ATTR] = ir.ArrayAttr.get(entries)


def syms_of(func: ir.OpView | ir.Operation) -> tuple[Sym, ...]:
    """The symbols of a function as ranged expressions: what `symbols_in_scope` takes."""
    return tuple(symbol.sym for symbol in symbols_of(func))


def scope_of(func: ir.OpView | ir.Operation):
    """`with scope_of(func):` puts the function's symbols in scope."""
    return symbols_in_scope(syms_of(func))


def enclosing_symbols(operation: ir.Operation | ir.OpView) -> tuple[Sym, ...]:
    """The symbols of the function around an op (those in scope if there is none)."""
    parent = operation.operation
    while parent is not None:
        if SYMBOLS_ATTR in parent.attributes:
            return syms_of(parent)
        parent = parent.parent.operation if parent.parent is not None else None
    return current_symbols()


def solve_symbols(
    symbols: Sequence[SymbolInfo], shapes: Sequence[tuple[Sequence[Expr], Sequence[int], str]]
) -> dict[Atom, int]:
    """Values of the symbols from actual shapes.

    `shapes` lists (declared dims, actual sizes, name for messages) per argument. Free symbols are read where a dim
    is linear in one unknown symbol; derived ones follow their rule. Raises ValueError naming the argument if a
    shape does not fit, a size is out of its symbol's range, or a symbol cannot be determined.
    """
    values: dict[Atom, int] = {}
    pending = {symbol.sym: symbol for symbol in symbols}
    progress = True
    while pending and progress:
        progress = False
        for symbol in list(pending.values()):
            value = _solve_one(symbol, symbols, shapes, values)
            if value is not None:
                values[symbol.sym] = value
                del pending[symbol.sym]
                progress = True
    if pending:
        names = ", ".join(symbol.name for symbol in pending.values())
        raise ValueError(f"the sizes {names} cannot be determined from the shapes of the arguments")
    for dims, sizes, name in shapes:
        expected = [dim.evaluate(values) for dim in dims]
        if list(sizes) != expected:
            raise ValueError(f"{name} has shape {shape_text(list(sizes))}, expected {shape_text(dims)} = {expected}")
    for symbol in symbols:
        value = values[symbol.sym]
        if value < symbol.minimum or (symbol.maximum is not None and value > symbol.maximum):
            limit = "unbounded" if symbol.maximum is None else symbol.maximum
            raise ValueError(f"size {symbol.name} = {value} is out of its range [{symbol.minimum}, {limit}]")
    return values


def _solve_one(
    symbol: SymbolInfo,
    symbols: Sequence[SymbolInfo],
    shapes: Sequence[tuple[Sequence[Expr], Sequence[int], str]],
    values: dict[Atom, int],
) -> int | None:
    rule = rule_of(symbol, symbols)
    if rule is not None:
        return rule.evaluate(values) if all(a in values for a in rule.atoms() if isinstance(a, Sym)) else None
    for dims, sizes, name in shapes:
        if len(dims) != len(sizes):
            raise ValueError(f"{name} has rank {len(sizes)}, expected {len(dims)}: {shape_text(dims)}")
        for axis, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
            if symbol.sym not in dim.atoms():
                continue
            known = dim.substitute({atom: as_expr(value) for atom, value in values.items()})
            factor = known.coefficient(symbol.sym)
            if factor is None or not factor.is_const or factor.value == 0:
                continue
            rest = known - factor * symbol.sym
            if rest.is_const:
                value, left = divmod(size - rest.value, factor.value)
                if left:
                    raise ValueError(f"axis {axis} of {name} has size {size}, which is not of the form {dim}")
                return value
    return None
