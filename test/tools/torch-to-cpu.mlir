// A small function in the torch dialect, through every stage, to LLVM IR.
// RUN: luminal-opt %s --target=cpu | filecheck %s
// RUN: luminal-opt %s --target=cpu --stage=llvm | filecheck %s --check-prefix=LLVM

// CHECK: // -----// luminal //----- //
// CHECK: "luminal.mul"
// CHECK-NOT: torch.
// CHECK: // -----// kernel //----- //
// CHECK: kernel.contract
// CHECK: // -----// memory //----- //
// CHECK: // -----// upstream //----- //
// CHECK: func.func @kernel(
// CHECK: // -----// llvm //----- //
// CHECK: define {{.*}}@kernel_
// LLVM-NOT: -----//
// LLVM: define void @kernel_contract_0(ptr %0, ptr %1, i64 %2, i64 %3, ptr %4)
// LLVM: call <{{[0-9]+}} x float> @llvm.fmuladd
func.func @main(%x: !torch.vtensor<[16,32],f32>, %w: !torch.vtensor<[32,64],f32>) -> !torch.vtensor<[16,64],f32> {
  %0 = torch.aten.mm %x, %w : !torch.vtensor<[16,32],f32>, !torch.vtensor<[32,64],f32> -> !torch.vtensor<[16,64],f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<[16,64],f32> -> !torch.vtensor<[16,64],f32>
  return %1 : !torch.vtensor<[16,64],f32>
}
