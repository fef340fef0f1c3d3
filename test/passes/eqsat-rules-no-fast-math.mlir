// RUN: luminal-opt %s --luminal-eqsat=record-rules | filecheck %s

// x * 0 = 0, but NaN * 0 is NaN.
// CHECK-LABEL: func.func @mul_zero(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.mul"
// CHECK: return
func.func @mul_zero(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// x + 0 = x, but -0.0 + 0.0 is 0.0.
// CHECK-LABEL: func.func @add_zero(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.add"
// CHECK: return
func.func @add_zero(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.add"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// x - x = 0, but inf - inf is NaN.
// CHECK-LABEL: func.func @sub_self(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.sub"
// CHECK: return
func.func @sub_self(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.add"(%arg0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// x / x = 1, but 0 / 0 is NaN.
// CHECK-LABEL: func.func @div_self(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.div"
// CHECK: return
func.func @div_self(%arg0: tensor<64xf64>) -> tensor<64xf64> {
  %0 = "luminal.recip"(%arg0) : (tensor<64xf64>) -> tensor<64xf64>
  %1 = "luminal.mul"(%arg0, %0) : (tensor<64xf64>, tensor<64xf64>) -> tensor<64xf64>
  return %1 : tensor<64xf64>
}

// (x + a) - a = x, but the sum is rounded.
// CHECK-LABEL: func.func @add_sub(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.add"
// CHECK: "kernel.sub"
// CHECK: return
func.func @add_sub(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.add"(%arg0, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %3 = "luminal.mul"(%arg1, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %4 = "luminal.add"(%0, %3) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %4 : tensor<64xf32>
}

// (x - a) + a = x, but the difference is rounded.
// CHECK-LABEL: func.func @sub_add(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.sub"
// CHECK: "kernel.add"
// CHECK: return
func.func @sub_add(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg1, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.add"(%arg0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %4 = "luminal.add"(%3, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %4 : tensor<64xf32>
}

// (x a) / a = x, but the product is rounded and may overflow.
// CHECK-LABEL: func.func @mul_div(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.mul"
// CHECK: "kernel.div"
// CHECK: return
func.func @mul_div(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.mul"(%arg0, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.recip"(%arg1) : (tensor<64xf32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// (x / a) a = x, but the quotient is rounded.
// CHECK-LABEL: func.func @div_mul(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.div"
// CHECK: "kernel.mul"
// CHECK: return
func.func @div_mul(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.recip"(%arg1) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.mul"(%arg0, %0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%1, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// log e^x = x, but e^x overflows and rounds.
// CHECK-LABEL: func.func @log_exp(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.exp"
// CHECK: "kernel.log"
// CHECK: return
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

// e^(log x) = x, but the logarithm of a negative number is NaN.
// CHECK-LABEL: func.func @exp_log(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.log"
// CHECK: "kernel.exp"
// CHECK: return
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

// log2 2^x = x, but 2^x overflows and rounds.
// CHECK-LABEL: func.func @log2_exp2(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.exp2"
// CHECK: "kernel.log2"
// CHECK: return
func.func @log2_exp2(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.exp2"(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.log2"(%0) : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// 2^(log2 x) = x, but the logarithm of a negative number is NaN.
// CHECK-LABEL: func.func @exp2_log2(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.log2"
// CHECK: "kernel.exp2"
// CHECK: return
func.func @exp2_log2(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.log2"(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.exp2"(%0) : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// sqrt(x)^2 = x, but the root of a negative number is NaN.
// CHECK-LABEL: func.func @sqrt_squared(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.sqrt"
// CHECK: "kernel.mul"
// CHECK: return
func.func @sqrt_squared(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.sqrt"(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.mul"(%0, %0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// x / 3 = x * (1 / 3), but 1 / 3 is rounded.
// CHECK-LABEL: func.func @div_constant(
// CHECK-NOT: "fast-"
// CHECK-NOT: "want-reciprocal"
// CHECK: "kernel.div"
// CHECK: return
func.func @div_constant(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.recip"(%1) : (tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.mul"(%arg0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}
