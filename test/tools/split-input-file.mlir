// RUN: luminal-opt %s --split-input-file | filecheck %s
// A part that fails is reported with its line in the whole file, and nothing is written.
// RUN: rm -f %t.mlir
// RUN: not luminal-opt %s --split-input-file --allow-unregistered-dialect --convert-scf-to-cf --pass-pipeline=x -o %t.mlir
// RUN: not cat %t.mlir

// CHECK-LABEL: func.func @same
func.func @same() {
  return
}

// -----
// CHECK: // -----
// CHECK-LABEL: func.func @same
func.func @same() {
  return
}
