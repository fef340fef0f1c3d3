// RUN: luminal-opt %s --luminal-eqsat | filecheck %s

// where(c, a, b) is built as a gather from a stack of two planes; it is recognised as a select.
// CHECK-LABEL: func.func @where
// CHECK: "kernel.region"
// CHECK: "kernel.select"
// CHECK-NOT: "kernel.to_index"
// CHECK: return
func.func @where(%c: tensor<64xi1>, %a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  %z = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %zb = "luminal.view"(%z) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %0 = "luminal.scatter"(%zb, %b) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %1 = "luminal.scatter"(%0, %a) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %i = "luminal.cast"(%c) : (tensor<64xi1>) -> tensor<64xi64>
  %2 = "luminal.gather"(%1, %i) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
