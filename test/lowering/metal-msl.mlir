// From the torch dialect to Metal source; f64 is refused with the op and its place.
// RUN: luminal-opt %s --target=metal --stage=msl | filecheck %s
// RUN: sed 's/f32/f64/g' %s | not luminal-opt - --target=metal --stage=msl 2>&1 | filecheck %s --check-prefix=DOUBLE

// CHECK: #include <metal_stdlib>
// CHECK: kernel void kernel0_region(
// CHECK-NEXT: device float* buffer0 {{\[\[}}buffer(0){{\]\]}},
// CHECK-NEXT: device float* buffer1 {{\[\[}}buffer(1){{\]\]}},
// CHECK-NEXT: uint3 block_position {{\[\[}}threadgroup_position_in_grid{{\]\]}},
// CHECK-NEXT: uint3 thread_position {{\[\[}}thread_position_in_threadgroup{{\]\]}}) {
// CHECK: if (v{{[0-9]+}}) {
// CHECK: const float [[X:v[0-9]+]] = buffer0[{{.*}}];
// CHECK: precise::exp
// CHECK: buffer1[{{.*}}] = v{{[0-9]+}};
// DOUBLE: uses f64, which Metal does not have, at
module {
  func.func @main(%x: !torch.vtensor<[4,40],f32>) -> !torch.vtensor<[4,40],f32> {
    %0 = torch.aten.exp %x : !torch.vtensor<[4,40],f32> -> !torch.vtensor<[4,40],f32>
    return %0 : !torch.vtensor<[4,40],f32>
  }
}
