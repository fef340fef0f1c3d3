// A contraction stages tiles of both operands in shared memory, zero where they reach over the edge.
// RUN: luminal-opt %s --lower-to-gpu | filecheck %s
// RUN: luminal-opt %s --lower-to-gpu --gpu-to-nvvm | filecheck %s --check-prefix=NVVM
// RUN: luminal-opt %s --target=metal --stage=msl | filecheck %s --check-prefix=MSL

// CHECK: gpu.func @kernel0_contract(
// CHECK-SAME: workgroup(%[[A:.*]] : memref<512xf32, #gpu.address_space<workgroup>>, %[[B:.*]] : memref<512xf32, #gpu.address_space<workgroup>>)
// CHECK: scf.for %{{.*}} to %{{.*}} step %c16 iter_args
// CHECK: memref.store %{{.*}}, %[[A]]
// CHECK: memref.store %{{.*}}, %[[B]]
// CHECK: gpu.barrier
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c1
// CHECK-COUNT-4: math.fma
// CHECK: gpu.barrier
// CHECK: scf.yield
// The epilogue is guarded by the edges of the result.
// CHECK: scf.if
// CHECK: math.tanh
// CHECK: memref.store

// NVVM: llvm.mlir.global internal @{{.*}}() {addr_space = 3 : i32} : !llvm.array<512 x f32>
// NVVM: llvm.func @kernel0_contract(%{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1>, %{{.*}}: i64)
// NVVM-SAME: nvvm.kernel
// NVVM: nvvm.barrier
// NVVM: llvm.call_intrinsic "llvm.fma.f32"

// MSL: kernel void kernel0_contract(
// MSL-NEXT: device float* buffer0 {{\[\[}}buffer(0){{\]\]}},
// MSL: constant long& size3 {{\[\[}}buffer(3){{\]\]}},
// MSL: threadgroup float shared0[512];
// MSL: threadgroup_barrier(mem_flags::mem_threadgroup);
// MSL: fma(
// MSL: precise::tanh(
#d = affine_map<()[s0] -> (s0, 48, 20)>
!lhs = tensor<?x20xf32, affine_map<()[s0] -> (s0, 20)>>
!out = tensor<?x48xf32, affine_map<()[s0] -> (s0, 48)>>
func.func @main(%x: !lhs, %w: tensor<48x20xf32>) -> !out
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64, max = 512 : i64}]} {
  %0 = "kernel.contract"(%x, %w) ({
  ^bb0(%a: !lhs, %b: tensor<48x20xf32>, %m: index, %n: index, %acc: f32):
    %1 = "kernel.tanh"(%acc) : (f32) -> f32
    "kernel.yield"(%1) : (f32) -> ()
  }) {domain = #d, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      rhs_map = affine_map<(d0, d1, d2) -> (d1, d2)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>}
      : (!lhs, tensor<48x20xf32>) -> !out
  return %0 : !out
}
