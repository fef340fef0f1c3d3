// RUN: luminal-opt %s --canonicalize-views | filecheck %s

// CHECK: #[[IOTA:.*]] = affine_map<(d0) -> (d0 * 2 + 1)>

// A view of a view is one view; two transpositions cancel, and equal ops are shared.
// CHECK-LABEL: func.func @view_of_view
// CHECK-NEXT: "luminal.add"(%arg0, %arg0)
// CHECK-NEXT: return
func.func @view_of_view(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = "luminal.view"(%x) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %2 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %3 = "luminal.add"(%1, %2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}

// Splitting a symbolic axis and merging it again leaves nothing.
// CHECK-LABEL: func.func @reshape_there_and_back
// CHECK-NEXT: return %arg0
func.func @reshape_there_and_back(%x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) -> tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64}]} {
  %0 = "luminal.view"(%x) {map = affine_map<(d0) -> (d0 floordiv 8, d0 mod 8)>} : (tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) -> tensor<?xf32, affine_map<()[s0] -> (s0 * 8)>>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> (d0 * 8 + d1)>} : (tensor<?xf32, affine_map<()[s0] -> (s0 * 8)>>) -> tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
  return %1 : tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
}

// A view of an iota is an iota.
// CHECK-LABEL: func.func @view_of_iota
// CHECK-NEXT: %[[R:.*]] = "luminal.iota"() {map = #[[IOTA]]}
// CHECK-NEXT: return %[[R]]
func.func @view_of_iota() -> tensor<3xi64> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<8xi64>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> (d0 * 2 + 1)>} : (tensor<8xi64>) -> tensor<3xi64>
  return %1 : tensor<3xi64>
}

// Exact arithmetic on rank-0 constants is folded: 1/4, and 3 * -1.
// CHECK-LABEL: func.func @exact_scalars
// CHECK-DAG: dense<2.500000e-01>
// CHECK-DAG: dense<-3.000000e+00>
// CHECK-NOT: "luminal.recip"
// CHECK: return
func.func @exact_scalars() -> (tensor<f32>, tensor<f32>) {
  %four = "luminal.constant"() {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %three = "luminal.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %minus = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "luminal.recip"(%four) : (tensor<f32>) -> tensor<f32>
  %1 = "luminal.mul"(%three, %minus) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// 1/3 would be rounded: it stays, so that a division by 3 can still be recognised.
// CHECK-LABEL: func.func @inexact_scalar
// CHECK: "luminal.recip"
func.func @inexact_scalar() -> tensor<f32> {
  %three = "luminal.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "luminal.recip"(%three) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// Nothing uses the product.
// CHECK-LABEL: func.func @dead
// CHECK-NEXT: return
func.func @dead(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "luminal.mul"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}
