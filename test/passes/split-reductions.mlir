// RUN: luminal-opt %s --pass-pipeline='builtin.module(split-reductions)' --split-input-file | filecheck %s

// 64 chunks of the outer axis, added up by the kernel that uses the sum.
// CHECK: [[CHUNK:#map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0 + d2 * 2, d1)>
// CHECK-LABEL: func.func @main
// CHECK: [[PARTIAL:%.*]] = "kernel.region"(%arg0) ({
// CHECK: ^bb0({{.*}}, [[C:%.*]]: index):
// CHECK: "kernel.reduce"
// CHECK: ^bb0([[I:%.*]]: index, [[J:%.*]]: index):
// CHECK: "kernel.load"({{.*}}, [[I]], [[J]], [[C]]) {map = [[CHUNK]]}
// CHECK: -> tensor<64xf32>
// CHECK: "kernel.region"(%arg0, [[PARTIAL]]) ({
// CHECK: [[SUM:%.*]] = "kernel.reduce"
// CHECK: "kernel.load"
// CHECK: "kernel.sqrt"([[SUM]])
func.func @main(%x: tensor<128x1000xf32>) -> tensor<f32> {
  %0 = "kernel.region"(%x) ({
  ^bb0(%a: tensor<128x1000xf32>):
    %1 = "kernel.reduce"() ({
    ^bb0(%i: index, %j: index):
      %3 = "kernel.load"(%a, %i, %j) {map = affine_map<(d0, d1) -> (d0, d1)>} : (tensor<128x1000xf32>, index, index) -> f32
      "kernel.yield"(%3) : (f32) -> ()
    }) {extents = affine_map<() -> (128, 1000)>, kind = "sum"} : () -> f32
    %2 = "kernel.sqrt"(%1) : (f32) -> f32
    "kernel.yield"(%2) : (f32) -> ()
  }) {domain = affine_map<() -> ()>} : (tensor<128x1000xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Of a size known at run time, what 64 doesn't divide is left to the second kernel. Half sums stay in f32.
// CHECK-DAG: [[LENGTH:#map[0-9]*]] = affine_map<()[s0] -> (s0 floordiv 64)>
// CHECK-DAG: [[REST:#map[0-9]*]] = affine_map<()[s0] -> (s0 mod 64)>
// CHECK-LABEL: func.func @main
// CHECK: extents = [[LENGTH]], kind = "sum"{{.*}} -> f32
// CHECK: -> tensor<64xf32>
// CHECK: [[CHUNKS:%.*]] = "kernel.reduce"
// CHECK: [[LEFT:%.*]] = "kernel.reduce"
// CHECK: extents = [[REST]], kind = "sum"
// CHECK: [[SUM:%.*]] = "kernel.add"([[CHUNKS]], [[LEFT]]) : (f32, f32) -> f32
// CHECK: "kernel.cast"([[SUM]]) : (f32) -> f16
func.func @main(%x: tensor<?xf16, affine_map<()[s0] -> (s0)>>) -> tensor<f16>
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64}]} {
  %0 = "kernel.region"(%x) ({
  ^bb0(%a: tensor<?xf16, affine_map<()[s0] -> (s0)>>):
    %1 = "kernel.reduce"() ({
    ^bb0(%i: index):
      %3 = "kernel.load"(%a, %i) {map = affine_map<(d0)[s0] -> (d0)>} : (tensor<?xf16, affine_map<()[s0] -> (s0)>>, index) -> f16
      "kernel.yield"(%3) : (f16) -> ()
    }) {extents = affine_map<()[s0] -> (s0)>, kind = "sum"} : () -> f16
    "kernel.yield"(%1) : (f16) -> ()
  }) {domain = affine_map<()[s0] -> ()>} : (tensor<?xf16, affine_map<()[s0] -> (s0)>>) -> tensor<f16>
  return %0 : tensor<f16>
}

// -----

// Rows enough for every thread: nothing to do.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: "kernel.region"
// CHECK-NOT: "kernel.region"
func.func @main(%x: tensor<64x40000xf32>) -> tensor<64xf32> {
  %0 = "kernel.region"(%x) ({
  ^bb0(%a: tensor<64x40000xf32>, %i: index):
    %1 = "kernel.reduce"() ({
    ^bb0(%j: index):
      %3 = "kernel.load"(%a, %i, %j) {map = affine_map<(d0, d1) -> (d0, d1)>} : (tensor<64x40000xf32>, index, index) -> f32
      "kernel.yield"(%3) : (f32) -> ()
    }) {extents = affine_map<() -> (40000)>, kind = "sum"} : () -> f32
    "kernel.yield"(%1) : (f32) -> ()
  }) {domain = affine_map<() -> (64)>} : (tensor<64x40000xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
