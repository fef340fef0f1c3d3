// RUN: luminal-opt %s --pass-pipeline='builtin.module(outline-layers,func.func(canonicalize))' --mlir-print-ir-after-all -o /dev/null 2>&1 | filecheck %s --check-prefix=AFTER
// RUN: luminal-opt %s --outline-layers --canonicalize --mlir-print-ir-before-all -o /dev/null 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: luminal-opt %s --outline-layers --mlir-timing -o /dev/null 2>&1 | filecheck %s --check-prefix=TIME
// RUN: luminal-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: luminal-opt %s --mlir-print-debuginfo | filecheck %s --check-prefix=PLACES

// AFTER: IR Dump After outline-layers
// AFTER: arith.addi
// AFTER: IR Dump After CanonicalizerPass
// AFTER-NOT: arith.addi
// BEFORE: IR Dump Before outline-layers
// BEFORE: IR Dump Before CanonicalizerPass
// TIME: Execution time report
// TIME: outline-layers
// GENERIC: "func.func"() <{function_type = (i32) -> i32, sym_name = "f"}>
// PLACES: loc("
func.func @f(%a: i32) -> i32 {
  %c = arith.constant 0 : i32
  %d = arith.addi %a, %c : i32
  return %d : i32
}
