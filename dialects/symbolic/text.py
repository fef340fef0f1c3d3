"""Text of expressions (`s0 * 64 + d0 floordiv 8`), reading it back, and compiled evaluation."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from .expr import Atom, DimVar, Expr, FloorDiv, Max, Min, Mod, Sym, as_expr
from .extrema import maximum, minimum


def to_text(expr: Expr) -> str:
    """MLIR's spelling of an expression, with `min(...)` and `max(...)` besides. `parse` reads it back."""
    return _sum_text(expr, " floordiv ", " mod ")


def _sum_text(expr: Expr, division: str, remainder: str) -> str:
    if not expr.terms:
        return "0"
    ordered = sorted(expr.terms, key=lambda term: not term[0])
    text = ""
    for monomial, coefficient in ordered:
        alone = len(monomial) == 1 and abs(coefficient) == 1 and (coefficient > 0 or bool(text))
        factors = [_atom_text(atom, division, remainder, alone) for atom in monomial]
        if not factors or abs(coefficient) != 1:
            factors.append(str(abs(coefficient)))
        sign = "-" if coefficient < 0 else "+"
        joined = " * ".join(factors)
        text += f" {sign} {joined}" if text else (f"-{joined}" if sign == "-" else joined)
    return text


def _atom_text(atom: Atom, division: str, remainder: str, alone: bool) -> str:
    if isinstance(atom, Sym):
        return f"s{atom.index}"
    if isinstance(atom, DimVar):
        return f"d{atom.index}"
    arguments = [_sum_text(argument, division, remainder) for argument in atom.arguments]
    if isinstance(atom, FloorDiv | Mod):
        operator = division if isinstance(atom, FloorDiv) else remainder
        operands = [_wrap(text, argument) for text, argument in zip(arguments, atom.arguments, strict=True)]
        joined = f"{operands[0]}{operator}{operands[1]}"
        # Division and product have one precedence, and their order matters.
        return joined if alone else f"({joined})"
    return f"{'min' if isinstance(atom, Min) else 'max'}({', '.join(arguments)})"


def _wrap(text: str, argument: Expr) -> str:
    simple = isinstance(argument, Sym | DimVar | Min | Max) or (argument.is_const and argument.value >= 0)
    return text if simple else f"({text})"


def parse(text: str, names: Mapping[str, Expr]) -> Expr:
    """Read what `str(expr)` wrote; `names` gives the atoms by name. ValueError says what is malformed."""
    source = text.replace(" floordiv ", " // ").replace(" mod ", " % ")
    try:
        return _from_node(ast.parse(source.strip(), mode="eval").body, names)
    except (SyntaxError, KeyError, TypeError) as error:
        raise ValueError(f"malformed symbolic expression '{text}': {error}") from error


def _from_node(node: ast.expr, names: Mapping[str, Expr]) -> Expr:
    match node:
        case ast.Constant(value=int() as value):
            return as_expr(value)
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_from_node(operand, names)
        case ast.BinOp(left=left, op=operator, right=right):
            lhs, rhs = _from_node(left, names), _from_node(right, names)
            return _BINARY[type(operator)](lhs, rhs)
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=args):
            combine = minimum if name == "min" else maximum
            return combine(*(_from_node(arg, names) for arg in args))
    raise TypeError(f"'{ast.unparse(node)}' is not allowed here")


_BINARY: dict[type[ast.operator], Callable[[Expr, Expr], Expr]] = {
    ast.Add: lambda lhs, rhs: lhs + rhs,
    ast.Sub: lambda lhs, rhs: lhs - rhs,
    ast.Mult: lambda lhs, rhs: lhs * rhs,
    ast.FloorDiv: lambda lhs, rhs: lhs // rhs,
    ast.Mod: lambda lhs, rhs: lhs % rhs,
}


@lru_cache(maxsize=4096)
def compiled(expressions: tuple[Expr, ...], symbol_count: int) -> Callable[[Sequence[int]], tuple[int, ...]]:
    """A fast function from the values of `s0..s{symbol_count-1}` to the values of the expressions."""
    used = {atom.index for expr in expressions for atom in expr.atoms() if isinstance(atom, Sym)}
    if used and max(used) >= symbol_count:
        raise ValueError(f"s{max(used)} is used, but there are only {symbol_count} symbols")
    names = "".join(f"s{index}, " for index in range(symbol_count))
    body = "".join(f"{_sum_text(expr, ' // ', ' % ')}, " for expr in expressions)
    unpack = f" ({names}) = values\n" if symbol_count else ""
    scope: dict[str, Callable[[Sequence[int]], tuple[int, ...]]] = {}
    exec(f"def evaluate(values):\n{unpack} return ({body})\n", {"min": min, "max": max}, scope)
    return scope["evaluate"]
