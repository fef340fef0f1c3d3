// RUN: luminal-opt %s --luminal-eqsat=record-rules | filecheck %s

// RULE: inline-producer
// A producer is evaluated where it is read: two steps are one kernel.
// CHECK-LABEL: func.func @inline_producer(
// CHECK-SAME: "inline-producer"
// CHECK: "kernel.region"
// CHECK-NOT: "kernel.region"
// CHECK: return
func.func @inline_producer(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.sqrt"(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.mul"(%0, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// RULE: copy-is-source
// A tensor that only reads another one of the same shape is that tensor.
// CHECK-LABEL: func.func @copy(
// CHECK-SAME: "copy-is-source"
// CHECK: "kernel.region"
// CHECK-NOT: "kernel.region"
// CHECK: return
func.func @copy(%arg0: tensor<64xf16>) -> tensor<64xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0) -> (d0)>} : (tensor<64xf16>) -> tensor<64xf16>
  %1 = "luminal.cast"(%0) : (tensor<64xf16>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// A tensor that spreads another one is not.
// CHECK-LABEL: func.func @spread(
// CHECK-NOT: "copy-is-source"
// CHECK: "kernel.region"
// CHECK: return
func.func @spread(%arg0: tensor<8xf32>) -> tensor<8x8xf32> {
  %0 = "luminal.view"(%arg0) {map = affine_map<(d0, d1) -> (d1)>} : (tensor<8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
