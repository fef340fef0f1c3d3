// RUN: luminal-opt %s --target=cpu --stage=upstream --split-input-file | filecheck %s
// RUN: luminal-opt %s --target=cpu --stage=llvm --split-input-file | filecheck %s --check-prefix=LLVM

// A weight in panels, one row: a matrix-vector product that streams whole panels.
func.func @main(%x: tensor<1x64xf32>, %w: tensor<3x64x32xf32>) -> tensor<1x96xf32> {
  %0 = "kernel.contract"(%x, %w) ({
  ^bb0(%a: tensor<1x64xf32>, %b: tensor<3x64x32xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (1, 96, 64)>, sizes = array<i64: 0, 1, 1, 1>, packed = 32 : i64,
      lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>}
    : (tensor<1x64xf32>, tensor<3x64x32xf32>) -> tensor<1x96xf32>
  return %0 : tensor<1x96xf32>
}

// CHECK: // kernel_contract_0
// CHECK: func.func @kernel(%bufs: !llvm.ptr, %syms: !llvm.ptr, %tid: i64, %nthreads: i64, %scratch: !llvm.ptr)
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.broadcast
// CHECK: vector.fma
// CHECK: llvm.store
// CHECK-NOT: vector.reduction
// LLVM: define void @kernel_contract_0(ptr %{{.*}}, ptr %{{.*}}, i64 %{{.*}}, i64 %{{.*}}, ptr %{{.*}})
// LLVM: call <[[LANES:[0-9]+]] x float> @llvm.fmuladd.v[[LANES]]f32
// LLVM: llvm.loop.unroll.disable

// -----

// Both operands contiguous along k and few rows: lanes run along k.
func.func @main(%q: tensor<1x64xf32>, %k: tensor<40x64xf32>) -> tensor<1x40xf32> {
  %0 = "kernel.contract"(%q, %k) ({
  ^bb0(%a: tensor<1x64xf32>, %b: tensor<40x64xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (1, 40, 64)>, sizes = array<i64: 0, 1, 1, 1>,
      lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>, rhs_map = affine_map<(d0, d1, d2) -> (d1, d2)>,
      out_map = affine_map<(d0, d1, d2) -> (d0, d1)>}
    : (tensor<1x64xf32>, tensor<40x64xf32>) -> tensor<1x40xf32>
  return %0 : tensor<1x40xf32>
}

// CHECK: func.func @kernel
// CHECK: vector.fma
// CHECK: vector.reduction <add>

// -----

// Rows unknown, from 1 on: a plan for one row, and register tiles with every remainder for more. The bias is in the epilogue.
func.func @main(%x: tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>, %w: tensor<3x64x32xf32>, %bias: tensor<96xf32>)
    -> tensor<?x96xf32, affine_map<()[s0] -> (s0, 96)>>
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64, max = 512 : i64}]} {
  %0 = "kernel.contract"(%x, %w, %bias) ({
  ^bb0(%a: tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>, %b: tensor<3x64x32xf32>, %c: tensor<96xf32>,
       %m: index, %n: index, %acc: f32):
    %1 = "kernel.load"(%c, %n) {map = affine_map<(d0) -> (d0)>} : (tensor<96xf32>, index) -> f32
    %2 = "kernel.add"(%acc, %1) : (f32, f32) -> f32
    "kernel.yield"(%2) : (f32) -> ()
  }) {domain = affine_map<()[s0] -> (s0, 96, 64)>, sizes = array<i64: 0, 1, 1, 1>, packed = 32 : i64,
      lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>}
    : (tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>, tensor<3x64x32xf32>, tensor<96xf32>)
      -> tensor<?x96xf32, affine_map<()[s0] -> (s0, 96)>>
  return %0 : tensor<?x96xf32, affine_map<()[s0] -> (s0, 96)>>
}

// CHECK: func.func @kernel
// CHECK: arith.cmpi eq
// CHECK: scf.if
// CHECK: arith.addf
// CHECK: else
// CHECK: scf.index_switch
// CHECK: case 1
// CHECK: case 2
// CHECK: default
// CHECK: arith.addf

// -----

// The sums by a BLAS routine, into the result; the epilogue is a loop after it.
func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x96xf32>) -> tensor<8x96xf32> {
  %0 = "kernel.contract"(%x, %w) ({
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<64x96xf32>, %m: index, %n: index, %acc: f32):
    %1 = "kernel.neg"(%acc) : (f32) -> f32
    "kernel.yield"(%1) : (f32) -> ()
  }) {domain = affine_map<() -> (8, 96, 64)>, sizes = array<i64: 0, 1, 1, 1>, library = "blas",
      lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>, rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>,
      out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<8x64xf32>, tensor<64x96xf32>) -> tensor<8x96xf32>
  return %0 : tensor<8x96xf32>
}

// CHECK: func.func private @luminal_blas_sgemm(i32, i32, i32, i64, i64, i64, f32, !llvm.ptr, i64, !llvm.ptr, i64, f32, !llvm.ptr, i64)
// CHECK: func.func @kernel
// CHECK: func.call @luminal_blas_sgemm
// CHECK: scf.for
// CHECK: arith.negf
