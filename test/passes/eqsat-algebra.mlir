// RUN: luminal-opt %s --luminal-eqsat | filecheck %s

// x + 0.0 must stay: it turns -0.0 into +0.0.
// CHECK-LABEL: func.func @add_zero
// CHECK: "kernel.add"
func.func @add_zero(%x: tensor<64xf32>) -> tensor<64xf32> {
  %z = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %zb = "luminal.view"(%z) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %y = "luminal.add"(%x, %zb) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}

// x + (-0.0) and x * 1.0 are x, NaN and signed zeros included.
// CHECK-LABEL: func.func @identities
// CHECK-NEXT: return %arg0
func.func @identities(%x: tensor<64xf32>) -> tensor<64xf32> {
  %z = "luminal.constant"() {value = dense<-0.0> : tensor<f32>} : () -> tensor<f32>
  %zb = "luminal.view"(%z) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %o = "luminal.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %ob = "luminal.view"(%o) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %y = "luminal.add"(%x, %zb) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %w = "luminal.mul"(%ob, %y) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %w : tensor<64xf32>
}

// log2(exp2(x)) must not become x: exp2 overflows, underflows and rounds.
// CHECK-LABEL: func.func @inverse_pair
// CHECK: "kernel.exp2"
// CHECK: "kernel.log2"
func.func @inverse_pair(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = "luminal.exp2"(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %y = "luminal.log2"(%e) : (tensor<64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}

// (x + a) - a must not cancel, and a product with zero keeps its NaNs.
// CHECK-LABEL: func.func @no_cancel
// CHECK-DAG: "kernel.add"
// CHECK-DAG: "kernel.sub"
// CHECK-DAG: "kernel.mul"
func.func @no_cancel(%x: tensor<64xf32>, %a: tensor<64xf32>) -> tensor<64xf32> {
  %m = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %mb = "luminal.view"(%m) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %z = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %zb = "luminal.view"(%z) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %y = "luminal.add"(%x, %a) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %n = "luminal.mul"(%a, %mb) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %w = "luminal.add"(%y, %n) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %q = "luminal.mul"(%w, %zb) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %q : tensor<64xf32>
}
