"""Tables from op to Metal text: `{0}` is the first operand, `{r}` the result type, `{u}` unsigned."""

from __future__ import annotations

from collections.abc import Mapping

EXPRESSIONS: Mapping[str, str] = {
    "arith.addf": "{0} + {1}",
    "arith.subf": "{0} - {1}",
    "arith.mulf": "{0} * {1}",
    "arith.divf": "{0} / {1}",
    "arith.negf": "-{0}",
    # Signed overflow is undefined in C++: wrap in the unsigned type.
    "arith.addi": "({r})(({u}){0} + ({u}){1})",
    "arith.subi": "({r})(({u}){0} - ({u}){1})",
    "arith.muli": "({r})(({u}){0} * ({u}){1})",
    "arith.divui": "({r})(({u}){0} / ({u}){1})",
    "arith.remui": "({r})(({u}){0} % ({u}){1})",
    "arith.divsi": "{0} / {1}",
    "arith.remsi": "{0} % {1}",
    "arith.minsi": "{0} < {1} ? {0} : {1}",
    "arith.maxsi": "{0} > {1} ? {0} : {1}",
    "arith.andi": "{0} & {1}",
    "arith.ori": "{0} | {1}",
    "arith.xori": "{0} ^ {1}",
    "arith.shli": "({r})(({u}){0} << {1})",
    "arith.shrui": "({r})(({u}){0} >> {1})",
    "arith.shrsi": "{0} >> {1}",
    "arith.select": "{0} ? {1} : {2}",
    "arith.bitcast": "as_type<{r}>({0})",
    "arith.extf": "({r}){0}",
    "arith.truncf": "({r}){0}",
    "arith.sitofp": "({r}){0}",
    "arith.uitofp": "({r})({u0}){0}",
    "arith.fptosi": "({r}){0}",
    "arith.extsi": "({r}){0}",
    "arith.extui": "({r})({u0}){0}",
    "arith.index_cast": "({r}){0}",
    "math.absf": "fabs({0})",
    "math.floor": "floor({0})",
    "math.fma": "fma({0}, {1}, {2})",
    "math.sqrt": "precise::sqrt({0})",
    "math.exp": "precise::exp({0})",
    "math.exp2": "precise::exp2({0})",
    "math.log": "precise::log({0})",
    "math.log2": "precise::log2({0})",
    "math.sin": "precise::sin({0})",
    "math.cos": "precise::cos({0})",
    "math.tanh": "precise::tanh({0})",
    "math.erf": "luminal_erf({0})",
    "gpu.thread_id": "(long)thread_position.x",
    "gpu.block_id": "(long)block_position.x",
    "gpu.shuffle": "simd_shuffle_xor({0}, (ushort){1})",
    "memref.load": "{0}[{1}]",
}

INDEX_EXPRESSIONS: Mapping[str, str] = {
    "arith.addi": "{0} + {1}",
    "arith.subi": "{0} - {1}",
    "arith.muli": "{0} * {1}",
    "arith.divui": "{0} / {1}",
    "arith.remui": "{0} % {1}",
}
"""For indices, which do not overflow and are not negative where they are divided as unsigned."""

STATEMENTS: Mapping[str, str] = {
    "gpu.barrier": "threadgroup_barrier(mem_flags::mem_threadgroup);",
    "memref.store": "{1}[{2}] = {0};",
}

COMPARE_INT = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
"""By predicate number; from 6 on the operands are unsigned."""

COMPARE_FLOAT = (
    "false",
    "{0} == {1}",
    "{0} > {1}",
    "{0} >= {1}",
    "{0} < {1}",
    "{0} <= {1}",
    "{0} < {1} || {0} > {1}",
    "{0} == {0} && {1} == {1}",
    "!({0} < {1} || {0} > {1})",
    "!({0} <= {1})",
    "!({0} < {1})",
    "!({0} >= {1})",
    "!({0} > {1})",
    "{0} != {1}",
    "{0} != {0} || {1} != {1}",
    "true",
)
"""By predicate number: ordered comparisons are false for NaN, unordered ones true."""

PRELUDE = """\
// Made by luminal. Compile with fast math off: NaN and infinities are part of the results.
#include <metal_stdlib>
using namespace metal;
"""

ERF = """
// erf: its Taylor series up to 1, from the complement beyond (Abramowitz and Stegun 7.1.26).
inline float luminal_erf(float x) {
  const float size = fabs(x), square = x * x;
  float series = 0.0f;
  for (int n = 12; n > 0; --n) {
    const float k = (float)n;
    series = (1.0f / (2.0f * k + 1.0f) + series) * -square / k;
  }
  const float small = 1.1283791670955126f * x * (1.0f + series);
  const float t = 1.0f / (1.0f + 0.3275911f * size);
  const float tail = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f
      + t * (-1.453152027f + t * 1.061405429f))));
  const float large = 1.0f - tail * precise::exp(-square);
  return size > 1.0f ? (x < 0.0f ? -large : large) : small;
}
"""
