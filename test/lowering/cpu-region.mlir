// RUN: luminal-opt %s --target=cpu --stage=upstream --split-input-file | filecheck %s
// RUN: luminal-opt %s --target=cpu --stage=llvm --split-input-file | filecheck %s --check-prefix=LLVM

// Elementwise over two dims, contiguous: one flat vector loop, also with symbolic sizes.
// CHECK-LABEL: // kernel_region_0
// CHECK: func.func @kernel(%bufs: !llvm.ptr, %syms: !llvm.ptr, %tid: i64, %nthreads: i64, %scratch: !llvm.ptr)
// CHECK: scf.for
// CHECK: llvm.load {{.*}} -> vector<[[L:[0-9]+]]xf32>
// CHECK: arith.addf {{.*}} : vector<[[L]]xf32>
// CHECK: llvm.store
// CHECK: llvm.intr.masked.store
// CHECK-NOT: scf.for
// LLVM: define void @
// LLVM: fadd <{{[0-9]+}} x float>
func.func @main(%x: tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>, %y: tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>)
    -> tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64, max = 99 : i64}, {name = "s1", min = 1 : i64, max = 99 : i64}]} {
  %0 = "kernel.region"(%x, %y) ({
  ^bb0(%a: tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>, %b: tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>, %i: index, %j: index):
    %1 = "kernel.load"(%a, %i, %j) {map = affine_map<(d0, d1)[s0, s1] -> (d0, d1)>} : (tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>, index, index) -> f32
    %2 = "kernel.load"(%b, %i, %j) {map = affine_map<(d0, d1)[s0, s1] -> (d0, d1)>} : (tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>, index, index) -> f32
    %3 = "kernel.add"(%1, %2) : (f32, f32) -> f32
    "kernel.yield"(%3) : (f32) -> ()
  }) {domain = affine_map<()[s0, s1] -> (s0, s1)>} : (tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>, tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>) -> tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>
  return %0 : tensor<?x?xf32, affine_map<()[s0, s1] -> (s0, s1)>>
}

// -----

// A row sum is hoisted out of the loop over the row's columns, and has vector accumulators of its own.
// CHECK-LABEL: // kernel_region_0
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.addf {{.*}} : vector<
// CHECK: vector.shuffle
// CHECK: vector.extract
// CHECK: scf.for
// CHECK: arith.divf {{.*}} : vector<
// CHECK: llvm.store
func.func @main(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %0 = "kernel.region"(%x) ({
  ^bb0(%a: tensor<64x256xf32>, %i: index, %j: index):
    %1 = "kernel.reduce"() ({
    ^bb0(%k: index):
      %4 = "kernel.load"(%a, %i, %k) {map = affine_map<(d0, d1) -> (d0, d1)>} : (tensor<64x256xf32>, index, index) -> f32
      "kernel.yield"(%4) : (f32) -> ()
    }) {kind = "sum", extents = affine_map<() -> (256)>} : () -> f32
    %2 = "kernel.load"(%a, %i, %j) {map = affine_map<(d0, d1) -> (d0, d1)>} : (tensor<64x256xf32>, index, index) -> f32
    %3 = "kernel.div"(%2, %1) : (f32, f32) -> f32
    "kernel.yield"(%3) : (f32) -> ()
  }) {domain = affine_map<() -> (64, 256)>} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  return %0 : tensor<64x256xf32>
}

// -----

// exp is a polynomial, not a call of the C library.
// CHECK-LABEL: // kernel_region_0
// CHECK-NOT: func.call
// CHECK: math.fma
// LLVM-NOT: @exp
func.func @main(%x: tensor<100xf32>) -> tensor<100xf32> {
  %0 = "kernel.region"(%x) ({
  ^bb0(%a: tensor<100xf32>, %i: index):
    %1 = "kernel.load"(%a, %i) {map = affine_map<(d0) -> (d0)>} : (tensor<100xf32>, index) -> f32
    %2 = "kernel.exp"(%1) : (f32) -> f32
    "kernel.yield"(%2) : (f32) -> ()
  }) {domain = affine_map<() -> (100)>} : (tensor<100xf32>) -> tensor<100xf32>
  return %0 : tensor<100xf32>
}
