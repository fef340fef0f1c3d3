// RUN: luminal-opt --torch-to-luminal %s | filecheck %s

// CHECK: #[[ROW:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK: #[[LAG:.*]] = affine_map<(d0, d1) -> (-d0 + d1)>

// Negative indices wrap by adding the size where the index is below zero; the read is one gather.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[X:.*]]: tensor<4x5xf32>, %[[I:.*]]: tensor<3xi64>
// CHECK: %[[B:.*]] = "luminal.less_than"(%[[I]],
// CHECK: %[[C:.*]] = "luminal.cast"(%[[B]])
// CHECK: "luminal.add"(%[[I]],
// CHECK: "luminal.gather"(%[[X]], {{.*}}map = #[[ROW]]{{.*}}-> tensor<3x5xf32>
func.func @rows(%x: !torch.vtensor<[4,5],f32>, %i: !torch.vtensor<[3],si64>) -> !torch.vtensor<[3,5],f32> {
  %list = torch.prim.ListConstruct %i : (!torch.vtensor<[3],si64>) -> !torch.list<vtensor>
  %y = torch.aten.index.Tensor %x, %list : !torch.vtensor<[4,5],f32>, !torch.list<vtensor> -> !torch.vtensor<[3,5],f32>
  return %y : !torch.vtensor<[3,5],f32>
}

// A running sum selects, it does not multiply by a mask: infinities past i must leave no trace.
// CHECK-LABEL: func.func @running_sum
// CHECK: "luminal.iota"() {map = #[[LAG]]}
// CHECK: "luminal.less_than"
// CHECK: "luminal.gather"
// CHECK: "luminal.sum_reduce"({{.*}}) {{.*}}axes = array<i64: 1>
func.func @running_sum(%x: !torch.vtensor<[6],si64>) -> !torch.vtensor<[6],si64> {
  %zero = torch.constant.int 0
  %none = torch.constant.none
  %y = torch.aten.cumsum %x, %zero, %none : !torch.vtensor<[6],si64>, !torch.int, !torch.none -> !torch.vtensor<[6],si64>
  return %y : !torch.vtensor<[6],si64>
}
