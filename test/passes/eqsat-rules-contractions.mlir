// RUN: luminal-opt %s --luminal-eqsat=record-rules | filecheck %s

// RULE: reads-view
// RULE: sum-of-products
// RULE: want-contraction
// A sum of products of two tensors, each read through a map.
// CHECK-LABEL: func.func @matmul(
// CHECK-SAME: "reads-view"
// CHECK-SAME: "sum-of-products"
// CHECK-SAME: "want-contraction"
// CHECK-NOT: "pack-weights"
// CHECK: "kernel.contract"
// CHECK: return
func.func @matmul(%arg0: tensor<16x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<16x4xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<16x8xf32>) -> tensor<16x4x8xf32>
  %1 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d1, d2)>} : (tensor<4x8xf32>) -> tensor<16x4x8xf32>
  %2 = "luminal.mul"(%0, %1) : (tensor<16x4x8xf32>, tensor<16x4x8xf32>) -> tensor<16x4x8xf32>
  %3 = "luminal.sum_reduce"(%2) {axes = array<i64: 2>} : (tensor<16x4x8xf32>) -> tensor<16x4xf32>
  return %3 : tensor<16x4xf32>
}

// RULE: reads-tensor
// RULE: want-contraction
// Products of a tensor with itself, read whole.
// CHECK-LABEL: func.func @squares(
// CHECK-SAME: "reads-tensor"
// CHECK-SAME: "want-contraction"
// CHECK-NOT: "sum-of-products"
// CHECK: "kernel.region"
// CHECK-NOT: "kernel.contract"
// CHECK: return
func.func @squares(%arg0: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = "luminal.mul"(%arg0, %arg0) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "luminal.sum_reduce"(%0) {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// RULE: want-contraction
// A dim of the result that neither operand knows is only repeated: no contraction.
// CHECK-LABEL: func.func @outer_dim_of_neither(
// CHECK-SAME: "want-contraction"
// CHECK-NOT: "sum-of-products"
// CHECK: "kernel.region"
// CHECK: return
func.func @outer_dim_of_neither(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>) -> tensor<4x5xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d2)>} : (tensor<8xf32>) -> tensor<4x5x8xf32>
  %1 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d2)>} : (tensor<8xf32>) -> tensor<4x5x8xf32>
  %2 = "luminal.mul"(%0, %1) : (tensor<4x5x8xf32>, tensor<4x5x8xf32>) -> tensor<4x5x8xf32>
  %3 = "luminal.sum_reduce"(%2) {axes = array<i64: 2>} : (tensor<4x5x8xf32>) -> tensor<4x5xf32>
  return %3 : tensor<4x5xf32>
}

// RULE: want-contraction
// A summed dim that only one operand knows is no contraction.
// CHECK-LABEL: func.func @summed_dim_of_one(
// CHECK-SAME: "want-contraction"
// CHECK-NOT: "sum-of-products"
// CHECK: "kernel.region"
// CHECK: return
func.func @summed_dim_of_one(%arg0: tensor<16x8xf32>, %arg1: tensor<4xf32>) -> tensor<16x4xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<16x8xf32>) -> tensor<16x4x8xf32>
  %1 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d1)>} : (tensor<4xf32>) -> tensor<16x4x8xf32>
  %2 = "luminal.mul"(%0, %1) : (tensor<16x4x8xf32>, tensor<16x4x8xf32>) -> tensor<16x4x8xf32>
  %3 = "luminal.sum_reduce"(%2) {axes = array<i64: 2>} : (tensor<16x4x8xf32>) -> tensor<16x4xf32>
  return %3 : tensor<16x4xf32>
}

// The maximum of products is no sum.
// CHECK-LABEL: func.func @max_of_products(
// CHECK-NOT: "want-contraction"
// CHECK-NOT: "sum-of-products"
// CHECK: "kernel.region"
// CHECK: return
func.func @max_of_products(%arg0: tensor<16x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<16x4xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<16x8xf32>) -> tensor<16x4x8xf32>
  %1 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d1, d2)>} : (tensor<4x8xf32>) -> tensor<16x4x8xf32>
  %2 = "luminal.mul"(%0, %1) : (tensor<16x4x8xf32>, tensor<16x4x8xf32>) -> tensor<16x4x8xf32>
  %3 = "luminal.max_reduce"(%2) {axes = array<i64: 2>} : (tensor<16x4x8xf32>) -> tensor<16x4xf32>
  return %3 : tensor<16x4xf32>
}

// RULE: reads-half
// RULE: sum-of-half-products
// RULE: want-half-contraction
// Halves, widened: the product is exact, so the contraction may widen as it loads.
// CHECK-LABEL: func.func @half_matmul(
// CHECK-SAME: "reads-half"
// CHECK-SAME: "sum-of-half-products"
// CHECK-SAME: "want-half-contraction"
// CHECK-NOT: "kernel.cast"
// CHECK: "kernel.contract"
// CHECK: return
func.func @half_matmul(%arg0: tensor<16x8xbf16>, %arg1: tensor<4x8xbf16>) -> tensor<16x4xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<16x8xbf16>) -> tensor<16x4x8xbf16>
  %1 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d1, d2)>} : (tensor<4x8xbf16>) -> tensor<16x4x8xbf16>
  %2 = "luminal.cast"(%0) : (tensor<16x4x8xbf16>) -> tensor<16x4x8xf32>
  %3 = "luminal.cast"(%1) : (tensor<16x4x8xbf16>) -> tensor<16x4x8xf32>
  %4 = "luminal.mul"(%2, %3) : (tensor<16x4x8xf32>, tensor<16x4x8xf32>) -> tensor<16x4x8xf32>
  %5 = "luminal.sum_reduce"(%4) {axes = array<i64: 2>} : (tensor<16x4x8xf32>) -> tensor<16x4xf32>
  return %5 : tensor<16x4xf32>
}

// A product of f32 widened to f64 is not what a contraction of f32 computes.
// CHECK-LABEL: func.func @widened_floats(
// CHECK-NOT: "reads-half"
// CHECK-NOT: "sum-of-half-products"
// CHECK: "kernel.cast"
// CHECK: return
func.func @widened_floats(%arg0: tensor<16x8xf32>, %arg1: tensor<4x8xf32>) -> tensor<16x4xf64> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<16x8xf32>) -> tensor<16x4x8xf32>
  %1 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d1, d2)>} : (tensor<4x8xf32>) -> tensor<16x4x8xf32>
  %2 = "luminal.cast"(%0) : (tensor<16x4x8xf32>) -> tensor<16x4x8xf64>
  %3 = "luminal.cast"(%1) : (tensor<16x4x8xf32>) -> tensor<16x4x8xf64>
  %4 = "luminal.mul"(%2, %3) : (tensor<16x4x8xf64>, tensor<16x4x8xf64>) -> tensor<16x4x8xf64>
  %5 = "luminal.sum_reduce"(%4) {axes = array<i64: 2>} : (tensor<16x4x8xf64>) -> tensor<16x4xf64>
  return %5 : tensor<16x4xf64>
}

// RULE: pack-weights
// RULE: static-weight
// RULE: static-view
// A right operand that is a weight may be stored in panels.
// CHECK-LABEL: func.func @packed(
// CHECK-SAME: "pack-weights"
// CHECK-SAME: "static-view"
// CHECK-SAME: "static-weight"
// CHECK: "kernel.region"(%arg1)
// CHECK: "kernel.contract"
// CHECK: packed
// CHECK: return
func.func @packed(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32> {luminal.kind = "weight"}) -> tensor<64x64xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<64x64xf32>) -> tensor<64x64x64xf32>
  %1 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d1, d2)>} : (tensor<64x64xf32>) -> tensor<64x64x64xf32>
  %2 = "luminal.mul"(%0, %1) : (tensor<64x64x64xf32>, tensor<64x64x64xf32>) -> tensor<64x64x64xf32>
  %3 = "luminal.sum_reduce"(%2) {axes = array<i64: 2>} : (tensor<64x64x64xf32>) -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

// RULE: pack-weights
// RULE: static-cast
// What is computed from weights counts as one.
// CHECK-LABEL: func.func @packed_cast(
// CHECK-SAME: "pack-weights"
// CHECK-SAME: "static-cast"
// CHECK: "kernel.region"(%arg1)
// CHECK: "kernel.exp"
// CHECK: "kernel.contract"
// CHECK: packed
// CHECK: return
func.func @packed_cast(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf16> {luminal.kind = "weight"}) -> tensor<64x64xf32> {
  %0 = "luminal.cast"(%arg1) : (tensor<64x64xf16>) -> tensor<64x64xf32>
  %1 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %2 = "luminal.view"(%1) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %3 = "luminal.mul"(%0, %2) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = "luminal.exp2"(%3) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<64x64xf32>) -> tensor<64x64x64xf32>
  %6 = "luminal.view"(%4) {map = affine_map<(d0, d1, d2) -> (d1, d2)>} : (tensor<64x64xf32>) -> tensor<64x64x64xf32>
  %7 = "luminal.mul"(%5, %6) : (tensor<64x64x64xf32>, tensor<64x64x64xf32>) -> tensor<64x64x64xf32>
  %8 = "luminal.sum_reduce"(%7) {axes = array<i64: 2>} : (tensor<64x64x64xf32>) -> tensor<64x64xf32>
  return %8 : tensor<64x64xf32>
}

// RULE: static-weight
// A weight plus an input may change from call to call.
// CHECK-LABEL: func.func @packed_not(
// CHECK-SAME: "static-weight"
// CHECK-NOT: "pack-weights"
// CHECK: "kernel.contract"
// CHECK-NOT: packed
// CHECK: return
func.func @packed_not(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32> {luminal.kind = "weight"}, %arg2: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = "luminal.add"(%arg1, %arg2) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<64x64xf32>) -> tensor<64x64x64xf32>
  %2 = "luminal.view"(%0) {map = affine_map<(d0, d1, d2) -> (d1, d2)>} : (tensor<64x64xf32>) -> tensor<64x64x64xf32>
  %3 = "luminal.mul"(%1, %2) : (tensor<64x64x64xf32>, tensor<64x64x64xf32>) -> tensor<64x64x64xf32>
  %4 = "luminal.sum_reduce"(%3) {axes = array<i64: 2>} : (tensor<64x64x64xf32>) -> tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}

// RULE: pack-weights
// RULE: static-constant
// A weight times a constant.
// CHECK-LABEL: func.func @packed_scaled(
// CHECK-SAME: "pack-weights"
// CHECK-SAME: "static-constant"
// CHECK: "kernel.contract"
// CHECK: packed
// CHECK: return
func.func @packed_scaled(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32> {luminal.kind = "weight"}) -> tensor<64x64xf32> {
  %0 = "luminal.constant"() {value = dense<0.3> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %2 = "luminal.mul"(%arg1, %1) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<64x64xf32>) -> tensor<64x64x64xf32>
  %4 = "luminal.view"(%2) {map = affine_map<(d0, d1, d2) -> (d1, d2)>} : (tensor<64x64xf32>) -> tensor<64x64x64xf32>
  %5 = "luminal.mul"(%3, %4) : (tensor<64x64x64xf32>, tensor<64x64x64xf32>) -> tensor<64x64x64xf32>
  %6 = "luminal.sum_reduce"(%5) {axes = array<i64: 2>} : (tensor<64x64x64xf32>) -> tensor<64x64xf32>
  return %6 : tensor<64x64xf32>
}

// RULE: pack-weights
// RULE: static-reduce
// A weight over the sums of its rows.
// CHECK-LABEL: func.func @packed_norm(
// CHECK-SAME: "pack-weights"
// CHECK-SAME: "static-reduce"
// CHECK: "kernel.contract"
// CHECK: packed
// CHECK: return
func.func @packed_norm(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32> {luminal.kind = "weight"}) -> tensor<64x64xf32> {
  %0 = "luminal.sum_reduce"(%arg1) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %2 = "luminal.recip"(%1) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = "luminal.mul"(%arg1, %2) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<64x64xf32>) -> tensor<64x64x64xf32>
  %5 = "luminal.view"(%3) {map = affine_map<(d0, d1, d2) -> (d1, d2)>} : (tensor<64x64xf32>) -> tensor<64x64x64xf32>
  %6 = "luminal.mul"(%4, %5) : (tensor<64x64x64xf32>, tensor<64x64x64xf32>) -> tensor<64x64x64xf32>
  %7 = "luminal.sum_reduce"(%6) {axes = array<i64: 2>} : (tensor<64x64x64xf32>) -> tensor<64x64xf32>
  return %7 : tensor<64x64xf32>
}

// RULE: pack-weights
// RULE: static-insert
// Two weights, one after the other.
// CHECK-LABEL: func.func @packed_concatenation(
// CHECK-SAME: "pack-weights"
// CHECK-SAME: "static-insert"
// CHECK: "kernel.contract"
// CHECK: packed
// CHECK: return
func.func @packed_concatenation(%arg0: tensor<64x64xf32>, %arg1: tensor<32x64xf32> {luminal.kind = "weight"}, %arg2: tensor<32x64xf32> {luminal.kind = "weight"}) -> tensor<64x64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %2 = "luminal.scatter"(%1, %arg1) {map = affine_map<(d0, d1) -> (d0, d1)>, mode = "set"} : (tensor<64x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %3 = "luminal.scatter"(%2, %arg2) {map = affine_map<(d0, d1) -> (d0 + 32, d1)>, mode = "set"} : (tensor<64x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %4 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<64x64xf32>) -> tensor<64x64x64xf32>
  %5 = "luminal.view"(%3) {map = affine_map<(d0, d1, d2) -> (d1, d2)>} : (tensor<64x64xf32>) -> tensor<64x64x64xf32>
  %6 = "luminal.mul"(%4, %5) : (tensor<64x64x64xf32>, tensor<64x64x64xf32>) -> tensor<64x64x64xf32>
  %7 = "luminal.sum_reduce"(%6) {axes = array<i64: 2>} : (tensor<64x64x64xf32>) -> tensor<64x64xf32>
  return %7 : tensor<64x64xf32>
}

// RULE: schedules
// Each order of the loops worth trying is a node of its own.
// CHECK-LABEL: func.func @schedules(
// CHECK-SAME: "schedules"
// CHECK: "kernel.contract"
// CHECK: return
func.func @schedules(%arg0: tensor<256x2048xf32>, %arg1: tensor<256x2048xf32>) -> tensor<256x256xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<256x2048xf32>) -> tensor<256x256x2048xf32>
  %1 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d1, d2)>} : (tensor<256x2048xf32>) -> tensor<256x256x2048xf32>
  %2 = "luminal.mul"(%0, %1) : (tensor<256x256x2048xf32>, tensor<256x256x2048xf32>) -> tensor<256x256x2048xf32>
  %3 = "luminal.sum_reduce"(%2) {axes = array<i64: 2>} : (tensor<256x256x2048xf32>) -> tensor<256x256xf32>
  return %3 : tensor<256x256xf32>
}

// RULE: panel-schedules
// Of weights in panels as well.
// CHECK-LABEL: func.func @panel_schedules(
// CHECK-SAME: "panel-schedules"
// CHECK: "kernel.contract"
// CHECK: return
func.func @panel_schedules(%arg0: tensor<256x2048xf32>, %arg1: tensor<256x2048xf32> {luminal.kind = "weight"}) -> tensor<256x256xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<256x2048xf32>) -> tensor<256x256x2048xf32>
  %1 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d1, d2)>} : (tensor<256x2048xf32>) -> tensor<256x256x2048xf32>
  %2 = "luminal.mul"(%0, %1) : (tensor<256x256x2048xf32>, tensor<256x256x2048xf32>) -> tensor<256x256x2048xf32>
  %3 = "luminal.sum_reduce"(%2) {axes = array<i64: 2>} : (tensor<256x256x2048xf32>) -> tensor<256x256xf32>
  return %3 : tensor<256x256xf32>
}
