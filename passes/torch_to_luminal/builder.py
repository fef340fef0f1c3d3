"""Emits luminal primitives with symbolic shapes: the one place where converters touch MLIR.

Every method takes and returns `Tensor` handles. Elementwise methods broadcast like torch and accept Python
numbers, which become rank-0 constants of the other operand's dtype; dtypes are never promoted here (see
promotion.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...dialects import symbolic
from ...dialects.mlir import ir
from ...dialects.symbolic import ONE, ZERO, Expr, Sym, const
from . import dtypes
from .registry import Unsupported
from .shapes import broadcast_shapes, expr
from .symbols import FixedSize, SymbolTable

Number = int | float | bool

STATE_STEP = -0x61C8864680B583EB
"""What the random state grows by for each use: odd, so that all 2^64 states are different."""


@dataclass(frozen=True)
class Tensor:
    """An SSA value with its symbolic shape and luminal dtype."""

    value: ir.Value
    shape: tuple[Expr, ...]
    dtype: str

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class ResultType:
    """What the importer recorded for one result: dtype and dims (None where dynamic). Scalars have dtype
    None."""

    dtype: str | None
    dims: tuple[int | None, ...] = ()


Operand = Tensor | int | float | bool | Expr


class Builder:
    """Builds luminal ops at the end of one block, inside `with context, location`.

    `location`, `results` and `list_length` (how many values the program takes out of a result that is a
    list) describe the torch op being converted.
    """

    def __init__(self, block: ir.Block, symbols: SymbolTable) -> None:
        self.block = block
        self.symbols = symbols
        self.location = ir.Location.unknown()
        self._end = ir.InsertionPoint(block)
        self.results: tuple[ResultType, ...] = ()
        self.list_length: int | None = None
        self._constants: dict[tuple[str, str], Tensor] = {}
        self._random_state: Tensor | None = None

    # Types and maps.

    def tensor_type(self, shape: Sequence[Expr], dtype: str) -> ir.Type:
        return self.symbols.tensor_type(shape, dtype)

    def emit(
        self,
        name: str,
        operands: Sequence[Tensor],
        shape: Sequence[Expr],
        dtype: str,
        **attributes: ir.Attribute,
    ) -> Tensor:
        """One `luminal.<name>` op with a single result of this shape and dtype."""
        shape = tuple(self.symbols.fit(size) for size in shape)
        operation = ir.Operation.create(
            f"luminal.{name}",
            results=[self.tensor_type(shape, dtype)],
            operands=[operand.value for operand in operands],
            attributes=attributes,
            loc=self.location,
            ip=self._end,
        )
        return Tensor(operation.result, shape, dtype)

    def dims(self, shape: Sequence[Expr | int]) -> tuple[Expr, ...]:
        """One dim atom d0, d1, ... per axis of `shape`."""
        return tuple(symbolic.DimVar(axis, expr(size)) for axis, size in enumerate(shape))

    def static(self, value: Operand) -> int:
        """`value` as a Python int; refuses one that depends on a symbol."""
        if isinstance(value, Tensor):
            raise Unsupported(
                "needs an integer that is known when compiling, got one computed by the program"
            )
        if isinstance(value, Expr):
            if not value.is_const:
                raise Unsupported(f"needs an integer that is known when compiling, got {value}")
            return value.value
        return int(value)

    def require(self, size: Expr, value: Expr | int) -> None:
        """`size` has to be `value`, as eager checks: a symbol that this determines is replaced everywhere."""
        difference = size - value
        if difference is ZERO:
            return
        symbols = [atom for atom in difference.atoms() if isinstance(atom, Sym)]
        for symbol in sorted(symbols, key=lambda atom: atom.index, reverse=True):
            factor = difference.coefficient(symbol)
            if self.symbols.symbols[symbol.index].rule is not None or factor not in (ONE, const(-1)):
                continue
            rest = difference - symbol * factor
            solved = -rest if factor is ONE else rest
            if all(atom.index < symbol.index for atom in symbols if atom is not symbol):
                raise FixedSize(symbol.index, solved)
        raise Unsupported(f"a size has to be {value}, and it is {size}")

    # Leaves.

    def constant(self, value: Number, dtype: str) -> Tensor:
        """A rank-0 constant; integers wrap to the dtype's width, floats round once."""
        value = _fit(value, dtype)
        key = (repr(value), dtype)
        if key not in self._constants:
            element = self.symbols.element_type(dtype)
            kind = ir.FloatAttr if dtypes.is_float(dtype) else ir.IntegerAttr
            dense = ir.DenseElementsAttr.get_splat(
                ir.RankedTensorType.get([], element), kind.get(element, value)
            )
            self._constants[key] = self.emit("constant", [], (), dtype, value=dense)
        return self._constants[key]

    @property
    def seeded(self) -> bool:
        """Whether the function has the argument that `random_state` adds."""
        return self._random_state is not None

    def random_state(self) -> Tensor:
        """A rank-0 i64 tensor that differs for every use and, being counted on from an argument that is
        drawn for each call, from call to call."""
        if self._random_state is None:
            seed = self.block.add_argument(self.tensor_type((), "i64"), self.location)
            self._random_state = Tensor(seed, (), "i64")
        self._random_state = self.add(self._random_state, STATE_STEP)
        return self._random_state

    def dense(self, attribute: ir.Attribute, shape: Sequence[int], dtype: str) -> Tensor:
        """A small literal tensor."""
        return self.emit("constant", [], [expr(size) for size in shape], dtype, value=attribute)

    def full(self, shape: Sequence[Expr | int], value: Operand, dtype: str) -> Tensor:
        """Every element equal to `value`."""
        return self.broadcast(self.scalar(value, dtype), shape)

    def scalar(self, value: Operand, dtype: str) -> Tensor:
        """A rank-0 tensor of `dtype` from a number, a symbolic integer or a rank-0 tensor."""
        if isinstance(value, Tensor):
            return self.cast(value, dtype)
        if isinstance(value, Expr):
            size = value
            if not size.is_const:
                return self.cast(self.iota((), lambda: size), dtype)
            return self.constant(size.value, dtype)
        return self.constant(value, dtype)

    def iota(self, shape: Sequence[Expr | int], index: Callable[..., Expr]) -> Tensor:
        """An i64 tensor whose value at coordinate (d0, ...) is index(d0, ...)."""
        sizes = tuple(self.symbols.fit(expr(size)) for size in shape)
        result = self.symbols.fit(expr(index(*self.dims(sizes))))
        return self.emit("iota", [], sizes, "i64", map=self.symbols.map_attribute(sizes, [result]))

    # Elementwise.

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        return x if x.dtype == dtype else self.emit("cast", [x], x.shape, dtype)

    def _unary(self, name: str, x: Tensor) -> Tensor:
        return self.emit(name, [x], x.shape, x.dtype)

    def log2(self, x: Tensor) -> Tensor:
        return self._unary("log2", x)

    def exp2(self, x: Tensor) -> Tensor:
        return self._unary("exp2", x)

    def sin(self, x: Tensor) -> Tensor:
        return self._unary("sin", x)

    def sqrt(self, x: Tensor) -> Tensor:
        return self._unary("sqrt", x)

    def recip(self, x: Tensor) -> Tensor:
        return self._unary("recip", x)

    def align(self, *operands: Operand) -> list[Tensor]:
        """Numbers become constants of the tensors' dtype, and everything is broadcast to one shape."""
        tensors = [operand for operand in operands if isinstance(operand, Tensor)]
        dtype = tensors[0].dtype
        whole = [
            self.scalar(operand, dtype) if not isinstance(operand, Tensor) else operand
            for operand in operands
        ]
        shape = broadcast_shapes([tensor.shape for tensor in whole])
        return [self.broadcast(tensor, shape) for tensor in whole]

    def _binary(self, name: str, a: Operand, b: Operand, dtype: str | None = None) -> Tensor:
        left, right = self.align(a, b)
        if left.dtype != right.dtype:
            raise AssertionError(f"{name} of {left.dtype} and {right.dtype}: a converter forgot to promote")
        return self.emit(name, [left, right], left.shape, dtype or left.dtype)

    def add(self, a: Operand, b: Operand) -> Tensor:
        return self._binary("add", a, b)

    def mul(self, a: Operand, b: Operand) -> Tensor:
        return self._binary("mul", a, b)

    def mod(self, a: Operand, b: Operand) -> Tensor:
        return self._binary("mod", a, b)

    def less_than(self, a: Operand, b: Operand) -> Tensor:
        return self._binary("less_than", a, b, "i1")

    # Reductions.

    def _reduce(self, name: str, x: Tensor, axes: Sequence[int]) -> Tensor:
        if not axes:
            return x
        kept = [size for axis, size in enumerate(x.shape) if axis not in axes]
        attribute = ir.DenseI64ArrayAttr.get(sorted(axes))
        return self.emit(name, [x], kept, x.dtype, axes=attribute)

    def sum_reduce(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Sum over `axes`, which are dropped."""
        return self._reduce("sum_reduce", x, axes)

    def max_reduce(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Maximum over `axes`, which are dropped; NaN wins."""
        return self._reduce("max_reduce", x, axes)

    # Data movement.

    def view(
        self, x: Tensor, shape: Sequence[Expr | int], index: Callable[..., Sequence[Expr | int]]
    ) -> Tensor:
        """result[d0, ...] = x[index(d0, ...)]; no view is emitted for the identity."""
        sizes = tuple(self.symbols.fit(expr(size)) for size in shape)
        dims = self.dims(sizes)
        results = [self.symbols.fit(expr(result)) for result in index(*dims)]
        if len(results) != x.rank:
            raise AssertionError(f"view map has {len(results)} results for rank {x.rank}")
        if sizes == x.shape and tuple(results) == dims:
            return x
        return self.emit("view", [x], sizes, x.dtype, map=self.symbols.map_attribute(sizes, results))

    def broadcast(self, x: Tensor, shape: Sequence[Expr | int]) -> Tensor:
        """Expand like torch: missing leading axes and axes of size one repeat."""
        sizes = tuple(self.symbols.fit(expr(size)) for size in shape)
        if sizes == x.shape:
            return x
        lead = len(sizes) - x.rank

        def index(*dims: Expr) -> list[Expr | int]:
            return [
                dims[lead + axis] if size is sizes[lead + axis] else 0 for axis, size in enumerate(x.shape)
            ]

        for axis, size in enumerate(x.shape):
            if size is not sizes[lead + axis] and size is not symbolic.ONE:
                raise Unsupported(f"cannot expand a dimension of size {size} to {sizes[lead + axis]}")
        return self.view(x, sizes, index)

    def gather(
        self,
        source: Tensor,
        indices: Sequence[Tensor],
        shape: Sequence[Expr],
        index: Callable[..., Sequence[Expr]],
    ) -> Tensor:
        """result[c] = source[index(*c, *x)] with x_k = indices_k[c]; indices are i64 tensors of the
        result's shape."""
        sizes = tuple(self.symbols.fit(expr(size)) for size in shape)
        attribute = self._indexed_map(sizes, len(indices), index)
        whole = [self.broadcast(item, sizes) for item in indices]
        return self.emit("gather", [source, *whole], sizes, source.dtype, map=attribute)

    def scatter(
        self,
        base: Tensor,
        updates: Tensor,
        indices: Sequence[Tensor],
        index: Callable[..., Sequence[Expr | int]],
        mode: str = "set",
    ) -> Tensor:
        """out = base; out[index(*c, *x)] = (or +=, mode "add") updates[c] for c in row-major order."""
        attribute = self._indexed_map(updates.shape, len(indices), index)
        whole = [self.broadcast(item, updates.shape) for item in indices]
        mode_attribute = ir.StringAttr.get(mode)
        return self.emit(
            "scatter", [base, updates, *whole], base.shape, base.dtype, map=attribute, mode=mode_attribute
        )

    def _indexed_map(
        self, sizes: Sequence[Expr], count: int, index: Callable[..., Sequence[Expr | int]]
    ) -> ir.Attribute:
        values = tuple(symbolic.DimVar(len(sizes) + number, None) for number in range(count))
        results = [self.symbols.fit(expr(result)) for result in index(*self.dims(sizes), *values)]
        return self.symbols.map_attribute((*sizes, *([None] * count)), results)


def _fit(value: Number, dtype: str) -> Number:
    if dtypes.is_float(dtype):
        return float(value)
    if dtype == "i1":
        return bool(value)
    bits = 32 if dtype == "i32" else 64
    return (int(value) + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
