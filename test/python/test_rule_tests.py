"""Every rewrite rule has a test: written ones in test/passes/eqsat-*.mlir, generated ones here."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from luminal.dialects.luminal import Luminal
from luminal.dialects.scalar_ops import SCALAR_FUNCTIONS
from luminal.passes.eqsat.constants import exact_reciprocal_key, reciprocal_key
from luminal.passes.eqsat.index_table import MAX_INDICES, IndexTable
from luminal.passes.eqsat.saturate import Saturation
from luminal.passes.eqsat.terms import FAMILIES, camel, prelude, rule_names, rule_text, split_commands

LIT = Path(__file__).resolve().parent.parent / "passes"
GENERATED = {f"{fact}-{name}" for fact in ("static", "constant") for name in SCALAR_FUNCTIONS}
LIFTED = {f"lift-{op.OPERATION_NAME.removeprefix('luminal.')}" for op in Luminal.operations} - {
    "lift-gather",
    "lift-scatter",
}
INDEXED = {f"lift-{kind}-{count}" for kind in ("gather", "scatter") for count in range(MAX_INDICES + 1)}


def names(commands: tuple[str, ...] | list[str]) -> list[str]:
    return [found[1] for c in commands if (found := re.search(r':name\s+"([^"]+)"\)$', c))]


def sections() -> dict[str, list[str]]:
    """Rule name -> the tests that claim it: the text from its `RULE:` line to the end of the function."""
    found: dict[str, list[str]] = {}
    for file in LIT.glob("eqsat-*.mlir"):
        for section in file.read_text().split("\n}\n"):
            for name in re.findall(r"// RULE: (\S+)", section):
                found.setdefault(name, []).append(section)
    return found


def test_every_written_rule_has_a_lit_test_that_it_fires() -> None:
    tested = sections()
    written = [name for family in FAMILIES for name in names(split_commands(rule_text(family)))]
    assert set(written) | GENERATED | {n for n in rule_names() if "gather" in n} >= set(rule_names())
    missing = [name for name in rule_names() if name not in GENERATED and name not in tested]
    assert not missing, f"no `// RULE: name` in test/passes/eqsat-*.mlir for {', '.join(missing)}"
    for name, texts in tested.items():
        assert name in rule_names(), f"a test names the rule {name}, which is none"
        for text in texts:
            assert f'// CHECK-SAME: "{name}"' in text, f"the test of {name} does not check that it fires"


def test_every_rule_has_a_name_of_its_own() -> None:
    rules = [c for c in prelude() if c.startswith("(rule ")]
    found = names(rules)
    assert len(found) == len(rules) == len(set(found))
    constants = set(names(split_commands(rule_text("constants"))))
    assert set(found) - set(rule_names()) - constants - GENERATED == LIFTED | INDEXED


@pytest.mark.parametrize("name", SCALAR_FUNCTIONS)
def test_facts_pass_through_every_scalar_function(saturation: Saturation, name: str) -> None:
    """A function of weights is static, one of constants constant; an input makes it neither."""
    arity = SCALAR_FUNCTIONS[name].arity
    constructor = camel(name)
    constants = " ".join(f'(Const "f32" "{k}.5")' for k in range(arity))
    weights = " ".join(f"(Load (Argument {k}))" for k in range(arity))
    mixed = " ".join(["(Load (Argument 9))", *[f"(Load (Argument {k}))" for k in range(1, arity)]])
    check = [f"(constant ({constructor} {constants}))", f"(static ({constructor} {weights}))"]
    saturation.run(
        [
            *(f"(weight (Argument {k}))" for k in range(arity)),
            *(f"({constructor} {operands})" for operands in (constants, weights, mixed)),
            "(run-schedule (saturate (seq (run constants) (run contractions))))",
            *(f"(check {fact})" for fact in check),
            f"(fail (check (static ({constructor} {mixed}))))",
            f"(fail (check (constant ({constructor} {weights}))))",
        ]
    )


@pytest.fixture
def saturation() -> Saturation:
    return Saturation(IndexTable())


@pytest.mark.parametrize("count", range(MAX_INDICES + 1))
def test_indexed_primitives_are_lifted(saturation: Saturation, count: int) -> None:
    indices = " ".join(f"(Argument {k + 2})" for k in range(count))
    loads = " ".join(f"(Load (Argument {k + 2}))" for k in range(count))
    gather = f'(LGather{count} "g" (Argument 0) {indices})'
    scatter = f'(LScatter{count} "add" "m" (Argument 0) (Argument 1) {indices})'
    saturation.run(
        [
            f"(set (value 0) {gather})",
            f"(set (value 1) {scatter})",
            '(set (shape (value 0)) "s")',
            "(run lift 1)",
            f'(check (= (value 0) (Region "s" (Gather{count} "g" (Load (Argument 0)) {loads}))))',
            f'(check (= (value 1) (Scatter{count} "add" "m" (Argument 0) (Load (Argument 1)) {loads})))',
        ]
    )


def test_reciprocals_of_constants() -> None:
    assert reciprocal_key("f32", "3.0") == repr(float(np.float32(1) / np.float32(3)))
    assert reciprocal_key("f32", "0.0") is None
    assert reciprocal_key("f32", "inf") is None
    assert reciprocal_key("f32", "nan") is None
    assert reciprocal_key("i64", "2") is None
    assert exact_reciprocal_key("f32", "8.0") == "0.125"
    assert exact_reciprocal_key("bf16", "-0.5") == "-2.0"
    assert exact_reciprocal_key("f32", "3.0") is None
    assert exact_reciprocal_key("f32", repr(2.0**-140)) is None
    assert exact_reciprocal_key("f16", repr(2.0**15)) == repr(2.0**-15)
