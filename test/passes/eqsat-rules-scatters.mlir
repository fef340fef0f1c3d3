// RUN: luminal-opt %s --luminal-eqsat=record-rules | filecheck %s

// RULE: affine-scatter-is-insert
// Inside the window the update, outside the base.
// CHECK-LABEL: func.func @pad(
// CHECK-SAME: "affine-scatter-is-insert"
// CHECK-NOT: "kernel.scatter"
// CHECK: "kernel.load"
// CHECK: "kernel.select"
// CHECK: return
func.func @pad(%arg0: tensor<64xf32>) -> tensor<66xf32> {
  %0 = "luminal.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<66xf32>
  %2 = "luminal.scatter"(%1, %arg0) {map = affine_map<(d0) -> (d0 + 1)>, mode = "set"} : (tensor<66xf32>, tensor<64xf32>) -> tensor<66xf32>
  return %2 : tensor<66xf32>
}

// RULE: affine-scatter-is-insert
// Every second element: the map has an inverse.
// CHECK-LABEL: func.func @strided(
// CHECK-SAME: "affine-scatter-is-insert"
// CHECK: return
func.func @strided(%arg0: tensor<128xf32>, %arg1: tensor<64xf32>) -> tensor<128xf32> {
  %0 = "luminal.scatter"(%arg0, %arg1) {map = affine_map<(d0) -> (d0 * 2)>, mode = "set"} : (tensor<128xf32>, tensor<64xf32>) -> tensor<128xf32>
  return %0 : tensor<128xf32>
}

// Adding is no assignment.
// CHECK-LABEL: func.func @adds(
// CHECK-NOT: "affine-scatter-is-insert"
// CHECK: "kernel.scatter"
// CHECK: mode = "add"
// CHECK: return
func.func @adds(%arg0: tensor<66xf32>, %arg1: tensor<64xf32>) -> tensor<66xf32> {
  %0 = "luminal.scatter"(%arg0, %arg1) {map = affine_map<(d0) -> (d0 + 1)>, mode = "add"} : (tensor<66xf32>, tensor<64xf32>) -> tensor<66xf32>
  return %0 : tensor<66xf32>
}

// Two updates for one place: the last wins, which an inverse cannot say.
// CHECK-LABEL: func.func @folds(
// CHECK-NOT: "affine-scatter-is-insert"
// CHECK: "kernel.scatter"
// CHECK: return
func.func @folds(%arg0: tensor<32xf32>, %arg1: tensor<64xf32>) -> tensor<32xf32> {
  %0 = "luminal.scatter"(%arg0, %arg1) {map = affine_map<(d0) -> (d0 mod 32)>, mode = "set"} : (tensor<32xf32>, tensor<64xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// A dim of the updates that no coordinate of the base knows.
// CHECK-LABEL: func.func @all_to_one(
// CHECK-NOT: "affine-scatter-is-insert"
// CHECK: "kernel.scatter"
// CHECK: return
func.func @all_to_one(%arg0: tensor<64xf32>, %arg1: tensor<64x2xf32>) -> tensor<64xf32> {
  %0 = "luminal.scatter"(%arg0, %arg1) {map = affine_map<(d0, d1) -> (d0)>, mode = "set"} : (tensor<64xf32>, tensor<64x2xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// Positions known at run time only.
// CHECK-LABEL: func.func @at_run_time(
// CHECK-NOT: "affine-scatter-is-insert"
// CHECK: "kernel.scatter"
// CHECK: return
func.func @at_run_time(%arg0: tensor<64xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xi64>) -> tensor<64xf32> {
  %0 = "luminal.scatter"(%arg0, %arg1, %arg2) {map = affine_map<(d0, d1) -> (d1)>, mode = "set"} : (tensor<64xf32>, tensor<8xf32>, tensor<8xi64>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
