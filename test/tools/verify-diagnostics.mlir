// RUN: luminal-opt %s --split-input-file --verify-diagnostics

// expected-error@+2 {{use of undeclared SSA value name}}
func.func @undeclared() -> i32 {
  return %x : i32
}

// -----

func.func @count() -> i32 {
  return // expected-error {{has 0 operands, but enclosing function (@count) returns 1}}
  // expected-note@-1 {{see current operation}}
}

// -----

func.func @pattern() -> i32 {
  // expected-error-re@below {{has {{[0-9]+}} operands, but enclosing {{f.*n}} (@pattern)}}
  return
}

// -----

func.func @fine() {
  return
}
