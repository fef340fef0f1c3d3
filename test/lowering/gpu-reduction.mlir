// A region that reduces runs a block per row: the threads take turns, combine by shuffles, and the warps by shared
// memory. What depends on the row alone is computed before the loop over its elements.
// RUN: luminal-opt %s --lower-to-gpu | filecheck %s

// CHECK: gpu.func @kernel0_region(
// CHECK-SAME: workgroup(%[[PARTIAL:.*]] : memref<8xf32, #gpu.address_space<workgroup>>)
// CHECK: %[[ACC:.*]] = scf.for %{{.*}} = %thread_id_x to %{{.*}} step %c256 iter_args
// CHECK: math.exp
// CHECK: scf.yield
// CHECK: gpu.shuffle xor %[[ACC]], %c16_i32, %c32_i32 : f32
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK: scf.if
// CHECK: memref.store %{{.*}}, %[[PARTIAL]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[PARTIAL]]
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: scf.for %{{.*}} = %thread_id_x to %{{.*}} step %c256 {
// CHECK: arith.divf %{{.*}}, %[[SUM]]
// CHECK: memref.store
// CHECK-NOT: gpu.barrier
#dims = affine_map<()[s0, s1] -> (s0, s1)>
#row = affine_map<()[s0, s1] -> (s1)>
#id = affine_map<(d0, d1) -> (d0, d1)>
!t = tensor<?x?xf32, #dims>
func.func @main(%x: !t) -> !t
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64}, {name = "s1", min = 1 : i64}]} {
  %0 = "kernel.region"(%x) ({
  ^bb0(%a: !t, %i: index, %j: index):
    %1 = "kernel.reduce"() ({
    ^bb0(%k: index):
      %4 = "kernel.load"(%a, %i, %k) {map = #id} : (!t, index, index) -> f32
      %5 = "kernel.exp"(%4) : (f32) -> f32
      "kernel.yield"(%5) : (f32) -> ()
    }) {kind = "sum", extents = #row} : () -> f32
    %2 = "kernel.load"(%a, %i, %j) {map = #id} : (!t, index, index) -> f32
    %3 = "kernel.div"(%2, %1) : (f32, f32) -> f32
    "kernel.yield"(%3) : (f32) -> ()
  }) {domain = #dims} : (!t) -> !t
  return %0 : !t
}
