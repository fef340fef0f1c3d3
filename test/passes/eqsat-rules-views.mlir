// RUN: luminal-opt %s --luminal-eqsat=record-rules | filecheck %s

// CHECK-DAG: [[COMPOSED:#map[0-9]*]] = affine_map<(d0) -> (-d0 + 60)>
// CHECK-DAG: [[TRIPLE:#map[0-9]*]] = affine_map<(d0) -> (d0 * 3 + 3)>

// RULE: view-of-view
// RULE: want-composition
// A slice of a reversal reads through the composed map.
// CHECK-LABEL: func.func @view_of_view(
// CHECK-SAME: "view-of-view"
// CHECK-SAME: "want-composition"
// CHECK: "kernel.load"({{.*}}) {map = [[COMPOSED]]}
// CHECK: return
func.func @view_of_view(%arg0: tensor<64xf32>, %arg1: tensor<16xf32>) -> tensor<16xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0) -> (63 - d0)>} : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> (d0 + 3)>} : (tensor<64xf32>) -> tensor<16xf32>
  %2 = "luminal.add"(%1, %arg1) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %2 : tensor<16xf32>
}

// RULE: identity-view
// The view of all of x is x.
// CHECK-LABEL: func.func @identity_view(
// CHECK-SAME: "identity-view"
// CHECK-NEXT: return %arg0
func.func @identity_view(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0) -> (d0)>} : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// The first half of x is not x, though the coordinates agree.
// CHECK-LABEL: func.func @prefix(
// CHECK-NOT: "identity-view"
// CHECK-NOT: "copy-is-source"
// CHECK: "kernel.region"
// CHECK: return
func.func @prefix(%arg0: tensor<64xf32>) -> tensor<32xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0) -> (d0)>} : (tensor<64xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// Neither is its transpose.
// CHECK-LABEL: func.func @transposed(
// CHECK-NOT: "identity-view"
// CHECK-NOT: "copy-is-source"
// CHECK: "kernel.region"
// CHECK: return
func.func @transposed(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// RULE: view-of-constant
// A constant is the same at every coordinate.
// CHECK-LABEL: func.func @view_of_constant(
// CHECK-SAME: "view-of-constant"
// CHECK: "kernel.constant"
// CHECK-NOT: "kernel.load"
// CHECK: return
func.func @view_of_constant() -> tensor<4x8xf32> {
  %0 = "luminal.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<4xf32>
  %2 = "luminal.view"(%1) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<4xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// RULE: view-of-cast
// A cast works element by element: the slice of a cast is the cast of the slice.
// CHECK-LABEL: func.func @view_of_cast(
// CHECK-SAME: "view-of-cast"
// CHECK: "kernel.load"
// CHECK: "kernel.cast"
// CHECK: return
func.func @view_of_cast(%arg0: tensor<64xbf16>) -> tensor<32xf32> {
  %0 = "luminal.cast"(%arg0) : (tensor<64xbf16>) -> tensor<64xf32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> (d0 * 2)>} : (tensor<64xf32>) -> tensor<32xf32>
  return %1 : tensor<32xf32>
}

// RULE: view-of-index
// RULE: want-index-composition
// A slice of an iota is an iota.
// CHECK-LABEL: func.func @view_of_index(
// CHECK-SAME: "view-of-index"
// CHECK-SAME: "want-index-composition"
// CHECK: "kernel.index_value"({{.*}}) {map = [[TRIPLE]]}
// CHECK: return
func.func @view_of_index() -> tensor<16xi64> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0 * 3)>} : () -> tensor<64xi64>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> (d0 + 1)>} : (tensor<64xi64>) -> tensor<16xi64>
  return %1 : tensor<16xi64>
}

// A slice of a computed tensor needs no such law: the region is evaluated at the coordinates read.
// CHECK-LABEL: func.func @view_of_sum(
// CHECK-NOT: "view-of-cast"
// CHECK-NOT: "view-of-index"
// CHECK-NOT: "view-of-constant"
// CHECK: "kernel.add"
// CHECK: return
func.func @view_of_sum(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<16xf32> {
  %0 = "luminal.add"(%arg0, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> (d0 + 1)>} : (tensor<64xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
