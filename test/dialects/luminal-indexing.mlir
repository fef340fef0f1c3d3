// RUN: luminal-opt %s | luminal-opt | filecheck %s

// Ops with an index map: iota and view over the result's coordinates, gather and scatter over coordinates and the
// values of index tensors.

// CHECK-DAG: #[[TRANSPOSE:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-LABEL: func.func @indexing
// CHECK: "luminal.iota"() {map = #{{.*}}} : () -> tensor<4x3xi64>
// CHECK: "luminal.view"(%{{.*}}) {map = #[[TRANSPOSE]]}
// CHECK: "luminal.gather"(%{{.*}}, %{{.*}}) {map = #[[ROWS]]} : (tensor<?x3xf32, #{{.*}}>, tensor<4x3xi64>) -> tensor<4x3xf32>
// CHECK: "luminal.scatter"(%{{.*}}, %{{.*}}, %{{.*}}) {map = #[[ROWS]], mode = "add"}
// CHECK: "luminal.iota"() {map = #{{.*}}} : () -> tensor<i64>
func.func @indexing(%x: tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>) -> tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64}]} {
  %i = "luminal.iota"() {map = affine_map<(d0, d1) -> (d0)>} : () -> tensor<4x3xi64>
  %t = "luminal.view"(%x) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>) -> tensor<3x?xf32, affine_map<()[s0] -> (3, s0)>>
  %g = "luminal.gather"(%x, %i) {map = affine_map<(d0, d1, d2) -> (d2, d1)>} : (tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>, tensor<4x3xi64>) -> tensor<4x3xf32>
  %s = "luminal.scatter"(%x, %g, %i) {map = affine_map<(d0, d1, d2) -> (d2, d1)>, mode = "add"} : (tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>, tensor<4x3xf32>, tensor<4x3xi64>) -> tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>
  %n = "luminal.iota"() {map = affine_map<()[s0] -> (s0)>} : () -> tensor<i64>
  return %s : tensor<?x3xf32, affine_map<()[s0] -> (s0, 3)>>
}

// The same logical dim in two spellings: 8 * s0 floordiv 8 is s0.
// CHECK-LABEL: func.func @canonical_dims
func.func @canonical_dims(%x: tensor<?xf32, affine_map<()[s0] -> (s0)>>, %y: tensor<?xf32, affine_map<()[s0] -> ((s0 * 8) floordiv 8)>>)
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64}]} {
  %0 = "luminal.add"(%x, %y) : (tensor<?xf32, affine_map<()[s0] -> (s0)>>, tensor<?xf32, affine_map<()[s0] -> ((s0 * 8) floordiv 8)>>) -> tensor<?xf32, affine_map<()[s0] -> (s0)>>
  return
}

// Dims that are equal only within the symbol's range.
// CHECK-LABEL: func.func @dims_equal_by_range
func.func @dims_equal_by_range(%x: tensor<?xf32, affine_map<()[s0] -> (s0)>>, %y: tensor<?xf32, affine_map<()[s0] -> (s0 mod 10)>>)
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64, max = 9 : i64}]} {
  %0 = "luminal.add"(%x, %y) : (tensor<?xf32, affine_map<()[s0] -> (s0)>>, tensor<?xf32, affine_map<()[s0] -> (s0 mod 10)>>) -> tensor<?xf32, affine_map<()[s0] -> (s0)>>
  return
}
