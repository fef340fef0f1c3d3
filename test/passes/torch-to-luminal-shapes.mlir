// RUN: luminal-opt %s --torch-to-luminal | filecheck %s

// CHECK-DAG: #[[IN:.*]] = affine_map<()[s0] -> (s0, 8)>
// CHECK-DAG: #[[FLAT:.*]] = affine_map<()[s0] -> (s0 * 8)>
// CHECK-DAG: #[[SPLIT:.*]] = affine_map<(d0) -> (d0 floordiv 8, d0 mod 8)>

// Symbols and dims come from symbolic_int and bind_symbolic_shape; the size passed as an integer vanishes.
// CHECK-LABEL: func.func @flatten
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32, #[[IN]]>) -> tensor<?xf32, #[[FLAT]]>
// CHECK-SAME: luminal.symbols = [{max = 64 : i64, min = 2 : i64, name = "s0"}]
// CHECK-NEXT: %[[R:.*]] = "luminal.view"(%[[X]]) {map = #[[SPLIT]]}
// CHECK-NEXT: return %[[R]]
func.func @flatten(%n: !torch.int {luminal.symbol = "s7"}, %x: !torch.vtensor<[?,8],f32>) -> !torch.vtensor<[?],f32> {
  %s = torch.symbolic_int "s7" {min_val = 2, max_val = 64} : !torch.int
  torch.bind_symbolic_shape %x, [%s], affine_map<()[s0] -> (s0, 8)> : !torch.vtensor<[?,8],f32>
  %eight = torch.constant.int 8
  %size = torch.aten.mul.int %n, %eight : !torch.int, !torch.int -> !torch.int
  %shape = torch.prim.ListConstruct %size : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.view %x, %shape : !torch.vtensor<[?,8],f32>, !torch.list<int> -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}

// A matrix product multiplies two views of shape (M, N, K) and sums over K.
// CHECK-LABEL: func.func @matrix_product
// CHECK: "luminal.view"(%arg0) {{.*}} -> tensor<2x4x3xf32>
// CHECK: "luminal.view"(%arg1) {{.*}} -> tensor<2x4x3xf32>
// CHECK: "luminal.mul"
// CHECK-NEXT: "luminal.sum_reduce"({{.*}}) {axes = array<i64: 2>}
func.func @matrix_product(%a: !torch.vtensor<[2,3],f32>, %b: !torch.vtensor<[3,4],f32>) -> !torch.vtensor<[2,4],f32> {
  %0 = torch.aten.mm %a, %b : !torch.vtensor<[2,3],f32>, !torch.vtensor<[3,4],f32> -> !torch.vtensor<[2,4],f32>
  return %0 : !torch.vtensor<[2,4],f32>
}

// A slice that may be cut short by the end of the axis has a derived length: a symbol with a rule.
// CHECK-LABEL: func.func @short_slice
// CHECK-SAME: {min = 0 : i64, name = "s0"}, {max = 5 : i64, min = 0 : i64, name = "s1", rule = "min(s0, 5)"}
func.func @short_slice(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {
  %zero = torch.constant.int 0
  %five = torch.constant.int 5
  %one = torch.constant.int 1
  %0 = torch.aten.slice.Tensor %x, %zero, %zero, %five, %one : !torch.vtensor<[?],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}
