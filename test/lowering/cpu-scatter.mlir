// RUN: luminal-opt %s --target=cpu --stage=upstream | filecheck %s

// The base is copied only if the result has memory of its own; neighbouring writes become masked vector stores.
// CHECK-LABEL: // kernel_scatter_0
// CHECK: arith.cmpi ne
// CHECK: scf.if
// CHECK: llvm.intr.memcpy
// CHECK: llvm.intr.masked.store
func.func @main(%cache: tensor<128x64xf32>, %new: tensor<1x64xf32>, %at: tensor<1xi64>) -> tensor<128x64xf32> {
  %0 = "kernel.scatter"(%cache, %new, %at) ({
  ^bb0(%a: tensor<128x64xf32>, %b: tensor<1x64xf32>, %c: tensor<1xi64>, %i: index, %j: index):
    %1 = "kernel.load"(%b, %i, %j) {map = affine_map<(d0, d1) -> (d0, d1)>} : (tensor<1x64xf32>, index, index) -> f32
    %2 = "kernel.load"(%c, %i) {map = affine_map<(d0) -> (d0)>} : (tensor<1xi64>, index) -> i64
    %3 = "kernel.index_value"(%j) {map = affine_map<(d0) -> (d0)>} : (index) -> i64
    "kernel.yield"(%1, %2, %3) : (f32, i64, i64) -> ()
  }) {domain = affine_map<() -> (1, 64)>, mode = "set"} : (tensor<128x64xf32>, tensor<1x64xf32>, tensor<1xi64>) -> tensor<128x64xf32>
  return %0 : tensor<128x64xf32>
}
