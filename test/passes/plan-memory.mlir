// RUN: luminal-opt %s --pass-pipeline='builtin.module(canonicalize-views,luminal-eqsat,plan-memory{size=256})' | filecheck %s

// The intermediate is in the arena (256 rows of 8 floats), the last kernel writes straight into the result.
// CHECK-LABEL: func.func @main
// CHECK: luminal.memory = ["arena[0:8192]"]
// CHECK: luminal.memory = ["result 0"]
// CHECK: return
func.func @main(%x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64, max = 512 : i64}]} {
  %0 = "luminal.view"(%x) {map = affine_map<(d0, d1, d2)[s0] -> (d0, d2)>} : (tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) -> tensor<?x8x8xf32, affine_map<()[s0] -> (s0, 8, 8)>>
  %1 = "luminal.view"(%w) {map = affine_map<(d0, d1, d2)[s0] -> (d1, d2)>} : (tensor<8x8xf32>) -> tensor<?x8x8xf32, affine_map<()[s0] -> (s0, 8, 8)>>
  %2 = "luminal.mul"(%0, %1) : (tensor<?x8x8xf32, affine_map<()[s0] -> (s0, 8, 8)>>, tensor<?x8x8xf32, affine_map<()[s0] -> (s0, 8, 8)>>) -> tensor<?x8x8xf32, affine_map<()[s0] -> (s0, 8, 8)>>
  %3 = "luminal.sum_reduce"(%2) {axes = array<i64: 2>} : (tensor<?x8x8xf32, affine_map<()[s0] -> (s0, 8, 8)>>) -> tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
  %4 = "luminal.view"(%3) {map = affine_map<(d0, d1, d2)[s0] -> (d0, d2)>} : (tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) -> tensor<?x8x8xf32, affine_map<()[s0] -> (s0, 8, 8)>>
  %5 = "luminal.view"(%v) {map = affine_map<(d0, d1, d2)[s0] -> (d1, d2)>} : (tensor<8x8xf32>) -> tensor<?x8x8xf32, affine_map<()[s0] -> (s0, 8, 8)>>
  %6 = "luminal.mul"(%4, %5) : (tensor<?x8x8xf32, affine_map<()[s0] -> (s0, 8, 8)>>, tensor<?x8x8xf32, affine_map<()[s0] -> (s0, 8, 8)>>) -> tensor<?x8x8xf32, affine_map<()[s0] -> (s0, 8, 8)>>
  %7 = "luminal.sum_reduce"(%6) {axes = array<i64: 2>} : (tensor<?x8x8xf32, affine_map<()[s0] -> (s0, 8, 8)>>) -> tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
  return %7 : tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
}
