// RUN: luminal-opt %s --split-input-file --verify-diagnostics

func.func @view_out_of_bounds(%x: tensor<3xf32>) {
  // expected-error@+1 {{'luminal.view' op map reads [1, 3] of axis 0, which has size 3}}
  %0 = "luminal.view"(%x) {map = affine_map<(d0) -> (d0 + 1)>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @view_map_dims(%x: tensor<3xf32>) {
  // expected-error@+1 {{'luminal.view' op map has 1 dims, expected 2}}
  %0 = "luminal.view"(%x) {map = affine_map<(d0) -> (d0)>} : (tensor<3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @view_map_results(%x: tensor<3xf32>) {
  // expected-error@+1 {{'luminal.view' op map has 2 results, expected 1}}
  %0 = "luminal.view"(%x) {map = affine_map<(d0) -> (d0, d0)>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @iota_element_type() {
  // expected-error@+1 {{'luminal.iota' op result's element type must be i64, got 'f32'}}
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<3xf32>
  return
}

// -----

func.func @gather_index_shape(%x: tensor<5xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{'luminal.gather' op index 0 has dims (2), expected (3)}}
  %0 = "luminal.gather"(%x, %i) {map = affine_map<(d0, d1) -> (d1)>} : (tensor<5xf32>, tensor<2xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @gather_index_type(%x: tensor<5xf32>, %i: tensor<3xi32>) {
  // expected-error@+1 {{'luminal.gather' op element type of index 0 must be i64, got 'i32'}}
  %0 = "luminal.gather"(%x, %i) {map = affine_map<(d0, d1) -> (d1)>} : (tensor<5xf32>, tensor<3xi32>) -> tensor<3xf32>
  return
}

// -----

func.func @scatter_mode(%x: tensor<5xf32>, %u: tensor<3xf32>) {
  // expected-error@+1 {{'luminal.scatter' op mode must be "set" or "add", got "max"}}
  %0 = "luminal.scatter"(%x, %u) {map = affine_map<(d0) -> (d0)>, mode = "max"} : (tensor<5xf32>, tensor<3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @scatter_result(%x: tensor<5xf32>, %u: tensor<3xf32>) {
  // expected-error@+1 {{'luminal.scatter' op result type differs from the base's: 'tensor<5xf32>' and 'tensor<3xf32>'}}
  %0 = "luminal.scatter"(%x, %u) {map = affine_map<(d0) -> (d0)>, mode = "set"} : (tensor<5xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @different_symbols(%x: tensor<?xf32, affine_map<()[s0, s1] -> (s0)>>, %y: tensor<?xf32, affine_map<()[s0, s1] -> (s1)>>) {
  // expected-error@+1 {{'luminal.add' op operand types differ}}
  %0 = "luminal.add"(%x, %y) : (tensor<?xf32, affine_map<()[s0, s1] -> (s0)>>, tensor<?xf32, affine_map<()[s0, s1] -> (s1)>>) -> tensor<?xf32, affine_map<()[s0, s1] -> (s0)>>
  return
}
