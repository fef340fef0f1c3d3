// Elementary functions become arithmetic of luminal's own: no device library is called.
// RUN: luminal-opt %s --lower-to-gpu --gpu-to-nvvm | filecheck %s
// RUN: sed 's/f32/f64/g' %s | not luminal-opt - --lower-to-gpu --gpu-to-nvvm 2>&1 | filecheck %s --check-prefix=DOUBLE

// CHECK: llvm.func @kernel0_region(
// CHECK-NOT: __nv_
// CHECK: llvm.bitcast %{{.*}} : f32 to i32
// CHECK: llvm.fdiv
// CHECK: llvm.call_intrinsic "llvm.fma.f32"
// CHECK-NOT: __nv_
// DOUBLE: 'math.erf' on f64 has no lowering for NVIDIA GPUs, at
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = "kernel.region"(%x) ({
  ^bb0(%a: tensor<8xf32>, %i: index):
    %1 = "kernel.load"(%a, %i) {map = affine_map<(d0) -> (d0)>} : (tensor<8xf32>, index) -> f32
    %2 = "kernel.log2"(%1) : (f32) -> f32
    %3 = "kernel.erf"(%2) : (f32) -> f32
    "kernel.yield"(%3) : (f32) -> ()
  }) {domain = affine_map<() -> (8)>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
