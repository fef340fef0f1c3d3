// RUN: luminal-opt %s --luminal-eqsat | filecheck %s

// x @ w.T + b, then exp: one contraction with the weight in panels, the bias and exp as its epilogue.
// CHECK-LABEL: func.func @main
// CHECK: %[[PANEL:.*]] = "kernel.region"(%arg1)
// CHECK: "kernel.load"{{.*}}masked
// CHECK: %[[OUT:.*]] = "kernel.contract"(%arg0, %[[PANEL]], %arg2)
// CHECK: ^bb0({{.*}}, %[[M:.*]]: index, %[[N:.*]]: index, %[[ACC:.*]]: f32):
// CHECK-NEXT: %[[BIAS:.*]] = "kernel.load"({{.*}}, %[[N]])
// CHECK-NEXT: %[[SUM:.*]] = "kernel.add"(%[[ACC]], %[[BIAS]])
// CHECK-NEXT: %[[E:.*]] = "kernel.exp"(%[[SUM]])
// CHECK-NEXT: "kernel.yield"(%[[E]])
// CHECK: packed = 32 : i64, sizes = array<i64: 0, 1, 1, 1>
// CHECK-NOT: luminal.mul
// CHECK: return %[[OUT]]
func.func @main(%x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>, %w: tensor<4x8xf32> {luminal.kind = "weight"}, %b: tensor<4xf32> {luminal.kind = "weight"}) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>> attributes {luminal.symbols = [{name = "s0", min = 1 : i64, max = 128 : i64}]} {
  %0 = "luminal.view"(%x) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) -> tensor<?x4x8xf32, affine_map<()[s0] -> (s0, 4, 8)>>
  %1 = "luminal.view"(%w) {map = affine_map<(d0, d1, d2) -> (d1, d2)>} : (tensor<4x8xf32>) -> tensor<?x4x8xf32, affine_map<()[s0] -> (s0, 4, 8)>>
  %2 = "luminal.mul"(%0, %1) : (tensor<?x4x8xf32, affine_map<()[s0] -> (s0, 4, 8)>>, tensor<?x4x8xf32, affine_map<()[s0] -> (s0, 4, 8)>>) -> tensor<?x4x8xf32, affine_map<()[s0] -> (s0, 4, 8)>>
  %3 = "luminal.sum_reduce"(%2) {axes = array<i64: 2>} : (tensor<?x4x8xf32, affine_map<()[s0] -> (s0, 4, 8)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  %4 = "luminal.view"(%b) {map = affine_map<(d0, d1) -> (d1)>} : (tensor<4xf32>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  %5 = "luminal.add"(%3, %4) : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  %6 = "luminal.constant"() {value = dense<1.44269502> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  %8 = "luminal.mul"(%5, %7) : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>, tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  %9 = "luminal.exp2"(%8) : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
  return %9 : tensor<?x4xf32, affine_map<()[s0] -> (s0, 4)>>
}
