"""Between expressions and MLIR's affine (and semi-affine) expressions.

MLIR allows a product, quotient or remainder only by a constant or a symbolic expression, and has no minimum
or
maximum: what needs those is refused here, and becomes a derived symbol with a rule instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..mlir import ir
from .expr import Atom, DimVar, Expr, FloorDiv, Mod, Sym, const


def to_affine(expr: Expr, context: ir.Context | None = None) -> ir.AffineExpr:
    """The affine expression of `expr`. ValueError if it holds min, max, or a product of coordinates."""
    total: ir.AffineExpr | None = None
    for monomial, coefficient in sorted(expr.terms, key=lambda term: not term[0]):
        term = _affine_product(expr, monomial, coefficient, context)
        total = term if total is None else ir.AffineExpr.get_add(total, term)
    return ir.AffineConstantExpr.get(0, context) if total is None else total


def _affine_product(
    expr: Expr, monomial: tuple[Atom, ...], coefficient: int, context: ir.Context | None
) -> ir.AffineExpr:
    moving = [atom for atom in monomial if not is_symbolic(atom)]
    if len(moving) > 1:
        raise ValueError(f"'{expr}' is not affine: it multiplies coordinates")
    product: ir.AffineExpr | None = None
    for atom in moving + [atom for atom in monomial if is_symbolic(atom)]:
        factor = _affine_atom(expr, atom, context)
        product = factor if product is None else ir.AffineExpr.get_mul(product, factor)
    number = ir.AffineConstantExpr.get(coefficient, context)
    if product is None:
        return number
    return product if coefficient == 1 else ir.AffineExpr.get_mul(product, number)


def _affine_atom(expr: Expr, atom: Atom, context: ir.Context | None) -> ir.AffineExpr:
    if isinstance(atom, DimVar):
        return ir.AffineDimExpr.get(atom.index, context)
    if isinstance(atom, Sym):
        return ir.AffineSymbolExpr.get(atom.index, context)
    if not isinstance(atom, FloorDiv | Mod):
        raise ValueError(f"'{expr}' is not affine: give '{atom}' a symbol of its own with a rule")
    value, divisor = atom.arguments
    if not is_symbolic(divisor):
        raise ValueError(f"'{expr}' is not affine: it divides by the coordinate expression '{divisor}'")
    combine = ir.AffineExpr.get_floor_div if isinstance(atom, FloorDiv) else ir.AffineExpr.get_mod
    return combine(to_affine(value, context), to_affine(divisor, context))


def is_symbolic(expr: Expr) -> bool:
    """Whether the expression has no coordinates."""
    return not any(isinstance(atom, DimVar) for atom in expr.atoms())


def is_affine(expr: Expr) -> bool:
    """Whether `to_affine` accepts the expression."""
    for monomial, _ in expr.terms:
        if sum(not is_symbolic(atom) for atom in monomial) > 1:
            return False
        for atom in monomial:
            if atom.arguments and not (
                isinstance(atom, FloorDiv | Mod)
                and is_symbolic(atom.arguments[1])
                and all(is_affine(argument) for argument in atom.arguments)
            ):
                return False
    return True


def from_affine(expr: ir.AffineExpr, dims: Sequence[Expr], symbols: Sequence[Expr]) -> Expr:
    """The canonical expression of an affine one, `dims` and `symbols` standing for its dims and symbols."""
    match expr:
        case ir.AffineConstantExpr():
            return const(expr.value)
        case ir.AffineDimExpr():
            return dims[expr.position]
        case ir.AffineSymbolExpr():
            return symbols[expr.position]
    lhs, rhs = (from_affine(side, dims, symbols) for side in (expr.lhs, expr.rhs))
    match expr:
        case ir.AffineAddExpr():
            return lhs + rhs
        case ir.AffineMulExpr():
            return lhs * rhs
        case ir.AffineModExpr():
            return lhs % rhs
        case ir.AffineFloorDivExpr():
            return lhs // rhs
    return -(-lhs // rhs)
