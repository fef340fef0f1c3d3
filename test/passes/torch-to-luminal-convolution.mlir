// RUN: luminal-opt --torch-to-luminal %s | filecheck %s

// A padded convolution writes the input into zeros, and contracts a view of that with a view of the weights.
// CHECK-LABEL: func.func @padded
// CHECK-SAME: (%[[X:.*]]: tensor<1x3x8x8xf32>, %[[W:.*]]: tensor<4x3x3x3xf32>
// CHECK: %[[P:.*]] = "luminal.scatter"(%{{.*}}, %[[X]]) {{.*}}mode = "set"
// CHECK-SAME: -> tensor<1x3x10x10xf32>
// CHECK: %[[U:.*]] = "luminal.view"(%[[P]]) {{.*}}-> tensor<1x4x4x4x3x3x3xf32>
// CHECK: %[[V:.*]] = "luminal.view"(%[[W]]) {{.*}}-> tensor<1x4x4x4x3x3x3xf32>
// CHECK: %[[M:.*]] = "luminal.mul"(%[[U]], %[[V]])
// CHECK: "luminal.sum_reduce"(%[[M]]) {{.*}}axes = array<i64: 4, 5, 6>
func.func @padded(%x: !torch.vtensor<[1,3,8,8],f32>, %w: !torch.vtensor<[4,3,3,3],f32>) -> !torch.vtensor<[1,4,4,4],f32> {
  %none = torch.constant.none
  %false = torch.constant.bool false
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %stride = torch.prim.ListConstruct %two, %two : (!torch.int, !torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %one, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %y = torch.aten.convolution %x, %w, %none, %stride, %ones, %ones, %false, %ones, %one : !torch.vtensor<[1,3,8,8],f32>, !torch.vtensor<[4,3,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,4,4,4],f32>
  return %y : !torch.vtensor<[1,4,4,4],f32>
}
