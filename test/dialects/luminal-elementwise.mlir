// RUN: luminal-opt %s | luminal-opt | filecheck %s

// Elementwise ops keep the type of their operands; less_than gives i1. Dynamic dims are spelled over the symbols.

// CHECK-LABEL: func.func @unary
// CHECK: "luminal.log2"(%{{.*}}) : (tensor<?x64xf32, #{{.*}}>) -> tensor<?x64xf32, #{{.*}}>
// CHECK-NEXT: "luminal.exp2"
// CHECK-NEXT: "luminal.sin"
// CHECK-NEXT: "luminal.sqrt"
// CHECK-NEXT: "luminal.recip"
func.func @unary(%x: tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>) -> tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64, max = 512 : i64}]} {
  %0 = "luminal.log2"(%x) : (tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>) -> tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>
  %1 = "luminal.exp2"(%0) : (tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>) -> tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>
  %2 = "luminal.sin"(%1) : (tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>) -> tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>
  %3 = "luminal.sqrt"(%2) : (tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>) -> tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>
  %4 = "luminal.recip"(%3) : (tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>) -> tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>
  return %4 : tensor<?x64xf32, affine_map<()[s0] -> (s0, 64)>>
}

// CHECK-LABEL: func.func @binary
// CHECK: "luminal.add"(%{{.*}}, %{{.*}}) : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xbf16>
// CHECK-NEXT: "luminal.mul"
// CHECK-NEXT: "luminal.mod"
// CHECK-NEXT: "luminal.less_than"(%{{.*}}, %{{.*}}) : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xi1>
func.func @binary(%a: tensor<3xbf16>, %b: tensor<3xbf16>) -> tensor<3xi1> {
  %0 = "luminal.add"(%a, %b) : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xbf16>
  %1 = "luminal.mul"(%0, %b) : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xbf16>
  %2 = "luminal.mod"(%1, %b) : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xbf16>
  %3 = "luminal.less_than"(%2, %b) : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xi1>
  return %3 : tensor<3xi1>
}

// CHECK-LABEL: func.func @cast_constant
// CHECK: "luminal.constant"() {value = dense<2.500000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK: "luminal.cast"(%{{.*}}) : (tensor<f32>) -> tensor<i64>
func.func @cast_constant() -> tensor<i64> {
  %0 = "luminal.constant"() {value = dense<2.5> : tensor<f32>} : () -> tensor<f32>
  %1 = "luminal.cast"(%0) : (tensor<f32>) -> tensor<i64>
  return %1 : tensor<i64>
}
