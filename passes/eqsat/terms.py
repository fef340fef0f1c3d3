"""The e-graph's sorts, generated from the op definitions: adding a primitive or a scalar function needs no
edit here.

Two sorts mirror the two levels. `Tensor` holds L1 ops (one constructor per `luminal` op, attributes as
strings) and the L2 ways to produce a
tensor (Region, Scatter, Panel). `Expr` is a scalar as a function of coordinates: what a region evaluates.
`Load t` reads a tensor.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from ...dialects.luminal import Luminal
from ...dialects.scalar_ops import SCALAR_FUNCTIONS
from .index_table import MAX_INDICES

FAMILIES = (
    "scatters",
    "regions",
    "views",
    "indices",
    "algebra",
    "recognition",
    "contractions",
    "attention",
    "fast_math",
)

_STRUCTURE = """
(sort Tensor)
(sort Expr)
(constructor Argument (i64) Tensor)
(constructor CallResult (i64 i64) Tensor)
(constructor Region (String Expr) Tensor)
(constructor Panel (String i64 Expr) Tensor)
(constructor Load (Tensor) Expr)
(constructor View (String Expr) Expr)
(constructor Index (String) Expr)
(constructor Const (String String) Expr)
(constructor Cast (String Expr) Expr)
(constructor Insert (String String Expr Expr) Expr)
(constructor Reduce (String String Expr) Expr)
(constructor Contract (String Tensor Tensor) Expr)
(constructor ContractPacked (String Tensor Tensor) Expr)
(constructor ScheduledContract (String String Tensor Tensor) Expr)
(constructor ScheduledContractPacked (String String Tensor Tensor) Expr)
(relation schedule (String String))
(relation panel-schedule (String i64 String))
(constructor Softmax (String String Expr) Expr)
(constructor SoftmaxOrZero (String String Expr) Expr)
(constructor Stream (String String Expr Tensor) Expr)
(function value (i64) Tensor :no-merge)
(function shape (Tensor) String :no-merge)
(relation weight (Tensor))
(relation half (Tensor))
(relation element-type (Tensor String))
(relation total-order (String))
(function identity-map (String) String :no-merge)
(relation insertable (String))
(relation plane (String i64))
(relation plane-select (String))
(relation pair-axis (String))
(relation packable (String i64))
(relation compose-wanted (String String))
(function compose (String String) String :no-merge)
(relation index-sum-wanted (String String))
(function index-sum (String String) String :no-merge)
(relation index-shift-wanted (String String))
(function index-shift (String String) String :no-merge)
(relation index-scale-wanted (String String))
(function index-scale (String String) String :no-merge)
(relation index-less-wanted (String String))
(function index-less (String String) String :no-merge)
(relation reciprocal-wanted (String String))
(function reciprocal (String String) String :no-merge)
(relation exact-reciprocal-wanted (String String))
(function exact-reciprocal (String String) String :no-merge)
(relation contraction-wanted (String String String))
(function contraction (String String String) String :no-merge)
(relation streams-wanted (String String String))
(function streams (String String String) String :no-merge)
(relation softmax-of (Expr String String Expr String))
(relation weighs (Expr String String String Expr String))
(relation reads (Expr String Tensor))
(relation reads-wide (Expr String Tensor))
(relation static (Expr))
(relation constant (Expr))
(relation number (String String String))
(ruleset lift)
"""

_LIFT = """
(rule ((= t (LSumReduce axes x)) (= s (shape t))) ((union t (Region s (Reduce "sum" axes (Load x)))))
      :ruleset lift :name "lift-sum_reduce")
(rule ((= t (LMaxReduce axes x)) (= s (shape t))) ((union t (Region s (Reduce "max" axes (Load x)))))
      :ruleset lift :name "lift-max_reduce")
(rule ((= t (LCast d x)) (= s (shape t))) ((union t (Region s (Cast d (Load x))))) :ruleset lift :name
"lift-cast")
(rule ((= t (LView m x)) (= s (shape t))) ((union t (Region s (View m (Load x))))) :ruleset lift :name
"lift-view")
(rule ((= t (LIota m)) (= s (shape t))) ((union t (Region s (Index m)))) :ruleset lift :name "lift-iota")
(rule ((= t (LConstant d v)) (= s (shape t))) ((union t (Region s (Const d v)))) :ruleset lift :name
"lift-constant")
"""


def camel(name: str) -> str:
    """`less_than` -> `LessThan`: the constructor of a scalar function; an L1 op's has an `L` in front."""
    return "".join(part.capitalize() for part in name.split("_"))


@cache
def scalar_constructors() -> dict[str, str]:
    """Constructor name to scalar function name."""
    return {camel(name): name for name in SCALAR_FUNCTIONS}


def _scalar_program() -> list[str]:
    lines = []
    for constructor, name in scalar_constructors().items():
        arity = SCALAR_FUNCTIONS[name].arity
        names = [f"x{i}" for i in range(arity)]
        lines.append(f"(constructor {constructor} ({' '.join(['Expr'] * arity)}) Expr)")
        for fact, ruleset in (("static", "contractions"), ("constant", "constants")):
            facts = " ".join(f"({fact} {x})" for x in names)
            lines.append(
                f"(rule ((= e ({constructor} {' '.join(names)})) {facts}) (({fact} e)) "
                f':ruleset {ruleset} :name "{fact}-{name}")'
            )
    return lines


def _primitive_program() -> list[str]:
    """Constructors and lifting rules of the L1 ops."""
    lines = []
    for name in (op.OPERATION_NAME.removeprefix("luminal.") for op in Luminal.operations):
        constructor = "L" + camel(name)
        if name in SCALAR_FUNCTIONS and name != "cast":
            arity = SCALAR_FUNCTIONS[name].arity
            xs = [f"x{i}" for i in range(arity)]
            loads = " ".join(f"(Load {x})" for x in xs)
            lines.append(f"(constructor {constructor} ({' '.join(['Tensor'] * arity)}) Tensor)")
            lines.append(
                f"(rule ((= t ({constructor} {' '.join(xs)})) (= s (shape t))) "
                f'((union t (Region s ({camel(name)} {loads})))) :ruleset lift :name "lift-{name}")'
            )
        elif name in ("gather", "scatter"):
            lines += [line for n in range(MAX_INDICES + 1) for line in _indexed(name, constructor, n)]
        else:
            lines.append(f"(constructor {constructor} {_SIGNATURES[name]} Tensor)")
    return lines + [_LIFT]


_SIGNATURES = {
    "sum_reduce": "(String Tensor)",
    "max_reduce": "(String Tensor)",
    "cast": "(String Tensor)",
    "view": "(String Tensor)",
    "iota": "(String)",
    "constant": "(String String)",
}


def _indexed(name: str, constructor: str, count: int) -> list[str]:
    xs = " ".join(f"x{i}" for i in range(count))
    loads = " ".join(f"(Load x{i})" for i in range(count))
    tensors = " ".join(["Tensor"] * count)
    exprs = " ".join(["Expr"] * count)
    if name == "gather":
        return _gather_of_iotas(count) + [
            f"(constructor {constructor}{count} (String Tensor {tensors}) Tensor)",
            f"(constructor Gather{count} (String Expr {exprs}) Expr)",
            f"(rule ((= t ({constructor}{count} m source {xs})) (= s (shape t))) "
            f"((union t (Region s (Gather{count} m (Load source) {loads})))) "
            f':ruleset lift :name "lift-gather-{count}")',
        ]
    return [
        f"(constructor {constructor}{count} (String String Tensor Tensor {tensors}) Tensor)",
        f"(constructor Scatter{count} (String String Tensor Expr {exprs}) Tensor)",
        f"(rule ((= t ({constructor}{count} mode m base u {xs}))) "
        f"((union t (Scatter{count} mode m base (Load u) {loads}))) "
        f':ruleset lift :name "lift-scatter-{count}")',
    ]


def _gather_of_iotas(count: int) -> list[str]:
    """A gather at affine positions that lie inside the source is a view."""
    if count == 0:
        return []
    strings = " ".join(["String"] * (count + 1))
    ms = " ".join(f"m{i}" for i in range(count))
    gather = f"(Gather{count} g x {' '.join(f'(Index m{i})' for i in range(count))})"
    return [
        f"(relation gather-view-wanted-{count} ({strings}))",
        f"(function gather-view-{count} ({strings}) String :no-merge)",
        f"(rule ({gather}) ((gather-view-wanted-{count} g {ms})) "
        f':ruleset indices :name "want-gather-view-{count}")',
        f"(rule ((= e {gather}) (= c (gather-view-{count} g {ms}))) ((union e (View c x))) "
        f':ruleset indices :name "gather-of-iotas-{count}")',
    ]


@cache
def rule_text(family: str) -> str:
    """The text of one rule family."""
    return (files(__package__) / "rules" / f"{family}.egg").read_text()


@cache
def prelude() -> tuple[str, ...]:
    """Sorts, constructors and all rules, in chunks that egglog parses cheaply (each span keeps its whole
    source text).
    """
    first = _STRUCTURE.strip().splitlines()
    families = [
        command for family in (*FAMILIES, "constants") for command in split_commands(rule_text(family))
    ]
    rulesets = [c for c in families if c.startswith("(ruleset")]
    rules = [c for c in families if not c.startswith("(ruleset")]
    return tuple(first + rulesets + _flatten(_scalar_program() + _primitive_program()) + rules)


@cache
def rule_names() -> tuple[str, ...]:
    """Names of the rules that may be switched off: those of the families."""
    found = []
    for command in prelude():
        ruleset = command.partition(":ruleset ")[2].partition(" ")[0]
        if command.startswith("(rule ") and ruleset in FAMILIES:
            found.append(command.rpartition(':name "')[2].partition('"')[0])
    return tuple(found)


def _flatten(lines: list[str]) -> list[str]:
    """Constructors first: rules may name any of them."""
    commands = [command for line in lines for command in split_commands(line)]
    return sorted(commands, key=lambda c: c.startswith("(rule "))


def split_commands(text: str) -> list[str]:
    """Top-level s-expressions of an egglog text, comments dropped."""
    commands, depth, start, inside, comment = [], 0, 0, False, False
    for i, ch in enumerate(text):
        if comment:
            comment = ch != "\n"
        elif inside:
            inside = ch != '"'
        elif ch == ";":
            comment = True
        elif ch == '"':
            inside = True
        elif ch == "(":
            if depth == 0:
                start = i
            depth += 1
        elif ch == ")":
            depth -= 1
            if depth == 0:
                commands.append(text[start : i + 1])
    return commands
