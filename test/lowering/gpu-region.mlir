// A pointwise region runs a thread per element; its launch is an attribute of the gpu.module.
// RUN: luminal-opt %s --lower-to-gpu | filecheck %s
// RUN: luminal-opt %s --lower-to-gpu=threads=64 | filecheck %s --check-prefix=SMALL

// CHECK: gpu.module @kernels attributes {
// CHECK-SAME: luminal.arguments = 1
// CHECK-SAME: luminal.launches = [{blocks = [[BLOCKS:#map[0-9]*]], buffers = array<i64: 0, 1>, kernel = @kernel0_region, threads = 256 : i64}]
// CHECK-SAME: luminal.results = array<i64: 1>
// CHECK: gpu.func @kernel0_region(%[[X:.*]]: memref<?xf32, #gpu.address_space<global>>, %[[Y:.*]]: memref<?xf32, #gpu.address_space<global>>, %[[S0:.*]]: index) kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: %[[I:.*]] = arith.addi %{{.*}}, %thread_id_x : index
// CHECK: %[[N:.*]] = arith.muli %[[S0]], %c64 : index
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[I]], %[[N]] : index
// CHECK: scf.if %[[IN]] {
// The coordinates fold back to the flat index: no division is left.
// CHECK-NEXT: %[[V:.*]] = memref.load %[[X]][%[[I]]]
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[V]] : f32
// CHECK-NEXT: memref.store %[[T]], %[[Y]][%[[I]]]
// CHECK-NOT: func.func
// SMALL: threads = 64 : i64
// SMALL: known_block_size = array<i32: 64, 1, 1>
#dims = affine_map<()[s0] -> (s0, 64)>
!t = tensor<?x64xf32, #dims>
func.func @main(%x: !t) -> !t attributes {luminal.symbols = [{name = "s0", min = 1 : i64, max = 512 : i64}]} {
  %0 = "kernel.region"(%x) ({
  ^bb0(%a: !t, %i: index, %j: index):
    %1 = "kernel.load"(%a, %i, %j) {map = affine_map<(d0, d1) -> (d0, d1)>} : (!t, index, index) -> f32
    %2 = "kernel.tanh"(%1) : (f32) -> f32
    "kernel.yield"(%2) : (f32) -> ()
  }) {domain = #dims} : (!t) -> !t
  return %0 : !t
}
