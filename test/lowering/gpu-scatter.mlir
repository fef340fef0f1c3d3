// A scatter copies its base, then writes. A dim that alone decides a coordinate runs in parallel; the dim whose
// coordinate is read from memory runs in order, so that the last of several writes wins.
// RUN: luminal-opt %s --lower-to-gpu | filecheck %s
// With in_place there is no copy, and the result is the base's buffer.
// RUN: sed 's/mode = "set"/mode = "set", in_place/' %s | luminal-opt --lower-to-gpu - | filecheck %s --check-prefix=PLACE

// CHECK: luminal.launches = [
// CHECK-SAME: buffers = array<i64: 0, 3>, kernel = @kernel0_copy
// CHECK-SAME: buffers = array<i64: 0, 1, 2, 3>, kernel = @kernel0_scatter
// CHECK-SAME: luminal.results = array<i64: 3>
// CHECK: gpu.func @kernel0_scatter(
// CHECK: %[[IN:.*]] = arith.cmpi slt, %{{.*}}, %c6 : index
// CHECK: scf.if %[[IN]] {
// CHECK-NEXT: scf.for %{{.*}} = %c0 to %c5 step %c1 {
// CHECK: %[[ROW:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: arith.cmpi sge, %[[ROW]], %c0
// CHECK: arith.cmpi slt, %[[ROW]], %c9
// CHECK: memref.store
// PLACE-NOT: kernel0_copy
// PLACE: buffers = array<i64: 0, 1, 2, 0>, kernel = @kernel0_scatter
// PLACE-SAME: luminal.results = array<i64: 0>
func.func @main(%base: tensor<9x6xf32>, %u: tensor<5x6xf32>, %ids: tensor<5xi64>) -> tensor<9x6xf32> {
  %0 = "kernel.scatter"(%base, %u, %ids) ({
  ^bb0(%b: tensor<9x6xf32>, %v: tensor<5x6xf32>, %x: tensor<5xi64>, %i: index, %j: index):
    %1 = "kernel.load"(%v, %i, %j) {map = affine_map<(d0, d1) -> (d0, d1)>} : (tensor<5x6xf32>, index, index) -> f32
    %2 = "kernel.load"(%x, %i) {map = affine_map<(d0) -> (d0)>} : (tensor<5xi64>, index) -> i64
    %3 = "kernel.index_value"(%j) {map = affine_map<(d0) -> (d0)>} : (index) -> i64
    "kernel.yield"(%1, %2, %3) : (f32, i64, i64) -> ()
  }) {domain = affine_map<() -> (5, 6)>, mode = "set"} : (tensor<9x6xf32>, tensor<5x6xf32>, tensor<5xi64>) -> tensor<9x6xf32>
  return %0 : tensor<9x6xf32>
}
