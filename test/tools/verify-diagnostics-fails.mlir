// RUN: not luminal-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK: verify-diagnostics-fails.mlir:6:3: error: unexpected error: 'func.return' op has 0 operands
// CHECK: verify-diagnostics-fails.mlir:5: error: expected error "something else" was not produced
func.func @wrong() -> i32 { // expected-error@+1 {{something else}}
  return
}

// -----

// CHECK: verify-diagnostics-fails.mlir:12: error: expected warning "never comes" was not produced
// expected-warning@+1 {{never comes}}
func.func @fine() {
  return
}
