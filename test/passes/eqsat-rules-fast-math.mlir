// RUN: luminal-opt %s --luminal-eqsat="record-rules fast-math" | filecheck %s

// RULE: fast-mul-zero
// x * 0 = 0, but NaN * 0 is NaN.
// CHECK-LABEL: func.func @mul_zero(
// CHECK-SAME: "fast-mul-zero"
// CHECK-NOT: "kernel.mul"
// CHECK: value = 0.0
// CHECK: return
func.func @mul_zero(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// RULE: fast-add-zero
// x + 0 = x, but -0.0 + 0.0 is 0.0.
// CHECK-LABEL: func.func @add_zero(
// CHECK-SAME: "fast-add-zero"
// CHECK-NEXT: return %arg0
func.func @add_zero(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.add"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// RULE: fast-sub-self
// x - x = 0, but inf - inf is NaN.
// CHECK-LABEL: func.func @sub_self(
// CHECK-SAME: "fast-sub-self"
// CHECK-NOT: "kernel.sub"
// CHECK: value = 0.0
// CHECK: return
func.func @sub_self(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.add"(%arg0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// RULE: fast-div-self
// x / x = 1, but 0 / 0 is NaN.
// CHECK-LABEL: func.func @div_self(
// CHECK-SAME: "fast-div-self"
// CHECK-NOT: "kernel.div"
// CHECK: value = 1.0
// CHECK: return
func.func @div_self(%arg0: tensor<64xf64>) -> tensor<64xf64> {
  %0 = "luminal.recip"(%arg0) : (tensor<64xf64>) -> tensor<64xf64>
  %1 = "luminal.mul"(%arg0, %0) : (tensor<64xf64>, tensor<64xf64>) -> tensor<64xf64>
  return %1 : tensor<64xf64>
}

// RULE: fast-add-sub
// (x + a) - a = x, but the sum is rounded.
// CHECK-LABEL: func.func @add_sub(
// CHECK-SAME: "fast-add-sub"
// CHECK-NEXT: return %arg0
func.func @add_sub(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.add"(%arg0, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %3 = "luminal.mul"(%arg1, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %4 = "luminal.add"(%0, %3) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %4 : tensor<64xf32>
}

// RULE: fast-sub-add
// (x - a) + a = x, but the difference is rounded.
// CHECK-LABEL: func.func @sub_add(
// CHECK-SAME: "fast-sub-add"
// CHECK-NEXT: return %arg0
func.func @sub_add(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg1, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.add"(%arg0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %4 = "luminal.add"(%3, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %4 : tensor<64xf32>
}

// RULE: fast-mul-div
// (x a) / a = x, but the product is rounded and may overflow.
// CHECK-LABEL: func.func @mul_div(
// CHECK-SAME: "fast-mul-div"
// CHECK-NEXT: return %arg0
func.func @mul_div(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.mul"(%arg0, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.recip"(%arg1) : (tensor<64xf32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// RULE: fast-div-mul
// (x / a) a = x, but the quotient is rounded.
// CHECK-LABEL: func.func @div_mul(
// CHECK-SAME: "fast-div-mul"
// CHECK-NEXT: return %arg0
func.func @div_mul(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.recip"(%arg1) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.mul"(%arg0, %0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%1, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// RULE: fast-log-exp
// log e^x = x, but e^x overflows and rounds.
// CHECK-LABEL: func.func @log_exp(
// CHECK-SAME: "fast-log-exp"
// CHECK-NEXT: return %arg0
func.func @log_exp(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.exp2"(%2) : (tensor<64xf32>) -> tensor<64xf32>
  %4 = "luminal.log2"(%3) : (tensor<64xf32>) -> tensor<64xf32>
  %5 = "luminal.constant"() {value = dense<0.6931472> : tensor<f32>} : () -> tensor<f32>
  %6 = "luminal.view"(%5) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %7 = "luminal.mul"(%4, %6) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %7 : tensor<64xf32>
}

// RULE: fast-exp-log
// e^(log x) = x, but the logarithm of a negative number is NaN.
// CHECK-LABEL: func.func @exp_log(
// CHECK-SAME: "fast-exp-log"
// CHECK-NEXT: return %arg0
func.func @exp_log(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.log2"(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.constant"() {value = dense<0.6931472> : tensor<f32>} : () -> tensor<f32>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %3 = "luminal.mul"(%0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %4 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %5 = "luminal.view"(%4) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %6 = "luminal.mul"(%3, %5) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %7 = "luminal.exp2"(%6) : (tensor<64xf32>) -> tensor<64xf32>
  return %7 : tensor<64xf32>
}

// RULE: fast-log2-exp2
// log2 2^x = x, but 2^x overflows and rounds.
// CHECK-LABEL: func.func @log2_exp2(
// CHECK-SAME: "fast-log2-exp2"
// CHECK-NEXT: return %arg0
func.func @log2_exp2(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.exp2"(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.log2"(%0) : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// RULE: fast-exp2-log2
// 2^(log2 x) = x, but the logarithm of a negative number is NaN.
// CHECK-LABEL: func.func @exp2_log2(
// CHECK-SAME: "fast-exp2-log2"
// CHECK-NEXT: return %arg0
func.func @exp2_log2(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.log2"(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.exp2"(%0) : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// RULE: fast-sqrt-squared
// sqrt(x)^2 = x, but the root of a negative number is NaN.
// CHECK-LABEL: func.func @sqrt_squared(
// CHECK-SAME: "fast-sqrt-squared"
// CHECK-NEXT: return %arg0
func.func @sqrt_squared(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.sqrt"(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.mul"(%0, %0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// RULE: fast-div-constant
// RULE: want-reciprocal
// x / 3 = x * (1 / 3), but 1 / 3 is rounded.
// CHECK-LABEL: func.func @div_constant(
// CHECK-SAME: "fast-div-constant"
// CHECK-SAME: "want-reciprocal"
// CHECK-NOT: "kernel.div"
// CHECK: "kernel.mul"
// CHECK: return
func.func @div_constant(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.recip"(%1) : (tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.mul"(%arg0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// RULE: want-reciprocal
// x / 0 stays: there is no 1 / 0.
// CHECK-LABEL: func.func @not_even_fast(
// CHECK-SAME: "want-reciprocal"
// CHECK-NOT: "fast-div-constant"
// CHECK: "kernel.div"
// CHECK: return
func.func @not_even_fast(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.recip"(%1) : (tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.mul"(%arg0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// No law is invented for what has none.
// CHECK-LABEL: func.func @max_of_sum(
// CHECK-NOT: "fast-"
// CHECK: "kernel.add"
// CHECK: "kernel.maximum"
// CHECK: return
func.func @max_of_sum(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.add"(%arg0, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %2 = "luminal.view"(%1) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %3 = "luminal.scatter"(%2, %0) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %4 = "luminal.scatter"(%3, %arg1) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %5 = "luminal.max_reduce"(%4) {axes = array<i64: 0>} : (tensor<2x64xf32>) -> tensor<64xf32>
  return %5 : tensor<64xf32>
}
