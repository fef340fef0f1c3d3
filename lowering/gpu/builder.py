"""Writes `arith`, `scf`, `memref` and `gpu` ops, and index arithmetic from symbolic expressions.

Nothing is folded or shared here: canonicalization and CSE run over the finished kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count

from ...dialects.mlir import ir, scf
from ...dialects.symbolic import Atom, DimVar, Expr, FloorDiv, Min, Mod, is_nonnegative
from ...dialects.types import scalar_type

_COMPARE_INT = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5, "ult": 6}
_COMPARE_FLOAT = {"oeq": 1, "ogt": 2, "oge": 3, "olt": 4, "ole": 5, "une": 13, "uno": 14}


class Builder:
    """`atoms` gives the SSA value of each symbol and coordinate that an index expression may use."""

    def __init__(self) -> None:
        self.atoms: dict[Atom, ir.Value] = {}
        # Coordinates made here must not be mistaken for those of the kernel's own maps.
        self._fresh = count(1 << 20)

    # -- ops --------------------

    def op(
        self,
        name: str,
        operands: Sequence[ir.Value],
        result: ir.Type | None = None,
        attributes: Mapping[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """An op of no or one result; `result` defaults to the type of the first operand."""
        type_ = operands[0].type if result is None else result
        created = ir.Operation.create(name, [type_], list(operands), attributes=dict(attributes or {}))
        return created.results[0]

    def effect(
        self, name: str, operands: Sequence[ir.Value], attributes: Mapping[str, ir.Attribute] | None = None
    ) -> None:
        """An op without results."""
        ir.Operation.create(name, [], list(operands), attributes=dict(attributes or {}))

    def constant(self, value: int | float, type_: ir.Type | str) -> ir.Value:
        """A constant of an integer, index or float type."""
        type_ = scalar_type(type_) if isinstance(type_, str) else type_
        if isinstance(type_, ir.IntegerType | ir.IndexType):
            attribute: ir.Attribute = ir.IntegerAttr.get(type_, int(value))
        else:
            attribute = ir.FloatAttr.get(type_, float(value))
        return self.op("arith.constant", [], type_, {"value": attribute})

    def index(self, value: int) -> ir.Value:
        """An index constant."""
        return self.constant(value, ir.IndexType.get())

    def compare(self, predicate: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        """`arith.cmpi` or `arith.cmpf`, by the predicate's name."""
        floats = predicate in _COMPARE_FLOAT
        number = (_COMPARE_FLOAT if floats else _COMPARE_INT)[predicate]
        attribute = ir.IntegerAttr.get(scalar_type("i64"), number)
        name = "arith.cmpf" if floats else "arith.cmpi"
        return self.op(name, [lhs, rhs], scalar_type("i1"), {"predicate": attribute})

    def select(self, condition: ir.Value, if_true: ir.Value, if_false: ir.Value) -> ir.Value:
        """`arith.select`."""
        return self.op("arith.select", [condition, if_true, if_false], if_true.type)

    def all_of(self, conditions: Sequence[ir.Value]) -> ir.Value | None:
        """Conjunction; None if there are no conditions."""
        result: ir.Value | None = None
        for condition in conditions:
            result = condition if result is None else self.op("arith.andi", [result, condition])
        return result

    def cast_index(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        """Between `index` and integers."""
        return value if value.type == type_ else self.op("arith.index_cast", [value], type_)

    # -- control flow --------------------

    def loop(
        self,
        start: ir.Value,
        stop: ir.Value,
        step: ir.Value,
        carried: Sequence[ir.Value],
        body: Callable[[ir.Value, list[ir.Value]], Sequence[ir.Value]],
    ) -> list[ir.Value]:
        """`scf.for`; `body` gets the counter and the carried values and returns their next values."""
        loop = scf.ForOp(start, stop, step, list(carried))
        with ir.InsertionPoint(loop.body):
            scf.YieldOp(list(body(loop.induction_variable, list(loop.inner_iter_args))))
        return list(loop.results)

    def when(self, condition: ir.Value | None, body: Callable[[], None]) -> None:
        """Run `body` where `condition` holds (None: always)."""
        if condition is None:
            body()
            return
        branch = scf.IfOp(condition)
        with ir.InsertionPoint(branch.then_block):
            body()
            scf.YieldOp([])

    def choose(
        self,
        condition: ir.Value | None,
        then: Callable[[], ir.Value],
        otherwise: Callable[[], ir.Value],
        type_: ir.Type,
    ) -> ir.Value:
        """The value of `then` where `condition` holds (None: always), else of `otherwise`."""
        if condition is None:
            return then()
        branch = scf.IfOp(condition, [type_], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scf.YieldOp([then()])
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp([otherwise()])
        return branch.results[0]

    # -- index expressions --------------------

    def coordinate(self, value: ir.Value, extent: Expr | None) -> DimVar:
        """A new coordinate whose value is `value`, known to lie in [0, extent)."""
        atom = DimVar(next(self._fresh), extent)
        self.atoms[atom] = value
        return atom

    def expression(self, expr: Expr) -> ir.Value:
        """The index value of an expression over known atoms."""
        total: ir.Value | None = None
        for monomial, coefficient in sorted(expr.terms, key=lambda term: not term[0]):
            term: ir.Value | None = None
            for atom in monomial:
                factor = self._atom(atom)
                term = factor if term is None else self.op("arith.muli", [term, factor])
            if term is None:
                term = self.index(coefficient)
            elif coefficient != 1:
                term = self.op("arith.muli", [term, self.index(coefficient)])
            total = term if total is None else self.op("arith.addi", [total, term])
        return self.index(0) if total is None else total

    def _atom(self, atom: Atom) -> ir.Value:
        known = self.atoms.get(atom)
        if known is not None:
            return known
        if not atom.arguments:
            raise KeyError(f"coordinate '{atom}' has no value")
        first, *others = (self.expression(argument) for argument in atom.arguments)
        if isinstance(atom, FloorDiv | Mod):
            plain = all(is_nonnegative(argument) for argument in atom.arguments)
            return self._divide(isinstance(atom, FloorDiv), plain, first, others[0])
        for other in others:
            first = self.op("arith.minsi" if isinstance(atom, Min) else "arith.maxsi", [first, other])
        return first

    def _divide(self, quotient: bool, plain: bool, value: ir.Value, divisor: ir.Value) -> ir.Value:
        if plain:
            return self.op("arith.divui" if quotient else "arith.remui", [value, divisor])
        # Truncating division, corrected where the remainder's sign is not the divisor's.
        rest = self.op("arith.remsi", [value, divisor])
        zero = self.index(0)
        differs = self.compare("slt", self.op("arith.xori", [rest, divisor]), zero)
        wrong = self.op("arith.andi", [differs, self.compare("ne", rest, zero)])
        if not quotient:
            return self.select(wrong, self.op("arith.addi", [rest, divisor]), rest)
        truncated = self.op("arith.divsi", [value, divisor])
        return self.select(wrong, self.op("arith.subi", [truncated, self.index(1)]), truncated)

    def in_range(self, expr: Expr, extent: Expr) -> list[ir.Value]:
        """The comparisons that `0 <= expr < extent` still needs: none, if it is proved."""
        conditions = []
        value = self.expression(expr)
        if not is_nonnegative(expr):
            conditions.append(self.compare("sge", value, self.index(0)))
        if not is_nonnegative(extent - expr - 1):
            conditions.append(self.compare("slt", value, self.expression(extent)))
        return conditions
