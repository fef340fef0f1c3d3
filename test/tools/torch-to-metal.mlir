// The same kind of function to Metal source.
// RUN: luminal-opt %s --target=metal | filecheck %s

// CHECK: // -----// gpu //----- //
// CHECK: gpu.func @
// CHECK: // -----// msl //----- //
// CHECK: #include <metal_stdlib>
// CHECK: kernel void
// CHECK: threadgroup_barrier
func.func @main(%x: !torch.vtensor<[64,256],f32>) -> !torch.vtensor<[64,256],f32> {
  %dim = torch.constant.int -1
  %half = torch.constant.bool false
  %0 = torch.aten.sin %x : !torch.vtensor<[64,256],f32> -> !torch.vtensor<[64,256],f32>
  %1 = torch.aten._softmax %0, %dim, %half : !torch.vtensor<[64,256],f32>, !torch.int, !torch.bool -> !torch.vtensor<[64,256],f32>
  return %1 : !torch.vtensor<[64,256],f32>
}
