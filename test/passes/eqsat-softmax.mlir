// RUN: luminal-opt %s --luminal-eqsat | filecheck %s

// Softmax over rows is one kernel: maximum, exponentials kept in row scratch, sum, quotient.
// CHECK-LABEL: func.func @softmax
// CHECK: "kernel.region"(%arg0)
// CHECK: kind = "max"
// CHECK: "kernel.local"
// CHECK: "kernel.exp"
// CHECK: kind = "sum"
// CHECK: "kernel.div"
// CHECK-NOT: "kernel.exp"
// CHECK-NOT: "kernel.region"
// CHECK: return
func.func @softmax(%x: tensor<256x512xf32>) -> tensor<256x512xf32> {
  %m = "luminal.max_reduce"(%x) {axes = array<i64: 1>} : (tensor<256x512xf32>) -> tensor<256xf32>
  %mb = "luminal.view"(%m) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<256xf32>) -> tensor<256x512xf32>
  %minus = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %minusb = "luminal.view"(%minus) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<256x512xf32>
  %neg = "luminal.mul"(%mb, %minusb) : (tensor<256x512xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %d = "luminal.add"(%x, %neg) : (tensor<256x512xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %log2e = "luminal.constant"() {value = dense<1.44269502> : tensor<f32>} : () -> tensor<f32>
  %log2eb = "luminal.view"(%log2e) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<256x512xf32>
  %s = "luminal.mul"(%d, %log2eb) : (tensor<256x512xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %e = "luminal.exp2"(%s) : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %t = "luminal.sum_reduce"(%e) {axes = array<i64: 1>} : (tensor<256x512xf32>) -> tensor<256xf32>
  %tb = "luminal.view"(%t) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<256xf32>) -> tensor<256x512xf32>
  %r = "luminal.recip"(%tb) : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %q = "luminal.mul"(%e, %r) : (tensor<256x512xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  return %q : tensor<256x512xf32>
}
