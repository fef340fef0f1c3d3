"""The pass `torch-to-luminal`: functions in the torch dialect become functions of luminal primitives.

Dims come from `torch.symbolic_int` and `torch.bind_symbolic_shape` on arguments; all other shapes follow
from the converters. `!torch.int` arguments are sizes: they vanish, since their values are symbols (argument
attribute `luminal.symbol`, an expression over the names of the `torch.symbolic_int` ops; without it the
argument is a symbol of its own). `!torch.float` arguments become rank-0 f64 tensors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from luminal.errors import ImportFailure

from ...dialects import symbolic
from ...dialects.mlir import func, ir
from ...dialects.symbolic import Expr, Sym
from ...dialects.types import SymbolInfo, set_symbols
from .builder import Builder, ResultType, Tensor
from .dtypes import from_torch_spelling
from .registry import Unsupported, load_converters
from .symbols import FixedSize, SymbolTable

_VTENSOR = re.compile(r"!torch\.v?tensor<\[([^\]]*)\],\s*([\w<>]+)>")
_UNBOUNDED = 2**62


@dataclass
class ConvertedFunction:
    """A finished L1 function and how its signature relates to that of the torch function.

    arguments: for each L0 argument its L1 position, or the symbolic value of a size.
    returns: for each L0 result its L1 position (`Returned`), or the constant or symbolic value that was
    returned.
    seeded: the last L1 argument is an i64 rank-0 tensor, a random number to be drawn for each call.
    """

    operation: ir.Operation
    symbols: list[SymbolInfo]
    arguments: list[int | Expr]
    returns: list[Any]
    seeded: bool


@dataclass(frozen=True)
class Returned:
    """Position of a tensor among the results of the L1 function."""

    position: int


@dataclass(frozen=True)
class Failure:
    """One use of an op that can't be imported."""

    name: str
    place: str
    reason: str


class _Missing:
    """Stands for the results of ops that failed, so that one failure is not reported again by its users."""


_MISSING = _Missing()


@dataclass
class _Signature:
    """What the first look at a torch function finds: symbols by torch's name and dims of bound values."""

    symbols: list[SymbolInfo] = field(default_factory=list)
    names: dict[str, Sym] = field(default_factory=dict)
    dims: dict[ir.Value, list[Expr]] = field(default_factory=dict)
    sizes: dict[ir.Value, Expr] = field(default_factory=dict)

    def with_fixed(self, values: Mapping[int, Expr]) -> _Signature:
        """The same with some symbols replaced by their values (expressions over earlier symbols), so that the
        types of the arguments say them. The symbols keep their places in the list."""
        replaced: dict[symbolic.Atom, Expr] = {self.symbols[k].sym: value for k, value in values.items()}
        symbols = list(self.symbols)
        for k, value in values.items():
            low, high = value.bounds()
            symbols[k] = SymbolInfo(k, low or 0, high, str(value))
        dims = {key: [dim.substitute(replaced) for dim in found] for key, found in self.dims.items()}
        sizes = {key: size.substitute(replaced) for key, size in self.sizes.items()}
        return _Signature(symbols, self.names, dims, sizes)


def convert_function(source: ir.Operation) -> ConvertedFunction:
    """Replace one `func.func` over torch types by its luminal form, in place. ImportFailure lists what
    can't be."""
    with source.context, ir.Location.unknown():
        signature = _read_signature(source)
        conversion = _Conversion(source, signature, signature.symbols)
        while conversion.fixed:
            conversion.discard()
            signature = signature.with_fixed(conversion.fixed)
            conversion = _Conversion(source, signature, signature.symbols)
        if len(conversion.symbols.symbols) > len(signature.symbols):
            conversion.discard()
            conversion = _Conversion(source, signature, conversion.symbols.symbols)
        result = conversion.finish()
        source.erase()
        return result


def _read_signature(source: ir.Operation) -> _Signature:
    found = _Signature()
    block = source.regions[0].blocks[0]
    for operation in block.operations:
        if operation.operation.name == "torch.symbolic_int":
            _declare(found, operation.operation)
    for operation in block.operations:
        if operation.operation.name == "torch.bind_symbolic_shape":
            _bind(found, operation.operation)
    for position, argument in enumerate(block.arguments):
        kind = str(argument.type)
        if kind == "!torch.int":
            found.sizes[argument] = _size_argument(found, source, position)
        elif kind.startswith("!torch.v") and argument not in found.dims:
            found.dims[argument] = [
                _fresh(found) if size is None else symbolic.const(size) for size in _type_dims(kind)
            ]
    return found


def _declare(found: _Signature, operation: ir.Operation) -> None:
    low = ir.IntegerAttr(operation.attributes["min_val"]).value
    high = ir.IntegerAttr(operation.attributes["max_val"]).value
    name = ir.StringAttr(operation.attributes["symbol_name"]).value
    found.names[name] = _fresh(found, max(low, 0), None if high >= _UNBOUNDED else high)
    found.sizes[operation.results[0]] = found.names[name]


def _fresh(found: _Signature, low: int = 0, high: int | None = None) -> Sym:
    found.symbols.append(SymbolInfo(len(found.symbols), low, high))
    return found.symbols[-1].sym


def _bind(found: _Signature, operation: ir.Operation) -> None:
    shapes = ir.AffineMapAttr(operation.attributes["shape_expressions"]).value
    known = [found.sizes[operand] for operand in list(operation.operands)[1:]]
    found.dims[operation.operands[0]] = [symbolic.from_affine(result, [], known) for result in shapes.results]


def _size_argument(found: _Signature, source: ir.Operation, position: int) -> Expr:
    attributes = _dictionary(source, "arg_attrs", position)
    if "luminal.symbol" not in attributes:
        return _fresh(found)
    return symbolic.parse(ir.StringAttr(attributes["luminal.symbol"]).value, found.names)


def _dictionary(function: ir.Operation, name: str, position: int) -> dict[str, ir.Attribute]:
    if name not in function.attributes:
        return {}
    return {entry.name: entry.attr for entry in function.attributes[name][position]}


def parse_result_type(text: str) -> ResultType:
    """The dtype and dims in a torch-dialect type; a type that is no tensor has dtype None."""
    match = _VTENSOR.fullmatch(text)
    if match is None:
        return ResultType(None)
    return ResultType(from_torch_spelling(match.group(2)), _type_dims(text))


def _type_dims(text: str) -> tuple[int | None, ...]:
    match = _VTENSOR.fullmatch(text)
    dims = match.group(1).split(",") if match is not None else []
    return tuple(None if dim.strip() == "?" else int(dim) for dim in dims if dim.strip())


def source_place(location: ir.Location) -> str:
    """`file:line` of the code that made an op, the user's own before PyTorch's; empty if it is not known."""
    return own_frame(re.findall(r'"([^"]+)":(\d+)', str(location)))


def own_frame(frames: Sequence[tuple[str, str]]) -> str:
    """`file:line` of the first frame outside PyTorch, else of the first one."""
    own = [frame for frame in frames if "/torch/" not in frame[0] and frame[0][:1] != "<"]
    return ":".join((own or frames)[0]) if frames else ""


class _Conversion:
    """One run over the body; leaves the new function right before the old one."""

    def __init__(self, source: ir.Operation, signature: _Signature, symbols: Sequence[SymbolInfo]) -> None:
        self.source = source
        self.symbols = SymbolTable(symbols)
        self.values: dict[ir.Value, Any] = dict(signature.sizes)
        self.failures: list[Failure] = []
        self.fixed: dict[int, Expr] = {}
        self.arguments: list[int | Expr] = []
        self.returns: list[Any] = []
        self.results: list[Tensor] = []
        with symbolic.symbols_in_scope(self.symbols.atoms()):
            self._open(signature)
            for operation in source.regions[0].blocks[0].operations:
                self._convert(operation.operation)
            self._close()

    def _open(self, signature: _Signature) -> None:
        arguments = list(self.source.regions[0].blocks[0].arguments)
        kept: list[ir.Value] = []
        types: list[ir.Type] = []
        for position, argument in enumerate(arguments):
            if argument in signature.sizes:
                self.arguments.append(signature.sizes[argument])
                continue
            try:
                types.append(self._argument_type(argument, signature))
                self.arguments.append(len(kept))
                kept.append(argument)
            except Unsupported as error:
                self._fail(f"argument {position}", argument.owner.owner.location, str(error))
                self.arguments.append(-1)
                self.values[argument] = _MISSING
        name = ir.StringAttr(self.source.attributes["sym_name"]).value
        with ir.InsertionPoint(self.source):
            self.function = func.FuncOp(name, ir.FunctionType.get(types, []), loc=self.source.location)
        self.block = self.function.add_entry_block()
        self.builder = Builder(self.block, self.symbols)
        for argument, value in zip(kept, self.block.arguments, strict=True):
            shape = tuple(signature.dims.get(argument, []))
            self.values[argument] = Tensor(value, shape, str(ir.RankedTensorType(value.type).element_type))

    def _argument_type(self, argument: ir.Value, signature: _Signature) -> ir.Type:
        text = str(argument.type)
        if text in ("!torch.float", "!torch.bool"):
            return self.symbols.tensor_type((), "f64" if text == "!torch.float" else "i1")
        kind = parse_result_type(text)
        if kind.dtype is None:
            raise Unsupported(f"an argument of type {text} is not supported")
        return self.symbols.tensor_type(signature.dims[argument], kind.dtype)

    def _fail(self, name: str, location: ir.Location, reason: str) -> None:
        failure = Failure(name.removeprefix("torch."), source_place(location), reason)
        if failure not in self.failures:
            self.failures.append(failure)

    def _convert(self, operation: ir.Operation) -> None:
        name = operation.name
        if name == "torch.operator":
            name = ir.StringAttr(operation.attributes["name"]).value
        if name in ("torch.symbolic_int", "torch.bind_symbolic_shape"):
            return
        operands = [self.values[operand] for operand in operation.operands]
        if name in ("func.return", "torch.aten.return", "return"):
            self._return(operands)
            return
        try:
            results = self._results(name, operation, operands)
        except Unsupported as error:
            self._fail(name, operation.location, str(error))
            results = [_MISSING] * len(operation.results)
        except FixedSize as error:
            self.fixed[error.symbol] = error.value
            results = [_MISSING] * len(operation.results)
        for value, result in zip(operation.results, results, strict=True):
            self.values[value] = result

    def _results(self, name: str, operation: ir.Operation, operands: list[Any]) -> Sequence[Any]:
        if name.startswith("torch.constant."):
            return [_constant(name, operation)]
        if name in ("torch.prim.ListConstruct", "torch.prim.TupleConstruct"):
            missing = any(item is _MISSING for item in operands)
            return [_MISSING if missing else operands]
        if any(operand is _MISSING for operand in operands):
            return [_MISSING] * len(operation.results)
        if name in ("torch.prim.ListUnpack", "torch.prim.TupleUnpack"):
            return operands[0]
        builder = self.builder
        builder.location = operation.location
        builder.results = tuple(parse_result_type(str(result.type)) for result in operation.results)
        builder.list_length = _list_length(operation)
        if name in ("torch.vtensor.literal", "torch.tensor.literal"):
            return [_literal(builder, operation)]
        convert = load_converters().get(name)
        if convert is None:
            raise Unsupported("no converter")
        result = convert(builder, *operands)
        if isinstance(result, list) and len(operation.results) == 1:
            return [result]
        results = result if isinstance(result, (tuple, list)) else (result,)
        _check(results, builder.results)
        return results

    def _return(self, operands: list[Any]) -> None:
        for operand in operands:
            if isinstance(operand, Tensor):
                self.returns.append(Returned(len(self.results)))
                self.results.append(operand)
            else:
                self.returns.append(operand)

    def _close(self) -> None:
        with ir.InsertionPoint(self.block):
            func.ReturnOp([tensor.value for tensor in self.results])
        inputs = [argument.type for argument in self.block.arguments]
        kind = ir.FunctionType.get(inputs, [tensor.value.type for tensor in self.results])
        self.function.attributes["function_type"] = ir.TypeAttr.get(kind)
        set_symbols(self.function, self.symbols.symbols)
        self._copy_attributes()

    def _copy_attributes(self) -> None:
        """Argument and result attributes move along; positions of arguments are renumbered."""
        kept = [position for position, at in enumerate(self.arguments) if isinstance(at, int) and at >= 0]
        self.function.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [ir.DictAttr.get(_dictionary(self.source, "arg_attrs", position)) for position in kept]
        )
        if self.builder.seeded:
            self._describe_seed()
        tensors = [position for position, value in enumerate(self.returns) if isinstance(value, Returned)]
        entries = []
        for position in tensors:
            entry = _dictionary(self.source, "res_attrs", position)
            for key in ("luminal.writes", "luminal.alias"):
                if key in entry:
                    moved = self.arguments[ir.IntegerAttr(entry[key]).value]
                    entry[key] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), moved)
            entries.append(ir.DictAttr.get(entry))
        self.function.attributes["res_attrs"] = ir.ArrayAttr.get(entries)

    def _describe_seed(self) -> None:
        """The argument that the random numbers come from stands behind all others."""
        seed = {"luminal.kind": ir.StringAttr.get("input"), "luminal.name": ir.StringAttr.get("random seed")}
        known = ir.ArrayAttr(self.function.attributes["arg_attrs"])
        self.function.attributes["arg_attrs"] = ir.ArrayAttr.get([*known, ir.DictAttr.get(seed)])

    def discard(self) -> None:
        """Remove the unfinished function."""
        self.function.operation.erase()

    def finish(self) -> ConvertedFunction:
        """The result, or ImportFailure listing every failure."""
        if self.failures:
            self.discard()
            raise ImportFailure(failure_message(self.failures))
        function, symbols = self.function.operation, self.symbols.symbols
        return ConvertedFunction(function, symbols, self.arguments, self.returns, self.builder.seeded)


def failure_message(failures: Sequence[Failure]) -> str:
    """All failures, one a line, with the user's source lines."""
    lines = [f"{len(failures)} use(s) of operations that luminal can't import:"]
    for failure in failures:
        place = f"\n      at {failure.place}" if failure.place else ""
        lines.append(f"  {failure.name}: {failure.reason}{place}")
    return "\n".join(lines)


def _check(results: Sequence[Any], expected: Sequence[ResultType]) -> None:
    """Converters must give the dtype, rank and static dims that torch computed."""
    for result, kind in zip(results, expected, strict=True):
        if not isinstance(result, Tensor) or kind.dtype is None:
            continue
        if result.dtype != kind.dtype or result.rank != len(kind.dims):
            raise Unsupported(f"converted to {result.dtype} of rank {result.rank}, but torch gives {kind}")
        for size, dim in zip(result.shape, kind.dims, strict=True):
            if dim is not None and size.is_const and size.value != dim:
                raise Unsupported(
                    f"converted to shape {symbolic.shape_text(result.shape)}, but torch gives {kind}"
                )


def _list_length(operation: ir.Operation) -> int | None:
    if len(operation.results) != 1 or "list" not in str(operation.results[0].type):
        return None
    for use in operation.results[0].uses:
        if use.owner.name == "torch.prim.ListUnpack":
            return len(use.owner.results)
    return None


def _constant(name: str, operation: ir.Operation) -> Any:
    match name.removeprefix("torch.constant."):
        case "int":
            return ir.IntegerAttr(operation.attributes["value"]).value
        case "bool":
            return bool(ir.IntegerAttr(operation.attributes["value"]).value)
        case "float":
            return ir.FloatAttr(operation.attributes["value"]).value
        case "none" | "device":
            return None
        case "str":
            return ir.StringAttr(operation.attributes["value"]).value
    raise Unsupported("no converter")


def _literal(builder: Builder, operation: ir.Operation) -> Tensor:
    kind = builder.results[0]
    attribute = operation.attributes["value"]
    if kind.dtype is None or any(size is None for size in kind.dims):
        raise Unsupported("a literal of unknown shape")
    count = 1
    for size in kind.dims:
        count *= size or 0
    if count > 64 or not isinstance(attribute, ir.DenseElementsAttr):
        raise Unsupported(f"a literal of {count} elements; pass it as an argument of the function")
    return builder.dense(ir.Attribute.parse(re.sub(r"xsi(32|64)>|<si(32|64)>", _signless, str(attribute))),
                         [size or 0 for size in kind.dims], kind.dtype)  # fmt: skip


def _signless(match: re.Match[str]) -> str:
    return match.group(0).replace("si", "i")
