"""A text builder for one CPU kernel: fresh names, pooled constants, and scopes that code is hoisted out of.

Kernels are written as MLIR text in the `arith`, `math`, `vector`, `scf` and `llvm` dialects, which parses
faster
than the same ops build through bindings. A `Scope` is a straight piece of code (a loop body, say) that
collects its
lines and hands them to its parent when it is closed. Until then, code may still be added to the parent, and
comes to
stand *before* the scope: that is how a value is put at the shallowest loop that knows its indices.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...dialects.symbolic import DimVar, Expr
from .abi import ENTRY, SIGNATURE
from .target import Target, host_target

Names = tuple[str, ...]
"""SSA names of one value: one name if it is a scalar, one per vector of the unrolled vector loop otherwise.
"""

COMPUTE = {"f64": "f64", "f32": "f32", "f16": "f32", "bf16": "f32", "i64": "i64", "i32": "i32", "i1": "i1"}
"""The type a scalar of each dtype has inside a kernel. Half types are f32 values that a half can hold."""

MEMORY = {"f64": "f64", "f32": "f32", "f16": "f16", "bf16": "i16", "i64": "i64", "i32": "i32", "i1": "i8"}
"""The type of an element of each dtype in memory."""

BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i1": 1}


def type_text(element: str, lanes: int) -> str:
    """`element` itself, or a vector of `lanes` of it; 0 lanes mean a scalar."""
    return f"vector<{lanes}x{element}>" if lanes else element


@dataclass(frozen=True)
class VectorLoop:
    """How a loop is vectorised: `count` vectors of `lanes` consecutive values of `atom` at once.

    mask: name of a `vector<lanes x i1>` that is true where a lane is inside the loop's range, None if all
    are.
    aligned: the first index of each vector is a multiple of `lanes`.
    """

    atom: DimVar
    lanes: int
    count: int
    mask: str | None = None
    aligned: bool = False


class Scope:
    """A straight piece of code under construction; see the module's text."""

    def __init__(self, kernel: Kernel, parent: Scope | None) -> None:
        self.kernel = kernel
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.lines: list[str] = []
        self.own: set[DimVar] = set()
        self.bound: dict[DimVar, Names] = dict(parent.bound) if parent is not None else {}
        self.vector: VectorLoop | None = parent.vector if parent is not None else None
        self.values: dict[Hashable, Names] = {}

    def emit(self, line: str) -> None:
        """Append a line of MLIR."""
        self.lines.append(line)

    def assign(self, text: str) -> str:
        """Append `%new = text` and return the new name."""
        name = self.kernel.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    def child(self) -> Scope:
        """A scope whose lines are added to this one by `close`."""
        return Scope(self.kernel, self)

    def close(self) -> None:
        """Hand the lines to the parent."""
        assert self.parent is not None
        self.parent.lines.extend(self.lines)

    def bind(self, atom: DimVar, name: str) -> None:
        """Give an index its value, an i64 scalar."""
        self.own.add(atom)
        self.bound[atom] = (name,)

    def bind_vector(
        self,
        atom: DimVar,
        names: Sequence[str],
        lanes: int,
        mask: str | None = None,
        aligned: bool = False,
    ) -> None:
        """Give an index `len(names)` vectors of consecutive values; `names` are the first of each, i64
        scalars.
        """
        self.own.add(atom)
        self.bound[atom] = tuple(names)
        self.vector = VectorLoop(atom, lanes, len(names), mask, aligned)

    def define(self, key: Hashable, names: Sequence[str]) -> None:
        """Give a node a value that is computed elsewhere (an accumulator)."""
        self.values[key] = tuple(names)

    def find(self, key: Hashable) -> Names | None:
        """The value of a key in this scope or in one around it."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.values.get(key)
            if found is not None:
                return found
            scope = scope.parent
        return None

    def home(self, dependences: frozenset[DimVar]) -> Scope:
        """The outermost scope around (or equal to) this one that knows all these indices."""
        scope = self
        while scope.parent is not None and scope.own.isdisjoint(dependences):
            scope = scope.parent
        return scope

    def vector_for(self, dependences: frozenset[DimVar]) -> VectorLoop | None:
        """The vector loop that a value with these dependences is vectorised by, if any."""
        return self.vector if self.vector is not None and self.vector.atom in dependences else None

    def loop(self, lower: str, upper: str, step: str, carried: Sequence[tuple[str, str]] = ()) -> LoopScope:
        """A counted loop over i64 with (initial value, type) pairs carried from one iteration to the next."""
        return LoopScope(self, lower, upper, step, carried)


class LoopScope(Scope):
    """The body of an `scf.for`. `index` and `arguments` are its block arguments."""

    def __init__(
        self, parent: Scope, lower: str, upper: str, step: str, carried: Sequence[tuple[str, str]]
    ) -> None:
        super().__init__(parent.kernel, parent)
        self.index = self.kernel.fresh()
        self.arguments = [self.kernel.fresh() for _ in carried]
        self._bounds = (lower, upper, step)
        self._carried = list(carried)

    def close_loop(self, yields: Sequence[str] = ()) -> list[str]:
        """End the body, carrying `yields` on; returns the names of the loop's results."""
        parent = self.parent
        assert parent is not None and len(yields) == len(self._carried)
        lower, upper, step = self._bounds
        head = f"scf.for {self.index} = {lower} to {upper} step {step}"
        if not yields:
            parent.lines += [f"{head} : i64 {{", *self.lines, "}"]
            return []
        types = ", ".join(kind for _, kind in self._carried)
        pairs = zip(self.arguments, self._carried, strict=True)
        initial = ", ".join(f"{name} = {start}" for name, (start, _) in pairs)
        result = self.kernel.fresh()
        parent.lines += [
            f"{result}:{len(yields)} = {head} iter_args({initial}) -> ({types}) : i64 {{",
            *self.lines,
            f"scf.yield {', '.join(yields)} : {types}",
            "}",
        ]
        return [f"{result}#{k}" for k in range(len(yields))]


@dataclass
class Kernel:
    """One kernel function under construction."""

    target: Target = field(default_factory=host_target)

    def __post_init__(self) -> None:
        self._counter = 0
        self._constants: dict[tuple[str, int, int | float | str], str] = {}
        self._head: list[str] = []
        self.functions: dict[str, str] = {}
        self.pointers: dict[Hashable, str] = {}
        self.index_nodes: dict[DimVar, Hashable] = {}
        self.scratch: list[Expr] = []
        self.root = Scope(self, None)

    def fresh(self) -> str:
        """A new SSA name."""
        self._counter += 1
        return f"%v{self._counter}"

    def constant(self, element: str, value: float | int, lanes: int = 0) -> str:
        """A pooled constant of type `element`, splat over `lanes` if not 0. Booleans are i1 integers."""
        if element == "f32":
            literal = f"0x{int(np.float32(value).view(np.uint32)):08X}"
        elif element == "f64":
            literal = f"0x{int(np.float64(value).view(np.uint64)):016X}"
        elif element == "i1":
            literal = "true" if value else "false"
        else:
            literal = str(int(value))
        key = (element, lanes, literal)
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = f"%c{len(self._constants)}"
            body = f"dense<{literal}> : {type_text(element, lanes)}" if lanes else literal
            if not lanes and element != "i1":
                body += f" : {element}"
            self._head.append(f"{name} = arith.constant {body}")
        return name

    def index_constant(self, value: int) -> str:
        """An i64 constant."""
        return self.constant("i64", value)

    def steps(self, element: str, lanes: int) -> str:
        """The vector 0, 1, 2, ... of integers."""
        key = (element, lanes, "steps")
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = f"%c{len(self._constants)}"
            values = ", ".join(map(str, range(lanes)))
            self._head.append(f"{name} = arith.constant dense<[{values}]> : {type_text(element, lanes)}")
        return name

    def bind_tensor(self, tensor: Hashable, pointer: str) -> None:
        """Tell where a tensor's first element is."""
        self.pointers[tensor] = pointer

    def load_pointer(self, position: int) -> str:
        """Entry `position` of the array of buffers."""
        return self._entry("%bufs", position, "!llvm.ptr")

    def symbol(self, position: int) -> str:
        """Value of symbol `position`."""
        return self._entry("%syms", position, "i64")

    def _entry(self, base: str, position: int, kind: str) -> str:
        key = (base, position, kind)
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = f"%c{len(self._constants)}"
            address = f"{name}p"
            self._head.append(
                f"{address} = llvm.getelementptr {base}[{position}] : (!llvm.ptr) -> !llvm.ptr, i64"
            )
            self._head.append(f"{name} = llvm.load {address} : !llvm.ptr -> {kind}")
        return name

    def render(self, name: str = ENTRY) -> str:
        """The text of the function and of the helpers it calls."""
        lines = [*self.functions.values(), f"func.func @{name}({SIGNATURE}) {{"]
        return "\n".join([*lines, *self._head, *self.root.lines, "return", "}"]) + "\n"
