// RUN: luminal-opt %s --torch-to-luminal | filecheck %s

// a - c is a + c * -1; the constant is expanded by a view.
// CHECK-LABEL: func.func @subtract
// CHECK-SAME: (%[[A:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[M:.*]] = "luminal.constant"() {value = dense<-1.000000e+00> : tensor<f32>}
// CHECK-NEXT: %[[V:.*]] = "luminal.view"(%[[M]])
// CHECK-NEXT: %[[N:.*]] = "luminal.mul"(%[[C]], %[[V]])
// CHECK-NEXT: %[[R:.*]] = "luminal.add"(%[[A]], %[[N]])
// CHECK-NEXT: return %[[R]] : tensor<4xf32>
func.func @subtract(%a: !torch.vtensor<[4],f32>, %c: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %one = torch.constant.int 1
  %0 = torch.aten.sub.Tensor %a, %c, %one : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// Half types compute in f32 and round once.
// CHECK-LABEL: func.func @half_scale
// CHECK: "luminal.cast"(%arg0) : (tensor<4xf16>) -> tensor<4xf32>
// CHECK: dense<1.000000e-01> : tensor<f32>
// CHECK: "luminal.mul"
// CHECK-NEXT: "luminal.cast"({{.*}}) : (tensor<4xf32>) -> tensor<4xf16>
func.func @half_scale(%a: !torch.vtensor<[4],f16>) -> !torch.vtensor<[4],f16> {
  %f = torch.constant.float 1.000000e-01
  %0 = torch.aten.mul.Scalar %a, %f : !torch.vtensor<[4],f16>, !torch.float -> !torch.vtensor<[4],f16>
  return %0 : !torch.vtensor<[4],f16>
}

// An integer tensor and a bool promote to the integer's dtype.
// CHECK-LABEL: func.func @promote
// CHECK: "luminal.cast"(%arg1) : (tensor<2xi1>) -> tensor<2xi32>
// CHECK: "luminal.mul"({{.*}}) : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
func.func @promote(%a: !torch.vtensor<[2],si32>, %b: !torch.vtensor<[2],i1>) -> !torch.vtensor<[2],si32> {
  %0 = torch.aten.mul.Tensor %a, %b : !torch.vtensor<[2],si32>, !torch.vtensor<[2],i1> -> !torch.vtensor<[2],si32>
  return %0 : !torch.vtensor<[2],si32>
}
