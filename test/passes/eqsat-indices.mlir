// RUN: luminal-opt %s --luminal-eqsat | filecheck %s
// CHECK: [[SHIFT:#map[0-9]*]] = affine_map<(d0) -> (d0 + 3)>

// Positions computed from an iota (wrapped where negative, which they never are) make the gather a plain read.
// CHECK-LABEL: func.func @wrapped_iota
// CHECK: "kernel.region"(%arg0)
// CHECK-NOT: to_index
// CHECK-NOT: less_than
// CHECK: map = [[SHIFT]]}
// CHECK: return
func.func @wrapped_iota(%x: tensor<64xf32>) -> tensor<32xf32> {
  %i = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<32xi64>
  %three = "luminal.constant"() {value = dense<3> : tensor<i64>} : () -> tensor<i64>
  %threes = "luminal.view"(%three) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<32xi64>
  %at = "luminal.add"(%i, %threes) : (tensor<32xi64>, tensor<32xi64>) -> tensor<32xi64>
  %zero = "luminal.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %zeros = "luminal.view"(%zero) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<32xi64>
  %negative = "luminal.less_than"(%at, %zeros) : (tensor<32xi64>, tensor<32xi64>) -> tensor<32xi1>
  %wrap = "luminal.cast"(%negative) : (tensor<32xi1>) -> tensor<32xi64>
  %size = "luminal.constant"() {value = dense<64> : tensor<i64>} : () -> tensor<i64>
  %sizes = "luminal.view"(%size) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<32xi64>
  %offset = "luminal.mul"(%wrap, %sizes) : (tensor<32xi64>, tensor<32xi64>) -> tensor<32xi64>
  %index = "luminal.add"(%at, %offset) : (tensor<32xi64>, tensor<32xi64>) -> tensor<32xi64>
  %y = "luminal.gather"(%x, %index) {map = affine_map<(d0, d1) -> (d1)>} : (tensor<64xf32>, tensor<32xi64>) -> tensor<32xf32>
  return %y : tensor<32xf32>
}

// A position past the end is clamped: no plain read.
// CHECK-LABEL: func.func @past_the_end
// CHECK: "kernel.to_index"
// CHECK: return
func.func @past_the_end(%x: tensor<64xf32>) -> tensor<32xf32> {
  %i = "luminal.iota"() {map = affine_map<(d0) -> (d0 * 2 + 3)>} : () -> tensor<32xi64>
  %y = "luminal.gather"(%x, %i) {map = affine_map<(d0, d1) -> (d1)>} : (tensor<64xf32>, tensor<32xi64>) -> tensor<32xf32>
  return %y : tensor<32xf32>
}

// Part of the range lies on each side of the bound: the comparison stays.
// CHECK-LABEL: func.func @undecided
// CHECK: "kernel.less_than"
// CHECK: return
func.func @undecided() -> tensor<32xi1> {
  %i = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<32xi64>
  %c = "luminal.constant"() {value = dense<31> : tensor<i64>} : () -> tensor<i64>
  %cs = "luminal.view"(%c) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<32xi64>
  %y = "luminal.less_than"(%i, %cs) : (tensor<32xi64>, tensor<32xi64>) -> tensor<32xi1>
  return %y : tensor<32xi1>
}

// Between 0 and a huge constant the sum could leave i64: no law applies.
// CHECK-LABEL: func.func @huge
// CHECK: "kernel.add"
// CHECK: return
func.func @huge() -> tensor<32xi64> {
  %i = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<32xi64>
  %c = "luminal.constant"() {value = dense<9223372036854775807> : tensor<i64>} : () -> tensor<i64>
  %cs = "luminal.view"(%c) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<32xi64>
  %y = "luminal.add"(%i, %cs) : (tensor<32xi64>, tensor<32xi64>) -> tensor<32xi64>
  return %y : tensor<32xi64>
}
