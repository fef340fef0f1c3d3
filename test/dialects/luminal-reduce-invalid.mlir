// RUN: luminal-opt %s --split-input-file --verify-diagnostics

func.func @no_axes(%x: tensor<3x4xf32>) attributes {luminal.symbols = [{name = "s0"}]} {
  // expected-error@+1 {{'luminal.sum_reduce' op needs an attribute 'axes'}}
  %0 = "luminal.sum_reduce"(%x) : (tensor<3x4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @axes_kind(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'luminal.sum_reduce' op attribute 'axes' must be a DenseI64ArrayAttr}}
  %0 = "luminal.sum_reduce"(%x) {axes = 1 : i64} : (tensor<3x4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @empty_axes(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'luminal.max_reduce' op needs at least one axis}}
  %0 = "luminal.max_reduce"(%x) {axes = array<i64>} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @repeated_axis(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'luminal.max_reduce' op axes must be increasing, got [1, 1]}}
  %0 = "luminal.max_reduce"(%x) {axes = array<i64: 1, 1>} : (tensor<3x4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @axis_out_of_range(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'luminal.sum_reduce' op axes [2] are out of range for rank 2}}
  %0 = "luminal.sum_reduce"(%x) {axes = array<i64: 2>} : (tensor<3x4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @result_dims(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'luminal.sum_reduce' op result has dims (4), expected (3)}}
  %0 = "luminal.sum_reduce"(%x) {axes = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sum_of_bool(%x: tensor<3x4xi1>) {
  // expected-error@+1 {{'luminal.sum_reduce' op operand's element type must be f64 or f32 or f16 or bf16 or i64 or i32, got 'i1'}}
  %0 = "luminal.sum_reduce"(%x) {axes = array<i64: 1>} : (tensor<3x4xi1>) -> tensor<3xi1>
  return
}

// -----

// An error in the symbol list shows where the list is needed.
func.func @malformed_symbols(%x: tensor<?xf32, affine_map<()[s0] -> (s0)>>, %y: tensor<?xf32, affine_map<()[s0] -> (s0 mod 10)>>)
    attributes {luminal.symbols = [{name = "n"}]} {
  // expected-error@+1 {{'luminal.add' op entry 0 of 'luminal.symbols' must be named s0, not 'n'}}
  %0 = "luminal.add"(%x, %y) : (tensor<?xf32, affine_map<()[s0] -> (s0)>>, tensor<?xf32, affine_map<()[s0] -> (s0 mod 10)>>) -> tensor<?xf32, affine_map<()[s0] -> (s0)>>
  return
}
