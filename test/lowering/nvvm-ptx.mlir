// From the torch dialect to PTX that ptxas accepts.
// REQUIRES: ptxas
// RUN: luminal-opt %s --target=cuda --stage=ptx -o %t.ptx
// RUN: filecheck %s < %t.ptx
// RUN: ptxas -arch=sm_80 %t.ptx -o %t.cubin
// RUN: luminal-opt %s --target=cuda:sm_90a --stage=ptx -o %t.90.ptx
// RUN: filecheck %s --check-prefix=HOPPER < %t.90.ptx
// RUN: ptxas -arch=sm_90a %t.90.ptx -o %t.cubin

// CHECK: .target sm_80
// CHECK: .visible .entry kernel0_region(
// CHECK: ex2.approx
// CHECK: ret;
// HOPPER: .target sm_90a
module {
  func.func @main(%x: !torch.vtensor<[4,40],f32>) -> !torch.vtensor<[4,40],f32> {
    %0 = torch.aten.sigmoid %x : !torch.vtensor<[4,40],f32> -> !torch.vtensor<[4,40],f32>
    %1 = torch.aten.mul.Tensor %0, %x : !torch.vtensor<[4,40],f32>, !torch.vtensor<[4,40],f32> -> !torch.vtensor<[4,40],f32>
    return %1 : !torch.vtensor<[4,40],f32>
  }
}
