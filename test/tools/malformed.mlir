// Malformed IR is reported with its place; the output file is left as it was.
// RUN: echo before > %t.out
// RUN: not luminal-opt %s -o %t.out 2>&1 | filecheck %s
// RUN: filecheck %s --check-prefix=KEPT < %t.out
// KEPT: before

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: malformed.mlir:11:8: error: op expects exactly 2 operands, but got 1
  // CHECK-NEXT: %y = "luminal.add"
  // CHECK-NEXT: ^
  %y = "luminal.add"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
