// RUN: luminal-opt %s | luminal-opt | filecheck %s

// A contraction with a bias epilogue, the same with a packed right side, and an accumulating scatter.

// CHECK-LABEL: func.func @contract
// CHECK: "kernel.contract"(%{{.*}}, %{{.*}}, %{{.*}}) ({
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x64xbf16, #{{.*}}>, %{{.*}}: tensor<64x10xbf16>, %[[B:.*]]: tensor<10xf32>, %{{.*}}: index, %[[N:.*]]: index, %[[ACC:.*]]: f32):
// CHECK-NEXT: %[[V:.*]] = "kernel.load"(%[[B]], %[[N]])
// CHECK-NEXT: "kernel.add"(%[[ACC]], %[[V]]) : (f32, f32) -> f32
// CHECK: rhs_map = #{{.*}}, sizes = array<i64: 0, 1, 1, 1>}
func.func @contract(%a: tensor<?x64xbf16, affine_map<()[s0] -> (s0, 64)>>, %w: tensor<64x10xbf16>, %b: tensor<10xf32>) -> tensor<?x10xf32, affine_map<()[s0] -> (s0, 10)>>
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64}]} {
  %0 = "kernel.contract"(%a, %w, %b) ({
  ^bb0(%at: tensor<?x64xbf16, affine_map<()[s0] -> (s0, 64)>>, %wt: tensor<64x10xbf16>, %bt: tensor<10xf32>, %m: index, %n: index, %acc: f32):
    %1 = "kernel.load"(%bt, %n) {map = affine_map<(d0) -> (d0)>} : (tensor<10xf32>, index) -> f32
    %2 = "kernel.add"(%acc, %1) : (f32, f32) -> f32
    "kernel.yield"(%2) : (f32) -> ()
  }) {domain = affine_map<()[s0] -> (s0, 10, 64)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>}
    : (tensor<?x64xbf16, affine_map<()[s0] -> (s0, 64)>>, tensor<64x10xbf16>, tensor<10xf32>) -> tensor<?x10xf32, affine_map<()[s0] -> (s0, 10)>>
  return %0 : tensor<?x10xf32, affine_map<()[s0] -> (s0, 10)>>
}

// CHECK-LABEL: func.func @packed
// CHECK: packed = 8 : i64, sizes = array<i64: 0, 1, 1, 1>} : (tensor<3x64xf32>, tensor<2x64x8xf32>) -> tensor<10x3xf32>
func.func @packed(%a: tensor<3x64xf32>, %w: tensor<2x64x8xf32>) -> tensor<10x3xf32> {
  %0 = "kernel.contract"(%a, %w) ({
  ^bb0(%at: tensor<3x64xf32>, %wt: tensor<2x64x8xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (3, 10, 64)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      packed = 8 : i64, out_map = affine_map<(d0, d1, d2) -> (d1, d0)>} : (tensor<3x64xf32>, tensor<2x64x8xf32>) -> tensor<10x3xf32>
  return %0 : tensor<10x3xf32>
}

// CHECK-LABEL: func.func @scatter
// CHECK: "kernel.yield"(%{{.*}}, %{{.*}}) : (f32, i64) -> ()
// CHECK: }) {domain = #{{.*}}, in_place, mode = "add"} : (tensor<5xf32>, tensor<3xf32>, tensor<3xi64>) -> tensor<5xf32>
func.func @scatter(%x: tensor<5xf32>, %u: tensor<3xf32>, %i: tensor<3xi64>) -> tensor<5xf32> {
  %0 = "kernel.scatter"(%x, %u, %i) ({
  ^bb0(%xt: tensor<5xf32>, %ut: tensor<3xf32>, %it: tensor<3xi64>, %c: index):
    %v = "kernel.load"(%ut, %c) {map = affine_map<(d0) -> (d0)>} : (tensor<3xf32>, index) -> f32
    %at = "kernel.load"(%it, %c) {map = affine_map<(d0) -> (d0)>} : (tensor<3xi64>, index) -> i64
    "kernel.yield"(%v, %at) : (f32, i64) -> ()
  }) {domain = affine_map<() -> (3)>, mode = "add", in_place} : (tensor<5xf32>, tensor<3xf32>, tensor<3xi64>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// How the CPU cuts it up is an attribute of its own; absent fields are the lowering's choice.
// CHECK-LABEL: func.func @scheduled
// CHECK: schedule = {k_block = 128 : i64, order = "nm", pack_lhs = true, row_block = 96 : i64, tile = array<i64: 4, 3>, unroll = 2 : i64}
func.func @scheduled(%a: tensor<8x64xf32>, %b: tensor<48x64xf32>) -> tensor<8x48xf32> {
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<8x64xf32>, %bt: tensor<48x64xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (8, 48, 64)>, sizes = array<i64: 0, 1, 1, 1>,
      schedule = {tile = array<i64: 4, 3>, k_block = 128 : i64, row_block = 96 : i64, order = "nm", unroll = 2 : i64, pack_lhs = true},
      lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>, rhs_map = affine_map<(d0, d1, d2) -> (d1, d2)>,
      out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<8x64xf32>, tensor<48x64xf32>) -> tensor<8x48xf32>
  return %0 : tensor<8x48xf32>
}
