// The same kind of function to PTX that the CUDA assembler accepts.
// RUN: luminal-opt %s --target=cuda | filecheck %s
// REQUIRES: ptxas
// RUN: luminal-opt %s --target=cuda:sm_80 --stage=ptx -o %t.80.ptx
// RUN: ptxas -arch=sm_80 %t.80.ptx -o %t.80.cubin
// RUN: luminal-opt %s --target=cuda:sm_90a --stage=ptx -o %t.90.ptx
// RUN: ptxas -arch=sm_90a %t.90.ptx -o %t.90.cubin

// CHECK: // -----// kernel //----- //
// CHECK: kernel.region
// CHECK: // -----// gpu //----- //
// CHECK: gpu.func @
// CHECK: // -----// nvvm //----- //
// CHECK: llvm.func @
// CHECK: // -----// ptx //----- //
// CHECK: .target sm_80
// CHECK: .visible .entry
func.func @main(%x: !torch.vtensor<[64,256],f32>) -> !torch.vtensor<[64,256],f32> {
  %dim = torch.constant.int -1
  %half = torch.constant.bool false
  %0 = torch.aten.sin %x : !torch.vtensor<[64,256],f32> -> !torch.vtensor<[64,256],f32>
  %1 = torch.aten._softmax %0, %dim, %half : !torch.vtensor<[64,256],f32>, !torch.int, !torch.bool -> !torch.vtensor<[64,256],f32>
  return %1 : !torch.vtensor<[64,256],f32>
}
