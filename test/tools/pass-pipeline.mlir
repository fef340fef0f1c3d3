// Upstream passes and luminal's stand in one pipeline, in their order.
// RUN: luminal-opt %s --pass-pipeline='builtin.module(func.func(cse),luminal-eqsat{panel-width=0},symbol-dce)' | filecheck %s
// The same from stdin, and as single-pass flags with one dash or two.
// RUN: cat %s | luminal-opt - -cse --luminal-eqsat=panel-width=0 --symbol-dce | filecheck %s

// CHECK-LABEL: func.func @twice
// CHECK: kernel.region
// CHECK: kernel.sqrt
// CHECK-NOT: kernel.sqrt
// CHECK: kernel.add
// CHECK-NOT: luminal.
// CHECK-NOT: @unused
func.func @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = "luminal.sqrt"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = "luminal.sqrt"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %c = "luminal.add"(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %c : tensor<8xf32>
}

func.func private @unused(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
