// RUN: luminal-opt %s --luminal-eqsat=record-rules | filecheck %s

// RULE: add-commutes
// y add x and x add y are one value: one kernel, and both results are it.
// CHECK-LABEL: func.func @add_commutes(
// CHECK-SAME: "add-commutes"
// CHECK: %[[Y:.*]] = "kernel.region"
// CHECK-NOT: "kernel.region"
// CHECK: return %[[Y]], %[[Y]]
func.func @add_commutes(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = "luminal.add"(%arg0, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.add"(%arg1, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// RULE: mul-commutes
// y mul x and x mul y are one value: one kernel, and both results are it.
// CHECK-LABEL: func.func @mul_commutes(
// CHECK-SAME: "mul-commutes"
// CHECK: %[[Y:.*]] = "kernel.region"
// CHECK-NOT: "kernel.region"
// CHECK: return %[[Y]], %[[Y]]
func.func @mul_commutes(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = "luminal.mul"(%arg0, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.mul"(%arg1, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// x - y and y - x differ.
// CHECK-LABEL: func.func @difference_does_not_commute(
// CHECK: "kernel.region"
// CHECK: "kernel.region"
// CHECK: return
func.func @difference_does_not_commute(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg1, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.add"(%arg0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %4 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %5 = "luminal.view"(%4) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %6 = "luminal.mul"(%arg0, %5) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %7 = "luminal.add"(%arg1, %6) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %3, %7 : tensor<64xf32>, tensor<64xf32>
}

// RULE: mul-one-float
// x * 1.0 = x for every x.
// CHECK-LABEL: func.func @mul_one(
// CHECK-SAME: "mul-one-float"
// CHECK-NEXT: return %arg0
func.func @mul_one(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// RULE: mul-one-float
// In a half type as well.
// CHECK-LABEL: func.func @mul_one_half(
// CHECK-SAME: "mul-one-float"
// CHECK-NEXT: return %arg0
func.func @mul_one_half(%arg0: tensor<64xbf16>) -> tensor<64xbf16> {
  %0 = "luminal.constant"() {value = dense<1.0> : tensor<bf16>} : () -> tensor<bf16>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<bf16>) -> tensor<64xbf16>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xbf16>, tensor<64xbf16>) -> tensor<64xbf16>
  return %2 : tensor<64xbf16>
}

// x * 1.0000001 is not x.
// CHECK-LABEL: func.func @mul_nearly_one(
// CHECK-NOT: "mul-one-float"
// CHECK: "kernel.mul"
// CHECK: return
func.func @mul_nearly_one(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<1.0000001> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// RULE: mul-one-i64
// x * 1 = x.
// CHECK-LABEL: func.func @mul_one_i64(
// CHECK-SAME: "mul-one-i64"
// CHECK-NEXT: return %arg0
func.func @mul_one_i64(%arg0: tensor<64xi64>) -> tensor<64xi64> {
  %0 = "luminal.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  return %2 : tensor<64xi64>
}

// x * 2 is not x.
// CHECK-LABEL: func.func @mul_two_i64(
// CHECK-NOT: "mul-one-i64"
// CHECK: "kernel.mul"
// CHECK: return
func.func @mul_two_i64(%arg0: tensor<64xi64>) -> tensor<64xi64> {
  %0 = "luminal.constant"() {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  return %2 : tensor<64xi64>
}

// RULE: add-zero-i64
// x + 0 = x for integers.
// CHECK-LABEL: func.func @add_zero_i64(
// CHECK-SAME: "add-zero-i64"
// CHECK-NEXT: return %arg0
func.func @add_zero_i64(%arg0: tensor<64xi64>) -> tensor<64xi64> {
  %0 = "luminal.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %2 = "luminal.add"(%arg0, %1) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  return %2 : tensor<64xi64>
}

// x + 1 is not x.
// CHECK-LABEL: func.func @add_one_i64(
// CHECK-NOT: "add-zero-i64"
// CHECK: "kernel.add"
// CHECK: return
func.func @add_one_i64(%arg0: tensor<64xi64>) -> tensor<64xi64> {
  %0 = "luminal.constant"() {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %2 = "luminal.add"(%arg0, %1) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  return %2 : tensor<64xi64>
}

// RULE: mul-zero-i64
// x * 0 = 0 for integers.
// CHECK-LABEL: func.func @mul_zero_i64(
// CHECK-SAME: "mul-zero-i64"
// CHECK-NOT: "kernel.mul"
// CHECK: "kernel.constant"() {value = 0
// CHECK: return
func.func @mul_zero_i64(%arg0: tensor<64xi64>) -> tensor<64xi64> {
  %0 = "luminal.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  return %2 : tensor<64xi64>
}

// RULE: mul-one-i32
// x * 1 = x.
// CHECK-LABEL: func.func @mul_one_i32(
// CHECK-SAME: "mul-one-i32"
// CHECK-NEXT: return %arg0
func.func @mul_one_i32(%arg0: tensor<64xi32>) -> tensor<64xi32> {
  %0 = "luminal.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i32>) -> tensor<64xi32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
  return %2 : tensor<64xi32>
}

// x * 2 is not x.
// CHECK-LABEL: func.func @mul_two_i32(
// CHECK-NOT: "mul-one-i32"
// CHECK: "kernel.mul"
// CHECK: return
func.func @mul_two_i32(%arg0: tensor<64xi32>) -> tensor<64xi32> {
  %0 = "luminal.constant"() {value = dense<2> : tensor<i32>} : () -> tensor<i32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i32>) -> tensor<64xi32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
  return %2 : tensor<64xi32>
}

// RULE: add-zero-i32
// x + 0 = x for integers.
// CHECK-LABEL: func.func @add_zero_i32(
// CHECK-SAME: "add-zero-i32"
// CHECK-NEXT: return %arg0
func.func @add_zero_i32(%arg0: tensor<64xi32>) -> tensor<64xi32> {
  %0 = "luminal.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i32>) -> tensor<64xi32>
  %2 = "luminal.add"(%arg0, %1) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
  return %2 : tensor<64xi32>
}

// x + 1 is not x.
// CHECK-LABEL: func.func @add_one_i32(
// CHECK-NOT: "add-zero-i32"
// CHECK: "kernel.add"
// CHECK: return
func.func @add_one_i32(%arg0: tensor<64xi32>) -> tensor<64xi32> {
  %0 = "luminal.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i32>) -> tensor<64xi32>
  %2 = "luminal.add"(%arg0, %1) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
  return %2 : tensor<64xi32>
}

// RULE: mul-zero-i32
// x * 0 = 0 for integers.
// CHECK-LABEL: func.func @mul_zero_i32(
// CHECK-SAME: "mul-zero-i32"
// CHECK-NOT: "kernel.mul"
// CHECK: "kernel.constant"() {value = 0
// CHECK: return
func.func @mul_zero_i32(%arg0: tensor<64xi32>) -> tensor<64xi32> {
  %0 = "luminal.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i32>) -> tensor<64xi32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
  return %2 : tensor<64xi32>
}

// NaN * 0.0 is NaN and -1.0 * 0.0 is -0.0: the product stays.
// CHECK-LABEL: func.func @mul_zero_float(
// CHECK-NOT: "mul-zero-i64"
// CHECK-NOT: "mul-zero-i32"
// CHECK-NOT: "fast-mul-zero"
// CHECK: "kernel.mul"
// CHECK: return
func.func @mul_zero_float(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// RULE: add-negative-zero
// x + (-0.0) = x for every x.
// CHECK-LABEL: func.func @add_negative_zero(
// CHECK-SAME: "add-negative-zero"
// CHECK-NEXT: return %arg0
func.func @add_negative_zero(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.add"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// -0.0 + 0.0 is 0.0: the sum stays.
// CHECK-LABEL: func.func @add_zero_float(
// CHECK-NOT: "add-negative-zero"
// CHECK-NOT: "fast-add-zero"
// CHECK: "kernel.add"
// CHECK: return
func.func @add_zero_float(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.add"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// RULE: sub-zero-float
// x - 0.0 = x for every x, -0.0 included.
// CHECK-LABEL: func.func @sub_zero(
// CHECK-SAME: "sub-zero-float"
// CHECK-NEXT: return %arg0
func.func @sub_zero(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %4 = "luminal.mul"(%1, %3) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %5 = "luminal.add"(%arg0, %4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %5 : tensor<64xf32>
}

// -0.0 - (-0.0) is 0.0: the difference stays.
// CHECK-LABEL: func.func @sub_negative_zero(
// CHECK-NOT: "sub-zero-float"
// CHECK: "kernel.sub"
// CHECK: return
func.func @sub_negative_zero(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %4 = "luminal.mul"(%1, %3) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %5 = "luminal.add"(%arg0, %4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %5 : tensor<64xf32>
}

// 0.0 - x is not -x: 0.0 - 0.0 is 0.0.
// CHECK-LABEL: func.func @zero_minus(
// CHECK-NOT: "sub-zero-float"
// CHECK: "kernel.sub"
// CHECK: return
func.func @zero_minus(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %4 = "luminal.mul"(%arg0, %3) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %5 = "luminal.add"(%1, %4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %5 : tensor<64xf32>
}

// RULE: and-true
// p and true = p.
// CHECK-LABEL: func.func @and_true(
// CHECK-SAME: "and-true"
// CHECK-NEXT: return %arg0
func.func @and_true(%arg0: tensor<64xi1>) -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %2 : tensor<64xi1>
}

// RULE: or-false
// p or false = p.
// CHECK-LABEL: func.func @or_false(
// CHECK-SAME: "or-false"
// CHECK-NEXT: return %arg0
func.func @or_false(%arg0: tensor<64xi1>) -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.add"(%arg0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %2 : tensor<64xi1>
}

// RULE: and-false
// p and false = false.
// CHECK-LABEL: func.func @and_false(
// CHECK-SAME: "and-false"
// CHECK-NOT: "kernel.and"
// CHECK: value = false
// CHECK: return
func.func @and_false(%arg0: tensor<64xi1>) -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %2 : tensor<64xi1>
}

// RULE: or-true
// p or true = true.
// CHECK-LABEL: func.func @or_true(
// CHECK-SAME: "or-true"
// CHECK-NOT: "kernel.or"
// CHECK: value = true
// CHECK: return
func.func @or_true(%arg0: tensor<64xi1>) -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.add"(%arg0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %2 : tensor<64xi1>
}

// Neither operand is known.
// CHECK-LABEL: func.func @and_or_of_two(
// CHECK-NOT: "and-true"
// CHECK-NOT: "or-false"
// CHECK-NOT: "and-false"
// CHECK-NOT: "or-true"
// CHECK: "kernel.and"
// CHECK: "kernel.or"
// CHECK: return
func.func @and_or_of_two(%arg0: tensor<64xi1>, %arg1: tensor<64xi1>) -> tensor<64xi1> {
  %0 = "luminal.mul"(%arg0, %arg1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %1 = "luminal.add"(%0, %arg1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %1 : tensor<64xi1>
}

// RULE: not-false
// not false = true.
// CHECK-LABEL: func.func @not_false(
// CHECK-SAME: "not-false"
// CHECK-NOT: "kernel.not"
// CHECK: value = true
// CHECK: return
func.func @not_false() -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %3 = "luminal.view"(%2) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %4 = "luminal.less_than"(%1, %3) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %4 : tensor<64xi1>
}

// RULE: not-true
// not true = false.
// CHECK-LABEL: func.func @not_true(
// CHECK-SAME: "not-true"
// CHECK-NOT: "kernel.not"
// CHECK: value = false
// CHECK: return
func.func @not_true() -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %3 = "luminal.view"(%2) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %4 = "luminal.less_than"(%1, %3) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %4 : tensor<64xi1>
}

// Nothing is known about p.
// CHECK-LABEL: func.func @not_unknown(
// CHECK-NOT: "not-false"
// CHECK-NOT: "not-true"
// CHECK: "kernel.not"
// CHECK: return
func.func @not_unknown(%arg0: tensor<64xi1>) -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.less_than"(%arg0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %2 : tensor<64xi1>
}

// RULE: cast-false
// A cast of false is 0.
// CHECK-LABEL: func.func @cast_false(
// CHECK-SAME: "cast-false"
// CHECK-NOT: "kernel.cast"
// CHECK: value = 0.000000e+00 : f32
// CHECK: return
func.func @cast_false() -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.cast"(%1) : (tensor<64xi1>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// RULE: cast-true
// A cast of true is 1.
// CHECK-LABEL: func.func @cast_true(
// CHECK-SAME: "cast-true"
// CHECK-NOT: "kernel.cast"
// CHECK: value = 1 : i32
// CHECK: return
func.func @cast_true() -> tensor<64xi32> {
  %0 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.cast"(%1) : (tensor<64xi1>) -> tensor<64xi32>
  return %2 : tensor<64xi32>
}

// Nothing is known about p.
// CHECK-LABEL: func.func @cast_unknown(
// CHECK-NOT: "cast-false"
// CHECK-NOT: "cast-true"
// CHECK: "kernel.cast"
// CHECK: return
func.func @cast_unknown(%arg0: tensor<64xi1>) -> tensor<64xf32> {
  %0 = "luminal.cast"(%arg0) : (tensor<64xi1>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// RULE: select-true
// A choice by true.
// CHECK-LABEL: func.func @select_true(
// CHECK-SAME: "select-true"
// CHECK-NEXT: return %arg0
func.func @select_true(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %4 = "luminal.scatter"(%3, %arg1) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %5 = "luminal.scatter"(%4, %arg0) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %6 = "luminal.cast"(%1) : (tensor<64xi1>) -> tensor<64xi64>
  %7 = "luminal.gather"(%5, %6) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %7 : tensor<64xf32>
}

// RULE: select-false
// A choice by false.
// CHECK-LABEL: func.func @select_false(
// CHECK-SAME: "select-false"
// CHECK-NEXT: return %arg1
func.func @select_false(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %4 = "luminal.scatter"(%3, %arg1) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %5 = "luminal.scatter"(%4, %arg0) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %6 = "luminal.cast"(%1) : (tensor<64xi1>) -> tensor<64xi64>
  %7 = "luminal.gather"(%5, %6) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %7 : tensor<64xf32>
}

// RULE: select-same
// Both branches are x: the condition does not matter.
// CHECK-LABEL: func.func @select_same(
// CHECK-SAME: "select-same"
// CHECK-NEXT: return %arg1
func.func @select_same(%arg0: tensor<64xi1>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %2 = "luminal.scatter"(%1, %arg1) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %3 = "luminal.scatter"(%2, %arg1) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %4 = "luminal.cast"(%arg0) : (tensor<64xi1>) -> tensor<64xi64>
  %5 = "luminal.gather"(%3, %4) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %5 : tensor<64xf32>
}

// Neither the condition nor the branches are known.
// CHECK-LABEL: func.func @select_unknown(
// CHECK-NOT: "select-false"
// CHECK-NOT: "select-same"
// CHECK-NOT: "select-true"
// CHECK: "kernel.select"
// CHECK: return
func.func @select_unknown(%arg0: tensor<64xi1>, %arg1: tensor<64xf32>, %arg2: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %2 = "luminal.scatter"(%1, %arg2) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %3 = "luminal.scatter"(%2, %arg1) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %4 = "luminal.cast"(%arg0) : (tensor<64xi1>) -> tensor<64xi64>
  %5 = "luminal.gather"(%3, %4) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %5 : tensor<64xf32>
}

// RULE: neg-neg
// -(-x) = x flips the sign bit twice.
// CHECK-LABEL: func.func @neg_neg(
// CHECK-SAME: "neg-neg"
// CHECK-NEXT: return %arg0
func.func @neg_neg(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.mul"(%2, %4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %5 : tensor<64xf32>
}

// RULE: not-not
// not not p = p.
// CHECK-LABEL: func.func @not_not(
// CHECK-SAME: "not-not"
// CHECK-NEXT: return %arg0
func.func @not_not(%arg0: tensor<64xi1>) -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.less_than"(%arg0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %3 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %5 = "luminal.less_than"(%2, %4) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %5 : tensor<64xi1>
}

// One negation stays.
// CHECK-LABEL: func.func @not_neg(
// CHECK-NOT: "neg-neg"
// CHECK-NOT: "not-not"
// CHECK: "kernel.neg"
// CHECK: return
func.func @not_neg(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// RULE: div-by-power-of-two
// RULE: want-exact-reciprocal
// x / 8 = x * 0.125 exactly.
// CHECK-LABEL: func.func @div_by_power_of_two(
// CHECK-SAME: "div-by-power-of-two"
// CHECK-SAME: "want-exact-reciprocal"
// CHECK-NOT: "kernel.div"
// CHECK: value = 1.250000e-01 : f32
// CHECK: "kernel.mul"
// CHECK: return
func.func @div_by_power_of_two(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<8.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.recip"(%1) : (tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.mul"(%arg0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// RULE: want-exact-reciprocal
// 1 / 3 is rounded: x / 3 stays.
// CHECK-LABEL: func.func @div_by_three(
// CHECK-SAME: "want-exact-reciprocal"
// CHECK-NOT: "div-by-power-of-two"
// CHECK-NOT: "fast-div-constant"
// CHECK: "kernel.div"
// CHECK: return
func.func @div_by_three(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.recip"(%1) : (tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.mul"(%arg0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// 1 / 2^-140 overflows: the quotient stays.
// CHECK-LABEL: func.func @div_by_tiny(
// CHECK-NOT: "div-by-power-of-two"
// CHECK: "kernel.div"
// CHECK: return
func.func @div_by_tiny(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<7.17e-43> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.recip"(%1) : (tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.mul"(%arg0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}
