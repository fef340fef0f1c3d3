// RUN: luminal-opt %s --luminal-eqsat | filecheck %s

// A concatenation (affine scatters into a constant) becomes one region that selects its source.
// CHECK-LABEL: func.func @concat
// CHECK: "kernel.region"(%arg1, %arg0)
// CHECK: "kernel.load"{{.*}}masked
// CHECK: "kernel.select"
// CHECK-NOT: kernel.scatter
// CHECK: return
func.func @concat(%a: tensor<300xf32>, %b: tensor<500xf32>) -> tensor<800xf32> {
  %z = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %zb = "luminal.view"(%z) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<800xf32>
  %0 = "luminal.scatter"(%zb, %a) {map = affine_map<(d0) -> (d0)>, mode = "set"} : (tensor<800xf32>, tensor<300xf32>) -> tensor<800xf32>
  %1 = "luminal.scatter"(%0, %b) {map = affine_map<(d0) -> (d0 + 300)>, mode = "set"} : (tensor<800xf32>, tensor<500xf32>) -> tensor<800xf32>
  return %1 : tensor<800xf32>
}

// Positions known only at run time: a scatter kernel.
// CHECK-LABEL: func.func @cache
// CHECK: "kernel.scatter"(%arg0
func.func @cache(%cache: tensor<128x64xf32>, %new: tensor<1x64xf32>, %at: tensor<1xi64>) -> tensor<128x64xf32> {
  %i = "luminal.view"(%at) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<1xi64>) -> tensor<1x64xi64>
  %0 = "luminal.scatter"(%cache, %new, %i) {map = affine_map<(d0, d1, d2) -> (d2, d1)>, mode = "set"} : (tensor<128x64xf32>, tensor<1x64xf32>, tensor<1x64xi64>) -> tensor<128x64xf32>
  return %0 : tensor<128x64xf32>
}
