// RUN: luminal-opt %s --luminal-eqsat=record-rules | filecheck %s

// RULE: softmax
// RULE: softmax-rows
// A row of weights, once read by nothing else.
// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: "softmax"
// CHECK-SAME: "softmax-rows"
// CHECK-NOT: "online-softmax"
// CHECK: "kernel.region"
// CHECK: return
func.func @softmax(%arg0: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = "luminal.max_reduce"(%arg0) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %2 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %4 = "luminal.mul"(%1, %3) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = "luminal.add"(%arg0, %4) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %8 = "luminal.mul"(%5, %7) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %9 = "luminal.exp2"(%8) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %10 = "luminal.sum_reduce"(%9) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %11 = "luminal.view"(%10) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %12 = "luminal.recip"(%11) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %13 = "luminal.mul"(%9, %12) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %13 : tensor<64x64xf32>
}

// Not the maximum of the row itself: no softmax.
// CHECK-LABEL: func.func @other_maximum(
// CHECK-NOT: "softmax"
// CHECK: "kernel.exp"
// CHECK: return
func.func @other_maximum(%arg0: tensor<64x64xf32>, %arg1: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = "luminal.max_reduce"(%arg1) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %2 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %4 = "luminal.mul"(%1, %3) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = "luminal.add"(%arg0, %4) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %8 = "luminal.mul"(%5, %7) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %9 = "luminal.exp2"(%8) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %10 = "luminal.sum_reduce"(%9) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %11 = "luminal.view"(%10) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %12 = "luminal.recip"(%11) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %13 = "luminal.mul"(%9, %12) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %13 : tensor<64x64xf32>
}

// RULE: online-softmax
// RULE: reads-softmax
// RULE: softmax
// RULE: want-stream
// softmax(x) v in one pass over the keys.
// CHECK-LABEL: func.func @attend(
// CHECK-SAME: "online-softmax"
// CHECK-SAME: "reads-softmax"
// CHECK-SAME: "softmax"
// CHECK-SAME: "want-stream"
// CHECK: "kernel.attention"
// CHECK: return
func.func @attend(%arg0: tensor<64x64xf32>, %arg1: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %0 = "luminal.max_reduce"(%arg0) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %2 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %4 = "luminal.mul"(%1, %3) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = "luminal.add"(%arg0, %4) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %8 = "luminal.mul"(%5, %7) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %9 = "luminal.exp2"(%8) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %10 = "luminal.sum_reduce"(%9) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %11 = "luminal.view"(%10) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %12 = "luminal.recip"(%11) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %13 = "luminal.mul"(%9, %12) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %14 = "luminal.view"(%13) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<64x64xf32>) -> tensor<64x16x64xf32>
  %15 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d2, d1)>} : (tensor<64x16xf32>) -> tensor<64x16x64xf32>
  %16 = "luminal.mul"(%14, %15) : (tensor<64x16x64xf32>, tensor<64x16x64xf32>) -> tensor<64x16x64xf32>
  %17 = "luminal.sum_reduce"(%16) {axes = array<i64: 2>} : (tensor<64x16x64xf32>) -> tensor<64x16xf32>
  return %17 : tensor<64x16xf32>
}

// RULE: online-softmax
// RULE: softmax-or-zero
// RULE: softmax-or-zero-rows
// Rows that are -inf throughout give 0.
// CHECK-LABEL: func.func @attend_or_zero(
// CHECK-SAME: "online-softmax"
// CHECK-SAME: "softmax-or-zero"
// CHECK-SAME: "softmax-or-zero-rows"
// CHECK: "kernel.attention"
// CHECK: zero_empty_rows
// CHECK: return
func.func @attend_or_zero(%arg0: tensor<64x64xf32>, %arg1: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %0 = "luminal.max_reduce"(%arg0) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %2 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %4 = "luminal.mul"(%1, %3) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = "luminal.add"(%arg0, %4) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %8 = "luminal.mul"(%5, %7) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %9 = "luminal.exp2"(%8) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %10 = "luminal.sum_reduce"(%9) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %11 = "luminal.view"(%10) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %12 = "luminal.recip"(%11) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %13 = "luminal.mul"(%9, %12) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %14 = "luminal.max_reduce"(%arg0) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %15 = "luminal.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %16 = "luminal.view"(%15) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %17 = "luminal.less_than"(%14, %16) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %18 = "luminal.less_than"(%16, %14) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %19 = "luminal.add"(%17, %18) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %20 = "luminal.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
  %21 = "luminal.view"(%20) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %22 = "luminal.less_than"(%14, %21) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %23 = "luminal.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %24 = "luminal.view"(%23) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %25 = "luminal.less_than"(%24, %14) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %26 = "luminal.add"(%22, %25) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %27 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %28 = "luminal.view"(%27) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %29 = "luminal.less_than"(%26, %28) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %30 = "luminal.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
  %31 = "luminal.view"(%30) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %32 = "luminal.less_than"(%16, %31) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %33 = "luminal.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %34 = "luminal.view"(%33) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %35 = "luminal.less_than"(%34, %16) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %36 = "luminal.add"(%32, %35) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %37 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %38 = "luminal.view"(%37) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %39 = "luminal.less_than"(%36, %38) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %40 = "luminal.add"(%29, %39) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %41 = "luminal.add"(%19, %40) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %42 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %43 = "luminal.view"(%42) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %44 = "luminal.less_than"(%41, %43) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %45 = "luminal.view"(%44) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xi1>) -> tensor<64x64xi1>
  %46 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %47 = "luminal.view"(%46) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %48 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %49 = "luminal.view"(%48) {map = affine_map<(d0, d1, d2) -> ()>} : (tensor<f32>) -> tensor<2x64x64xf32>
  %50 = "luminal.scatter"(%49, %13) {map = affine_map<(d0, d1) -> (0, d0, d1)>, mode = "set"} : (tensor<2x64x64xf32>, tensor<64x64xf32>) -> tensor<2x64x64xf32>
  %51 = "luminal.scatter"(%50, %47) {map = affine_map<(d0, d1) -> (1, d0, d1)>, mode = "set"} : (tensor<2x64x64xf32>, tensor<64x64xf32>) -> tensor<2x64x64xf32>
  %52 = "luminal.cast"(%45) : (tensor<64x64xi1>) -> tensor<64x64xi64>
  %53 = "luminal.gather"(%51, %52) {map = affine_map<(d0, d1, d2) -> (d2, d0, d1)>} : (tensor<2x64x64xf32>, tensor<64x64xi64>) -> tensor<64x64xf32>
  %54 = "luminal.view"(%53) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<64x64xf32>) -> tensor<64x16x64xf32>
  %55 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d2, d1)>} : (tensor<64x16xf32>) -> tensor<64x16x64xf32>
  %56 = "luminal.mul"(%54, %55) : (tensor<64x16x64xf32>, tensor<64x16x64xf32>) -> tensor<64x16x64xf32>
  %57 = "luminal.sum_reduce"(%56) {axes = array<i64: 2>} : (tensor<64x16x64xf32>) -> tensor<64x16xf32>
  return %57 : tensor<64x16xf32>
}

// Rows that are -inf throughout give 1: another function.
// CHECK-LABEL: func.func @attend_or_one(
// CHECK-NOT: "softmax-or-zero"
// CHECK-NOT: "online-softmax"
// CHECK-NOT: "kernel.attention"
// CHECK: return
func.func @attend_or_one(%arg0: tensor<64x64xf32>, %arg1: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %0 = "luminal.max_reduce"(%arg0) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %2 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %4 = "luminal.mul"(%1, %3) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = "luminal.add"(%arg0, %4) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %8 = "luminal.mul"(%5, %7) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %9 = "luminal.exp2"(%8) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %10 = "luminal.sum_reduce"(%9) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %11 = "luminal.view"(%10) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %12 = "luminal.recip"(%11) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %13 = "luminal.mul"(%9, %12) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %14 = "luminal.max_reduce"(%arg0) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %15 = "luminal.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %16 = "luminal.view"(%15) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %17 = "luminal.less_than"(%14, %16) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %18 = "luminal.less_than"(%16, %14) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %19 = "luminal.add"(%17, %18) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %20 = "luminal.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
  %21 = "luminal.view"(%20) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %22 = "luminal.less_than"(%14, %21) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %23 = "luminal.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %24 = "luminal.view"(%23) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %25 = "luminal.less_than"(%24, %14) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %26 = "luminal.add"(%22, %25) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %27 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %28 = "luminal.view"(%27) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %29 = "luminal.less_than"(%26, %28) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %30 = "luminal.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
  %31 = "luminal.view"(%30) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %32 = "luminal.less_than"(%16, %31) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %33 = "luminal.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %34 = "luminal.view"(%33) {map = affine_map<(d0) -> ()>} : (tensor<f32>) -> tensor<64xf32>
  %35 = "luminal.less_than"(%34, %16) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xi1>
  %36 = "luminal.add"(%32, %35) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %37 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %38 = "luminal.view"(%37) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %39 = "luminal.less_than"(%36, %38) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %40 = "luminal.add"(%29, %39) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %41 = "luminal.add"(%19, %40) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %42 = "luminal.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %43 = "luminal.view"(%42) {map = affine_map<(d0) -> ()>} : (tensor<i1>) -> tensor<64xi1>
  %44 = "luminal.less_than"(%41, %43) : (tensor<64xi1>, tensor<64xi1>) -> tensor<64xi1>
  %45 = "luminal.view"(%44) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xi1>) -> tensor<64x64xi1>
  %46 = "luminal.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %47 = "luminal.view"(%46) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %48 = "luminal.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %49 = "luminal.view"(%48) {map = affine_map<(d0, d1, d2) -> ()>} : (tensor<f32>) -> tensor<2x64x64xf32>
  %50 = "luminal.scatter"(%49, %13) {map = affine_map<(d0, d1) -> (0, d0, d1)>, mode = "set"} : (tensor<2x64x64xf32>, tensor<64x64xf32>) -> tensor<2x64x64xf32>
  %51 = "luminal.scatter"(%50, %47) {map = affine_map<(d0, d1) -> (1, d0, d1)>, mode = "set"} : (tensor<2x64x64xf32>, tensor<64x64xf32>) -> tensor<2x64x64xf32>
  %52 = "luminal.cast"(%45) : (tensor<64x64xi1>) -> tensor<64x64xi64>
  %53 = "luminal.gather"(%51, %52) {map = affine_map<(d0, d1, d2) -> (d2, d0, d1)>} : (tensor<2x64x64xf32>, tensor<64x64xi64>) -> tensor<64x64xf32>
  %54 = "luminal.view"(%53) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<64x64xf32>) -> tensor<64x16x64xf32>
  %55 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d2, d1)>} : (tensor<64x16xf32>) -> tensor<64x16x64xf32>
  %56 = "luminal.mul"(%54, %55) : (tensor<64x16x64xf32>, tensor<64x16x64xf32>) -> tensor<64x16x64xf32>
  %57 = "luminal.sum_reduce"(%56) {axes = array<i64: 2>} : (tensor<64x16x64xf32>) -> tensor<64x16xf32>
  return %57 : tensor<64x16xf32>
}

// RULE: want-stream
// The sum runs over the rows of the softmax, not along them.
// CHECK-LABEL: func.func @attend_across(
// CHECK-SAME: "want-stream"
// CHECK-NOT: "online-softmax"
// CHECK-NOT: "kernel.attention"
// CHECK: return
func.func @attend_across(%arg0: tensor<64x64xf32>, %arg1: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %0 = "luminal.max_reduce"(%arg0) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %2 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %4 = "luminal.mul"(%1, %3) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = "luminal.add"(%arg0, %4) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %8 = "luminal.mul"(%5, %7) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %9 = "luminal.exp2"(%8) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %10 = "luminal.sum_reduce"(%9) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %11 = "luminal.view"(%10) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %12 = "luminal.recip"(%11) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %13 = "luminal.mul"(%9, %12) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %14 = "luminal.view"(%13) {map = affine_map<(d0, d1) -> (d1, d0)>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %15 = "luminal.view"(%14) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<64x64xf32>) -> tensor<64x16x64xf32>
  %16 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d2, d1)>} : (tensor<64x16xf32>) -> tensor<64x16x64xf32>
  %17 = "luminal.mul"(%15, %16) : (tensor<64x16x64xf32>, tensor<64x16x64xf32>) -> tensor<64x16x64xf32>
  %18 = "luminal.sum_reduce"(%17) {axes = array<i64: 2>} : (tensor<64x16x64xf32>) -> tensor<64x16xf32>
  return %18 : tensor<64x16xf32>
}

// RULE: half-softmax-rows
// RULE: online-half-softmax
// RULE: reads-half-softmax
// RULE: want-half-stream
// Weights rounded to a half type and widened again.
// CHECK-LABEL: func.func @attend_half(
// CHECK-SAME: "half-softmax-rows"
// CHECK-SAME: "online-half-softmax"
// CHECK-SAME: "reads-half-softmax"
// CHECK-SAME: "want-half-stream"
// CHECK: "kernel.attention"
// CHECK: return
func.func @attend_half(%arg0: tensor<64x64xf32>, %arg1: tensor<64x16xbf16>) -> tensor<64x16xf32> {
  %0 = "luminal.max_reduce"(%arg0) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %2 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %4 = "luminal.mul"(%1, %3) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = "luminal.add"(%arg0, %4) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %8 = "luminal.mul"(%5, %7) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %9 = "luminal.exp2"(%8) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %10 = "luminal.sum_reduce"(%9) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %11 = "luminal.view"(%10) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %12 = "luminal.recip"(%11) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %13 = "luminal.mul"(%9, %12) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %14 = "luminal.cast"(%13) : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %15 = "luminal.view"(%14) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<64x64xbf16>) -> tensor<64x16x64xbf16>
  %16 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d2, d1)>} : (tensor<64x16xbf16>) -> tensor<64x16x64xbf16>
  %17 = "luminal.cast"(%15) : (tensor<64x16x64xbf16>) -> tensor<64x16x64xf32>
  %18 = "luminal.cast"(%16) : (tensor<64x16x64xbf16>) -> tensor<64x16x64xf32>
  %19 = "luminal.mul"(%17, %18) : (tensor<64x16x64xf32>, tensor<64x16x64xf32>) -> tensor<64x16x64xf32>
  %20 = "luminal.sum_reduce"(%19) {axes = array<i64: 2>} : (tensor<64x16x64xf32>) -> tensor<64x16xf32>
  return %20 : tensor<64x16xf32>
}

// RULE: online-half-softmax
// RULE: want-mixed-contraction
// Weights in f32, values in a half type.
// CHECK-LABEL: func.func @attend_mixed(
// CHECK-SAME: "online-half-softmax"
// CHECK-SAME: "want-mixed-contraction"
// CHECK: "kernel.attention"
// CHECK: return
func.func @attend_mixed(%arg0: tensor<64x64xf32>, %arg1: tensor<64x16xf16>) -> tensor<64x16xf32> {
  %0 = "luminal.max_reduce"(%arg0) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %1 = "luminal.view"(%0) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %2 = "luminal.constant"() {value = dense<-1.0> : tensor<f32>} : () -> tensor<f32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %4 = "luminal.mul"(%1, %3) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = "luminal.add"(%arg0, %4) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %6 = "luminal.constant"() {value = dense<1.442695> : tensor<f32>} : () -> tensor<f32>
  %7 = "luminal.view"(%6) {map = affine_map<(d0, d1) -> ()>} : (tensor<f32>) -> tensor<64x64xf32>
  %8 = "luminal.mul"(%5, %7) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %9 = "luminal.exp2"(%8) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %10 = "luminal.sum_reduce"(%9) {axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64xf32>
  %11 = "luminal.view"(%10) {map = affine_map<(d0, d1) -> (d0)>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %12 = "luminal.recip"(%11) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %13 = "luminal.mul"(%9, %12) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %14 = "luminal.view"(%13) {map = affine_map<(d0, d1, d2) -> (d0, d2)>} : (tensor<64x64xf32>) -> tensor<64x16x64xf32>
  %15 = "luminal.view"(%arg1) {map = affine_map<(d0, d1, d2) -> (d2, d1)>} : (tensor<64x16xf16>) -> tensor<64x16x64xf16>
  %16 = "luminal.cast"(%15) : (tensor<64x16x64xf16>) -> tensor<64x16x64xf32>
  %17 = "luminal.mul"(%14, %16) : (tensor<64x16x64xf32>, tensor<64x16x64xf32>) -> tensor<64x16x64xf32>
  %18 = "luminal.sum_reduce"(%17) {axes = array<i64: 2>} : (tensor<64x16x64xf32>) -> tensor<64x16xf32>
  return %18 : tensor<64x16xf32>
}
