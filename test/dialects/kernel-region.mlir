// RUN: luminal-opt %s | luminal-opt | filecheck %s

// A row-wise region: row scratch, nested reductions, a clamped gather, a masked load and an index value.

// CHECK-LABEL: func.func @region
// CHECK: "kernel.region"(%{{.*}}, %{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<?x64xf32, #{{.*}}>, %[[I:.*]]: tensor<4xi64>, %[[R:.*]]: index):
// CHECK: "kernel.load"(%[[I]], %[[R]])
// CHECK: "kernel.to_index"(%{{.*}}) {extent = #{{.*}}} : (i64) -> index
// CHECK: "kernel.local"() ({
// CHECK: "kernel.load"(%[[X]], %{{.*}}, %{{.*}}) {map = #{{.*}}, masked}
// CHECK: "kernel.exp"(%{{.*}}) : (f32) -> f32
// CHECK: }) {extents = #{{.*}}} : () -> tensor<64xf32>
// CHECK: "kernel.reduce"() ({
// CHECK: }) {extents = #{{.*}}, kind = "sum"} : () -> f32
// CHECK: "kernel.index_value"(%[[R]]) {map = #{{.*}}} : (index) -> i64
// CHECK: "kernel.cast"(%{{.*}}) : (i64) -> f32
// CHECK: "kernel.select"(%{{.*}}, %{{.*}}, %{{.*}}) : (i1, f32, f32) -> f32
// CHECK-NOT: operandSegmentSizes
func.func @region(%x: tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>, %i: tensor<4xi64>) -> tensor<4xf32>
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64}]} {
  %0 = "kernel.region"(%x, %i) ({
  ^bb0(%xt: tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>, %it: tensor<4xi64>, %r: index):
    %row = "kernel.load"(%it, %r) {map = affine_map<(d0) -> (d0)>} : (tensor<4xi64>, index) -> i64
    %at = "kernel.to_index"(%row) {extent = affine_map<()[s0] -> (s0)>} : (i64) -> index
    %e = "kernel.local"() ({
    ^bb0(%k: index):
      %v = "kernel.load"(%xt, %at, %k) {map = affine_map<(d0, d1) -> (d0, d1 - 1)>, masked} : (tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>, index, index) -> f32
      %w = "kernel.exp"(%v) : (f32) -> f32
      "kernel.yield"(%w) : (f32) -> ()
    }) {extents = affine_map<() -> (64)>} : () -> tensor<64xf32>
    %s = "kernel.reduce"() ({
    ^bb0(%k: index):
      %v = "kernel.load"(%e, %k) {map = affine_map<(d0) -> (d0)>} : (tensor<64xf32>, index) -> f32
      "kernel.yield"(%v) : (f32) -> ()
    }) {extents = affine_map<() -> (64)>, kind = "sum"} : () -> f32
    %n = "kernel.index_value"(%r) {map = affine_map<(d0)[s0] -> (d0 + s0)>} : (index) -> i64
    %f = "kernel.cast"(%n) : (i64) -> f32
    %z = "kernel.constant"() {value = 0.0 : f32} : () -> f32
    %c = "kernel.less_than"(%f, %s) : (f32, f32) -> i1
    %q = "kernel.select"(%c, %z, %s) : (i1, f32, f32) -> f32
    "kernel.yield"(%q) : (f32) -> ()
  }) {domain = affine_map<() -> (4)>} : (tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>, tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
