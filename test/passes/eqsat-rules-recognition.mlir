// RUN: luminal-opt %s --luminal-eqsat=record-rules | filecheck %s

// RULE: neg
// x * -1.
// CHECK-LABEL: func.func @neg(
// CHECK-SAME: "neg"
// CHECK: "kernel.neg"
// CHECK: return
func.func @neg(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// RULE: neg
// Integers as well.
// CHECK-LABEL: func.func @neg_integer(
// CHECK-SAME: "neg"
// CHECK: "kernel.neg"
// CHECK: return
func.func @neg_integer(%arg0: tensor<64xi32>) -> tensor<64xi32> {
  %0 = "luminal.constant"() {value = dense<-1> : tensor<i32>} : () -> tensor<i32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i32>) -> tensor<64xi32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
  return %2 : tensor<64xi32>
}

// x * -2 is no negation.
// CHECK-LABEL: func.func @times_minus_two(
// CHECK-NOT: "neg"
// CHECK: "kernel.mul"
// CHECK: return
func.func @times_minus_two(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-2.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}

// RULE: sub
// a + (-b).
// CHECK-LABEL: func.func @sub(
// CHECK-SAME: "sub"
// CHECK: "kernel.sub"
// CHECK: return
func.func @sub(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg1, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.add"(%arg0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// a + (b + c) is no difference.
// CHECK-LABEL: func.func @add_of_sum(
// CHECK-NOT: "sub"
// CHECK: "kernel.add"
// CHECK: "kernel.add"
// CHECK: return
func.func @add_of_sum(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.add"(%arg1, %arg2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.add"(%arg0, %0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// RULE: div
// a * (1 / b).
// CHECK-LABEL: func.func @div(
// CHECK-SAME: "div"
// CHECK: "kernel.div"
// CHECK: return
func.func @div(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.recip"(%arg1) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.mul"(%arg0, %0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// a * sqrt(b) is no quotient.
// CHECK-LABEL: func.func @mul_of_sqrt(
// CHECK-NOT: "div"
// CHECK: "kernel.sqrt"
// CHECK: "kernel.mul"
// CHECK: return
func.func @mul_of_sqrt(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.sqrt"(%arg1) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.mul"(%arg0, %0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// RULE: exp
// 2^(x log2 e).
// CHECK-LABEL: func.func @exp(
// CHECK-SAME: "exp"
// CHECK: "kernel.exp"
// CHECK: return
func.func @exp(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.exp2"(%2) : (tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// RULE: exp
// The constant is rounded to the dtype.
// CHECK-LABEL: func.func @exp_half(
// CHECK-SAME: "exp"
// CHECK: "kernel.exp"
// CHECK: return
func.func @exp_half(%arg0: tensor<64xf16>) -> tensor<64xf16> {
  %0 = "luminal.constant"() {value = dense<1.4423828125> : tensor<f16>} : () -> tensor<f16>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f16>) -> tensor<64xf16>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf16>, tensor<64xf16>) -> tensor<64xf16>
  %3 = "luminal.exp2"(%2) : (tensor<64xf16>) -> tensor<64xf16>
  return %3 : tensor<64xf16>
}

// 2^(1.5 x) is no power of e.
// CHECK-LABEL: func.func @exp2_scaled(
// CHECK-NOT: "exp"
// CHECK: "kernel.exp2"
// CHECK: return
func.func @exp2_scaled(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<1.5> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.exp2"(%2) : (tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// RULE: log
// log2(x) ln 2.
// CHECK-LABEL: func.func @log(
// CHECK-SAME: "log"
// CHECK: "kernel.log"
// CHECK: return
func.func @log(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.log2"(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.constant"() {value = dense<0.6931472> : tensor<f32>} : () -> tensor<f32>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %3 = "luminal.mul"(%0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// log2(x) * log10(2) is no natural logarithm.
// CHECK-LABEL: func.func @log10(
// CHECK-NOT: "log"
// CHECK: "kernel.log2"
// CHECK: return
func.func @log10(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.log2"(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.constant"() {value = dense<0.30103> : tensor<f32>} : () -> tensor<f32>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %3 = "luminal.mul"(%0, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// RULE: rsqrt
// 1 / sqrt(x).
// CHECK-LABEL: func.func @rsqrt(
// CHECK-SAME: "rsqrt"
// CHECK: "kernel.rsqrt"
// CHECK: return
func.func @rsqrt(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.sqrt"(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.recip"(%0) : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// sqrt(1 / x) stays: 1 / x may overflow.
// CHECK-LABEL: func.func @sqrt_of_recip(
// CHECK-NOT: "rsqrt"
// CHECK: "kernel.recip"
// CHECK: "kernel.sqrt"
// CHECK: return
func.func @sqrt_of_recip(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.recip"(%arg0) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = "luminal.sqrt"(%0) : (tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// RULE: cos
// sin(x + pi/2).
// CHECK-LABEL: func.func @cos(
// CHECK-SAME: "cos"
// CHECK: "kernel.cos"
// CHECK: return
func.func @cos(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<1.5707964> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.add"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.sin"(%2) : (tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// sin(x + 1.5) is no cosine.
// CHECK-LABEL: func.func @sin_shifted(
// CHECK-NOT: "cos"
// CHECK: "kernel.sin"
// CHECK: return
func.func @sin_shifted(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<1.5> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.add"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.sin"(%2) : (tensor<64xf32>) -> tensor<64xf32>
  return %3 : tensor<64xf32>
}

// RULE: sigmoid
// 1 / (1 + e^-x).
// CHECK-LABEL: func.func @sigmoid(
// CHECK-SAME: "sigmoid"
// CHECK: "kernel.sigmoid"
// CHECK: return
func.func @sigmoid(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.mul"(%2, %4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %6 = "luminal.exp2"(%5) : (tensor<64xf32>) -> tensor<64xf32>
  %7 = "luminal.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %8 = "luminal.view"(%7) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %9 = "luminal.add"(%6, %8) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %10 = "luminal.recip"(%9) : (tensor<64xf32>) -> tensor<64xf32>
  return %10 : tensor<64xf32>
}

// 1 / (2 + e^-x) is no sigmoid.
// CHECK-LABEL: func.func @sigmoid_two(
// CHECK-NOT: "sigmoid"
// CHECK: "kernel.exp"
// CHECK: "kernel.recip"
// CHECK: return
func.func @sigmoid_two(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.mul"(%2, %4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %6 = "luminal.exp2"(%5) : (tensor<64xf32>) -> tensor<64xf32>
  %7 = "luminal.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %8 = "luminal.view"(%7) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %9 = "luminal.add"(%6, %8) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %10 = "luminal.recip"(%9) : (tensor<64xf32>) -> tensor<64xf32>
  return %10 : tensor<64xf32>
}

// RULE: tanh
// 2 / (1 + e^(-2x)) - 1.
// CHECK-LABEL: func.func @tanh(
// CHECK-SAME: "tanh"
// CHECK: "kernel.tanh"
// CHECK: return
func.func @tanh(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-2.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.mul"(%2, %4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %6 = "luminal.exp2"(%5) : (tensor<64xf32>) -> tensor<64xf32>
  %7 = "luminal.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %8 = "luminal.view"(%7) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %9 = "luminal.add"(%6, %8) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %10 = "luminal.recip"(%9) : (tensor<64xf32>) -> tensor<64xf32>
  %11 = "luminal.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %12 = "luminal.view"(%11) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %13 = "luminal.mul"(%10, %12) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %14 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %15 = "luminal.view"(%14) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %16 = "luminal.add"(%13, %15) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %16 : tensor<64xf32>
}

// 2 / (1 + e^(-2x)) - 2 is no tanh.
// CHECK-LABEL: func.func @tanh_scaled(
// CHECK-NOT: "tanh"
// CHECK: "kernel.exp"
// CHECK: return
func.func @tanh_scaled(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-2.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.mul"(%2, %4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %6 = "luminal.exp2"(%5) : (tensor<64xf32>) -> tensor<64xf32>
  %7 = "luminal.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %8 = "luminal.view"(%7) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %9 = "luminal.add"(%6, %8) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %10 = "luminal.recip"(%9) : (tensor<64xf32>) -> tensor<64xf32>
  %11 = "luminal.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %12 = "luminal.view"(%11) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %13 = "luminal.mul"(%10, %12) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %14 = "luminal.constant"() {value = dense<-2.0> : tensor<f32>} : () -> tensor<f32>
  %15 = "luminal.view"(%14) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %16 = "luminal.add"(%13, %15) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %16 : tensor<64xf32>
}

// RULE: erf
// Abramowitz and Stegun 7.1.26.
// CHECK-LABEL: func.func @erf(
// CHECK-SAME: "erf"
// CHECK: "kernel.erf"
// CHECK: return
func.func @erf(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.less_than"(%1, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %3 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %6 = "luminal.view"(%5) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %7 = "luminal.mul"(%arg0, %6) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %8 = "luminal.add"(%4, %7) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %9 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %10 = "luminal.view"(%9) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %11 = "luminal.scatter"(%10, %8) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %12 = "luminal.scatter"(%11, %arg0) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %13 = "luminal.cast"(%2) : (tensor<64xi1>) -> tensor<64xi64>
  %14 = "luminal.gather"(%12, %13) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  %15 = "luminal.constant"() {value = dense<0.3275911> : tensor<f32>} : () -> tensor<f32>
  %16 = "luminal.view"(%15) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %17 = "luminal.mul"(%14, %16) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %18 = "luminal.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %19 = "luminal.view"(%18) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %20 = "luminal.add"(%17, %19) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %21 = "luminal.recip"(%20) : (tensor<64xf32>) -> tensor<64xf32>
  %22 = "luminal.constant"() {value = dense<1.0614054> : tensor<f32>} : () -> tensor<f32>
  %23 = "luminal.view"(%22) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %24 = "luminal.mul"(%23, %21) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %25 = "luminal.constant"() {value = dense<-1.4531521> : tensor<f32>} : () -> tensor<f32>
  %26 = "luminal.view"(%25) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %27 = "luminal.add"(%24, %26) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %28 = "luminal.mul"(%27, %21) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %29 = "luminal.constant"() {value = dense<1.4214138> : tensor<f32>} : () -> tensor<f32>
  %30 = "luminal.view"(%29) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %31 = "luminal.add"(%28, %30) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %32 = "luminal.mul"(%31, %21) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %33 = "luminal.constant"() {value = dense<-0.28449672> : tensor<f32>} : () -> tensor<f32>
  %34 = "luminal.view"(%33) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %35 = "luminal.add"(%32, %34) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %36 = "luminal.mul"(%35, %21) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %37 = "luminal.constant"() {value = dense<0.2548296> : tensor<f32>} : () -> tensor<f32>
  %38 = "luminal.view"(%37) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %39 = "luminal.add"(%36, %38) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %40 = "luminal.mul"(%arg0, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %41 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %42 = "luminal.view"(%41) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %43 = "luminal.mul"(%40, %42) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %44 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %45 = "luminal.view"(%44) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %46 = "luminal.mul"(%43, %45) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %47 = "luminal.exp2"(%46) : (tensor<64xf32>) -> tensor<64xf32>
  %48 = "luminal.mul"(%39, %21) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %49 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %50 = "luminal.view"(%49) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %51 = "luminal.mul"(%47, %50) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %52 = "luminal.mul"(%48, %51) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %53 = "luminal.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %54 = "luminal.view"(%53) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %55 = "luminal.add"(%52, %54) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %56 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %57 = "luminal.view"(%56) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %58 = "luminal.less_than"(%57, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %59 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %60 = "luminal.view"(%59) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %61 = "luminal.mul"(%55, %60) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %62 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %63 = "luminal.view"(%62) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %64 = "luminal.scatter"(%63, %61) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %65 = "luminal.scatter"(%64, %55) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %66 = "luminal.cast"(%58) : (tensor<64xi1>) -> tensor<64xi64>
  %67 = "luminal.gather"(%65, %66) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %67 : tensor<64xf32>
}

// Another polynomial is not erf.
// CHECK-LABEL: func.func @erf_other(
// CHECK-NOT: "erf"
// CHECK: "kernel.exp"
// CHECK: return
func.func @erf_other(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.less_than"(%1, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %3 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %6 = "luminal.view"(%5) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %7 = "luminal.mul"(%arg0, %6) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %8 = "luminal.add"(%4, %7) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %9 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %10 = "luminal.view"(%9) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %11 = "luminal.scatter"(%10, %8) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %12 = "luminal.scatter"(%11, %arg0) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %13 = "luminal.cast"(%2) : (tensor<64xi1>) -> tensor<64xi64>
  %14 = "luminal.gather"(%12, %13) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  %15 = "luminal.constant"() {value = dense<0.3275911> : tensor<f32>} : () -> tensor<f32>
  %16 = "luminal.view"(%15) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %17 = "luminal.mul"(%14, %16) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %18 = "luminal.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %19 = "luminal.view"(%18) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %20 = "luminal.add"(%17, %19) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %21 = "luminal.recip"(%20) : (tensor<64xf32>) -> tensor<64xf32>
  %22 = "luminal.constant"() {value = dense<1.0614054> : tensor<f32>} : () -> tensor<f32>
  %23 = "luminal.view"(%22) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %24 = "luminal.mul"(%23, %21) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %25 = "luminal.constant"() {value = dense<-1.4531521> : tensor<f32>} : () -> tensor<f32>
  %26 = "luminal.view"(%25) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %27 = "luminal.add"(%24, %26) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %28 = "luminal.mul"(%27, %21) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %29 = "luminal.constant"() {value = dense<1.4214138> : tensor<f32>} : () -> tensor<f32>
  %30 = "luminal.view"(%29) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %31 = "luminal.add"(%28, %30) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %32 = "luminal.mul"(%31, %21) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %33 = "luminal.constant"() {value = dense<-0.28449672> : tensor<f32>} : () -> tensor<f32>
  %34 = "luminal.view"(%33) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %35 = "luminal.add"(%32, %34) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %36 = "luminal.mul"(%35, %21) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %37 = "luminal.constant"() {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %38 = "luminal.view"(%37) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %39 = "luminal.add"(%36, %38) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %40 = "luminal.mul"(%arg0, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %41 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %42 = "luminal.view"(%41) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %43 = "luminal.mul"(%40, %42) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %44 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %45 = "luminal.view"(%44) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %46 = "luminal.mul"(%43, %45) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %47 = "luminal.exp2"(%46) : (tensor<64xf32>) -> tensor<64xf32>
  %48 = "luminal.mul"(%39, %21) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %49 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %50 = "luminal.view"(%49) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %51 = "luminal.mul"(%47, %50) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %52 = "luminal.mul"(%48, %51) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %53 = "luminal.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %54 = "luminal.view"(%53) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %55 = "luminal.add"(%52, %54) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %56 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %57 = "luminal.view"(%56) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %58 = "luminal.less_than"(%57, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %59 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %60 = "luminal.view"(%59) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %61 = "luminal.mul"(%55, %60) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %62 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %63 = "luminal.view"(%62) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %64 = "luminal.scatter"(%63, %61) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %65 = "luminal.scatter"(%64, %55) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %66 = "luminal.cast"(%58) : (tensor<64xi1>) -> tensor<64xi64>
  %67 = "luminal.gather"(%65, %66) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %67 : tensor<64xf32>
}

// RULE: select
// A stack of two planes, indexed by a condition.
// CHECK-LABEL: func.func @select(
// CHECK-SAME: "select"
// CHECK-NOT: "kernel.to_index"
// CHECK: "kernel.select"
// CHECK: return
func.func @select(%arg0: tensor<64xi1>, %arg1: tensor<64xf32>, %arg2: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %2 = "luminal.scatter"(%1, %arg2) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %3 = "luminal.scatter"(%2, %arg1) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %4 = "luminal.cast"(%arg0) : (tensor<64xi1>) -> tensor<64xi64>
  %5 = "luminal.gather"(%3, %4) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %5 : tensor<64xf32>
}

// An index of three planes is a gather.
// CHECK-LABEL: func.func @lookup(
// CHECK-NOT: "select"
// CHECK: "kernel.to_index"
// CHECK: return
func.func @lookup(%arg0: tensor<3x64xf32>, %arg1: tensor<64xi64>) -> tensor<64xf32> {
  %0 = "luminal.gather"(%arg0, %arg1) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<3x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// The index may be anything, not only 0 and 1 from a condition: the gather clamps it.
// CHECK-LABEL: func.func @lookup_of_two(
// CHECK-NOT: ""select","
// CHECK: "kernel.to_index"
// CHECK: return
func.func @lookup_of_two(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<64xi64>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %2 = "luminal.scatter"(%1, %arg0) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %3 = "luminal.scatter"(%2, %arg1) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %4 = "luminal.gather"(%3, %arg2) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %4 : tensor<64xf32>
}

// RULE: maximum
// The maximum over a stack of two.
// CHECK-LABEL: func.func @maximum(
// CHECK-SAME: "maximum"
// CHECK: "kernel.maximum"
// CHECK: return
func.func @maximum(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %2 = "luminal.scatter"(%1, %arg0) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %3 = "luminal.scatter"(%2, %arg1) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %4 = "luminal.max_reduce"(%3) {axes = array<i64: 0>} : (tensor<2x64xf32>) -> tensor<64xf32>
  return %4 : tensor<64xf32>
}

// RULE: maximum
// On booleans it is or.
// CHECK-LABEL: func.func @maximum_bool(
// CHECK-SAME: "maximum"
// CHECK: "kernel.or"
// CHECK: return
func.func @maximum_bool(%arg0: tensor<64xi1>, %arg1: tensor<64xi1>) -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> ()>} : (tensor<i1>) -> tensor<2x64xi1>
  %2 = "luminal.scatter"(%1, %arg0) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xi1>, tensor<64xi1>) -> tensor<2x64xi1>
  %3 = "luminal.scatter"(%2, %arg1) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xi1>, tensor<64xi1>) -> tensor<2x64xi1>
  %4 = "luminal.max_reduce"(%3) {axes = array<i64: 0>} : (tensor<2x64xi1>) -> tensor<64xi1>
  return %4 : tensor<64xi1>
}

// A sum over a stack of two is no maximum.
// CHECK-LABEL: func.func @sum_of_pair(
// CHECK-NOT: "maximum"
// CHECK: "kernel.reduce"
// CHECK: return
func.func @sum_of_pair(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %2 = "luminal.scatter"(%1, %arg0) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %3 = "luminal.scatter"(%2, %arg1) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %4 = "luminal.sum_reduce"(%3) {axes = array<i64: 0>} : (tensor<2x64xf32>) -> tensor<64xf32>
  return %4 : tensor<64xf32>
}

// RULE: minimum
// -max(-a, -b).
// CHECK-LABEL: func.func @minimum(
// CHECK-SAME: "minimum"
// CHECK: "kernel.minimum"
// CHECK: return
func.func @minimum(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.mul"(%arg1, %4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %6 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %8 = "luminal.scatter"(%7, %2) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %9 = "luminal.scatter"(%8, %5) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %10 = "luminal.max_reduce"(%9) {axes = array<i64: 0>} : (tensor<2x64xf32>) -> tensor<64xf32>
  %11 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %12 = "luminal.view"(%11) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %13 = "luminal.mul"(%10, %12) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %13 : tensor<64xf32>
}

// -max(-a, b) is no minimum.
// CHECK-LABEL: func.func @minimum_half_negated(
// CHECK-NOT: "minimum"
// CHECK: "kernel.maximum"
// CHECK: return
func.func @minimum_half_negated(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mul"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %5 = "luminal.scatter"(%4, %2) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %6 = "luminal.scatter"(%5, %arg1) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %7 = "luminal.max_reduce"(%6) {axes = array<i64: 0>} : (tensor<2x64xf32>) -> tensor<64xf32>
  %8 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %9 = "luminal.view"(%8) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %10 = "luminal.mul"(%7, %9) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %10 : tensor<64xf32>
}

// RULE: abs
// 0 < x ? x : 0 - x.
// CHECK-LABEL: func.func @abs(
// CHECK-SAME: "abs"
// CHECK: "kernel.abs"
// CHECK: return
func.func @abs(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.less_than"(%1, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %3 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %6 = "luminal.view"(%5) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %7 = "luminal.mul"(%arg0, %6) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %8 = "luminal.add"(%4, %7) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %9 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %10 = "luminal.view"(%9) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %11 = "luminal.scatter"(%10, %8) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %12 = "luminal.scatter"(%11, %arg0) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %13 = "luminal.cast"(%2) : (tensor<64xi1>) -> tensor<64xi64>
  %14 = "luminal.gather"(%12, %13) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %14 : tensor<64xf32>
}

// 0 < x ? x : 0 is no magnitude.
// CHECK-LABEL: func.func @relu(
// CHECK-NOT: "abs"
// CHECK: "kernel.select"
// CHECK: return
func.func @relu(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.less_than"(%1, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %3 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %6 = "luminal.view"(%5) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %7 = "luminal.scatter"(%6, %4) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %8 = "luminal.scatter"(%7, %arg0) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %9 = "luminal.cast"(%2) : (tensor<64xi1>) -> tensor<64xi64>
  %10 = "luminal.gather"(%8, %9) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %10 : tensor<64xf32>
}

// RULE: floor
// x - (x mod 1), x where that is 0.
// CHECK-LABEL: func.func @floor(
// CHECK-SAME: "floor"
// CHECK: "kernel.floor"
// CHECK: return
func.func @floor(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mod"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.less_than"(%4, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %6 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %8 = "luminal.mul"(%2, %7) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %9 = "luminal.add"(%arg0, %8) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %10 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %11 = "luminal.view"(%10) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %12 = "luminal.scatter"(%11, %arg0) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %13 = "luminal.scatter"(%12, %9) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %14 = "luminal.cast"(%5) : (tensor<64xi1>) -> tensor<64xi64>
  %15 = "luminal.gather"(%13, %14) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %15 : tensor<64xf32>
}

// x - (x mod 2) is no floor.
// CHECK-LABEL: func.func @round_down_to_two(
// CHECK-NOT: "floor"
// CHECK: "kernel.mod"
// CHECK: return
func.func @round_down_to_two(%arg0: tensor<64xf32>) -> tensor<64xf32> {
  %0 = "luminal.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.mod"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.less_than"(%4, %2) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %6 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %8 = "luminal.mul"(%2, %7) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %9 = "luminal.add"(%arg0, %8) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %10 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %11 = "luminal.view"(%10) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<2x64xf32>
  %12 = "luminal.scatter"(%11, %arg0) {map = affine_map<(d0) -> (0, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %13 = "luminal.scatter"(%12, %9) {map = affine_map<(d0) -> (1, d0)>, mode = "set"} : (tensor<2x64xf32>, tensor<64xf32>) -> tensor<2x64xf32>
  %14 = "luminal.cast"(%5) : (tensor<64xi1>) -> tensor<64xi64>
  %15 = "luminal.gather"(%13, %14) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<2x64xf32>, tensor<64xi64>) -> tensor<64xf32>
  return %15 : tensor<64xf32>
}

// RULE: not
// p < true.
// CHECK-LABEL: func.func @not(
// CHECK-SAME: "not"
// CHECK: "kernel.not"
// CHECK: return
func.func @not(%arg0: tensor<64xi1>) -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.less_than"(%arg0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %2 : tensor<64xi1>
}

// p < false is false, but no negation.
// CHECK-LABEL: func.func @less_than_false(
// CHECK-NOT: "not"
// CHECK: "kernel.less_than"
// CHECK: return
func.func @less_than_false(%arg0: tensor<64xi1>) -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %2 = "luminal.less_than"(%arg0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %2 : tensor<64xi1>
}

// RULE: isnan
// not (x < inf or -inf < x).
// CHECK-LABEL: func.func @isnan(
// CHECK-SAME: "isnan"
// CHECK: "kernel.not_equal"
// CHECK: return
func.func @isnan(%arg0: tensor<64xf32>) -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.less_than"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %3 = "luminal.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.less_than"(%4, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %6 = "luminal.add"(%2, %5) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %7 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %8 = "luminal.view"(%7) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %9 = "luminal.less_than"(%6, %8) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %9 : tensor<64xi1>
}

// A bound below infinity is another question.
// CHECK-LABEL: func.func @is_infinite_or_nan(
// CHECK-NOT: "isnan"
// CHECK: "kernel.less_than"
// CHECK: return
func.func @is_infinite_or_nan(%arg0: tensor<64xf32>) -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %2 = "luminal.less_than"(%arg0, %1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %3 = "luminal.constant"() {value = dense<-3.0> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.less_than"(%4, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %6 = "luminal.add"(%2, %5) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %7 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %8 = "luminal.view"(%7) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %9 = "luminal.less_than"(%6, %8) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %9 : tensor<64xi1>
}

// RULE: not-equal-float
// a < b or b < a or either is NaN.
// CHECK-LABEL: func.func @not_equal(
// CHECK-SAME: "not-equal-float"
// CHECK: "kernel.not_equal"
// CHECK: return
func.func @not_equal(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xi1> {
  %0 = "luminal.less_than"(%arg0, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %1 = "luminal.less_than"(%arg1, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %2 = "luminal.add"(%0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %3 = "luminal.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.less_than"(%arg0, %4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %6 = "luminal.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %8 = "luminal.less_than"(%7, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %9 = "luminal.add"(%5, %8) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %10 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %11 = "luminal.view"(%10) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %12 = "luminal.less_than"(%9, %11) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %13 = "luminal.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
  %14 = "luminal.view"(%13) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %15 = "luminal.less_than"(%arg1, %14) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %16 = "luminal.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %17 = "luminal.view"(%16) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %18 = "luminal.less_than"(%17, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %19 = "luminal.add"(%15, %18) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %20 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %21 = "luminal.view"(%20) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %22 = "luminal.less_than"(%19, %21) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %23 = "luminal.add"(%12, %22) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %24 = "luminal.add"(%2, %23) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %24 : tensor<64xi1>
}

// a < b or b < a is false for NaN: no inequality.
// CHECK-LABEL: func.func @less_or_greater(
// CHECK-NOT: "not-equal-float"
// CHECK-NOT: "not-equal-integer"
// CHECK: "kernel.less_than"
// CHECK: "kernel.less_than"
// CHECK: return
func.func @less_or_greater(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xi1> {
  %0 = "luminal.less_than"(%arg0, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %1 = "luminal.less_than"(%arg1, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %2 = "luminal.add"(%0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %2 : tensor<64xi1>
}

// RULE: equal
// not (a != b).
// CHECK-LABEL: func.func @equal(
// CHECK-SAME: "equal"
// CHECK: "kernel.equal"
// CHECK: return
func.func @equal(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xi1> {
  %0 = "luminal.less_than"(%arg0, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %1 = "luminal.less_than"(%arg1, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %2 = "luminal.add"(%0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %3 = "luminal.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %5 = "luminal.less_than"(%arg0, %4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %6 = "luminal.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %8 = "luminal.less_than"(%7, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %9 = "luminal.add"(%5, %8) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %10 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %11 = "luminal.view"(%10) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %12 = "luminal.less_than"(%9, %11) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %13 = "luminal.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
  %14 = "luminal.view"(%13) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %15 = "luminal.less_than"(%arg1, %14) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %16 = "luminal.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %17 = "luminal.view"(%16) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %18 = "luminal.less_than"(%17, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %19 = "luminal.add"(%15, %18) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %20 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %21 = "luminal.view"(%20) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %22 = "luminal.less_than"(%19, %21) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %23 = "luminal.add"(%12, %22) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %24 = "luminal.add"(%2, %23) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %25 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %26 = "luminal.view"(%25) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %27 = "luminal.less_than"(%24, %26) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %27 : tensor<64xi1>
}

// not (a < b or b < a) is true for NaN: no equality.
// CHECK-LABEL: func.func @not_less_nor_greater(
// CHECK-NOT: "equal"
// CHECK: "kernel.not"
// CHECK: return
func.func @not_less_nor_greater(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xi1> {
  %0 = "luminal.less_than"(%arg0, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %1 = "luminal.less_than"(%arg1, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %2 = "luminal.add"(%0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %3 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %5 = "luminal.less_than"(%2, %4) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %5 : tensor<64xi1>
}

// RULE: less-equal-float
// not (b < a), and neither is NaN.
// CHECK-LABEL: func.func @less_equal(
// CHECK-SAME: "less-equal-float"
// CHECK: "kernel.less_equal"
// CHECK: return
func.func @less_equal(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xi1> {
  %0 = "luminal.less_than"(%arg1, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %1 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %3 = "luminal.less_than"(%0, %2) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %4 = "luminal.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
  %5 = "luminal.view"(%4) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %6 = "luminal.less_than"(%arg0, %5) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %7 = "luminal.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %8 = "luminal.view"(%7) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %9 = "luminal.less_than"(%8, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %10 = "luminal.add"(%6, %9) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %11 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %12 = "luminal.view"(%11) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %13 = "luminal.less_than"(%10, %12) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %14 = "luminal.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
  %15 = "luminal.view"(%14) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %16 = "luminal.less_than"(%arg1, %15) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %17 = "luminal.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %18 = "luminal.view"(%17) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %19 = "luminal.less_than"(%18, %arg1) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %20 = "luminal.add"(%16, %19) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %21 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %22 = "luminal.view"(%21) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %23 = "luminal.less_than"(%20, %22) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %24 = "luminal.add"(%13, %23) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %25 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %26 = "luminal.view"(%25) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %27 = "luminal.less_than"(%24, %26) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %28 = "luminal.mul"(%3, %27) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %28 : tensor<64xi1>
}

// not (b < a) is true for NaN.
// CHECK-LABEL: func.func @not_greater(
// CHECK-NOT: "less-equal-float"
// CHECK-NOT: "less-equal-integer"
// CHECK-NOT: "less-equal-integer-bound"
// CHECK: "kernel.less_than"
// CHECK: "kernel.not"
// CHECK: return
func.func @not_greater(%arg0: tensor<64xf32>, %arg1: tensor<64xf32>) -> tensor<64xi1> {
  %0 = "luminal.less_than"(%arg1, %arg0) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %1 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %3 = "luminal.less_than"(%0, %2) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %3 : tensor<64xi1>
}

// RULE: not-equal-integer
// Integers: a < b or b < a.
// CHECK-LABEL: func.func @not_equal_integer(
// CHECK-SAME: "not-equal-integer"
// CHECK: "kernel.not_equal"
// CHECK: return
func.func @not_equal_integer(%arg0: tensor<64xi64>, %arg1: tensor<64xi64>) -> tensor<64xi1> {
  %0 = "luminal.less_than"(%arg0, %arg1) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
  %1 = "luminal.less_than"(%arg1, %arg0) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
  %2 = "luminal.add"(%0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %2 : tensor<64xi1>
}

// RULE: equal
// RULE: not-equal-integer
// Integers: not (a != b).
// CHECK-LABEL: func.func @equal_integer(
// CHECK-SAME: "equal"
// CHECK-SAME: "not-equal-integer"
// CHECK: "kernel.equal"
// CHECK: return
func.func @equal_integer(%arg0: tensor<64xi32>, %arg1: tensor<64xi32>) -> tensor<64xi1> {
  %0 = "luminal.less_than"(%arg0, %arg1) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
  %1 = "luminal.less_than"(%arg1, %arg0) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
  %2 = "luminal.add"(%0, %1) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %3 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %5 = "luminal.less_than"(%2, %4) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %5 : tensor<64xi1>
}

// RULE: less-equal-integer
// Integers: not (b < a).
// CHECK-LABEL: func.func @less_equal_integer(
// CHECK-SAME: "less-equal-integer"
// CHECK: "kernel.less_equal"
// CHECK: return
func.func @less_equal_integer(%arg0: tensor<64xi64>, %arg1: tensor<64xi64>) -> tensor<64xi1> {
  %0 = "luminal.less_than"(%arg1, %arg0) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
  %1 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %3 = "luminal.less_than"(%0, %2) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %3 : tensor<64xi1>
}

// RULE: less-equal-integer-bound
// Of integers one may be a constant.
// CHECK-LABEL: func.func @less_equal_bound(
// CHECK-SAME: "less-equal-integer-bound"
// CHECK: "kernel.less_equal"
// CHECK: return
func.func @less_equal_bound(%arg0: tensor<64xi32>) -> tensor<64xi1> {
  %0 = "luminal.constant"() {value = dense<3> : tensor<i32>} : () -> tensor<i32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0) -> ()>} : (tensor<i32>) -> tensor<64xi32>
  %2 = "luminal.less_than"(%arg0, %1) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
  %3 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %4 = "luminal.view"(%3) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %5 = "luminal.less_than"(%2, %4) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  return %5 : tensor<64xi1>
}
