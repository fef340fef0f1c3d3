// RUN: luminal-opt %s --split-input-file --pass-pipeline='builtin.module(outline-layers{min-ops=3})' | filecheck %s

// Two equal blocks become two calls; weights stay weights, and a shared constant moves in.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = call @layer0(%arg0, %arg1)
// CHECK-NEXT: %[[B:.*]] = call @layer0(%[[A]], %arg2)
// CHECK-NEXT: return %[[B]]
// CHECK: func.func private @layer0
// CHECK-SAME: {luminal.kind = "weight"}
// CHECK: luminal.constant
// CHECK: luminal.add
// CHECK: return
func.func @main(%x: tensor<4xf32> {luminal.kind = "input"}, %w0: tensor<4xf32> {luminal.kind = "weight"},
                %w1: tensor<4xf32> {luminal.kind = "weight"}) -> tensor<4xf32> {
  %c = "luminal.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %two = "luminal.view"(%c) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<4xf32>
  %a0 = "luminal.mul"(%x, %w0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %a1 = "luminal.mul"(%a0, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %a2 = "luminal.sin"(%a1) : (tensor<4xf32>) -> tensor<4xf32>
  %a3 = "luminal.add"(%a2, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b0 = "luminal.mul"(%a3, %w1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b1 = "luminal.mul"(%b0, %two) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b2 = "luminal.sin"(%b1) : (tensor<4xf32>) -> tensor<4xf32>
  %b3 = "luminal.add"(%b2, %a3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %b3 : tensor<4xf32>
}

// -----

// Nothing repeats: nothing changes.
// CHECK-LABEL: func.func @main
// CHECK-NOT: call
// CHECK: luminal.sqrt
// CHECK: return
// CHECK-NOT: @layer0
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "luminal.sin"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "luminal.exp2"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "luminal.log2"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "luminal.sqrt"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
