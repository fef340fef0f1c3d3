// RUN: luminal-opt %s | luminal-opt | filecheck %s

// Reductions drop their axes.

// CHECK-LABEL: func.func @reduce
// CHECK: "luminal.sum_reduce"(%{{.*}}) {axes = array<i64: 1>} : (tensor<?x64x3xf16, #{{.*}}>) -> tensor<?x3xf16, #{{.*}}>
// CHECK: "luminal.max_reduce"(%{{.*}}) {axes = array<i64: 0, 1>} : (tensor<?x3xf16, #{{.*}}>) -> tensor<f16>
func.func @reduce(%x: tensor<?x64x3xf16, affine_map<()[s0] -> (s0, 64, 3)>>) -> tensor<f16>
    attributes {luminal.symbols = [{name = "s0", min = 0 : i64}]} {
  %0 = "luminal.sum_reduce"(%x) {axes = array<i64: 1>} : (tensor<?x64x3xf16, affine_map<()[s0] -> (s0, 64, 3)>>) -> tensor<?x3xf16, affine_map<()[s0] -> (s0, 3)>>
  %1 = "luminal.max_reduce"(%0) {axes = array<i64: 0, 1>} : (tensor<?x3xf16, affine_map<()[s0] -> (s0, 3)>>) -> tensor<f16>
  return %1 : tensor<f16>
}
