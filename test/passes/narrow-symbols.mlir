// RUN: luminal-opt %s --pass-pipeline='builtin.module(narrow-symbols{ranges=s0=4:4;s1=2:6})' | filecheck %s

// A size of one value is a constant in types and maps; a minimum that the range decides is no symbol either.
// CHECK: #[[MAP:.*]] = affine_map<(d0) -> (d0 + 4)>
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<4x?xf32, #{{.*}}>
// CHECK-SAME: {max = 4 : i64, min = 4 : i64, name = "s0", rule = "4"}, {max = 6 : i64, min = 2 : i64, name = "s1"}, {max = 6 : i64, min = 2 : i64, name = "s2", rule = "s1"}
// CHECK: "luminal.iota"() {map = #[[MAP]]} : () -> tensor<8xi64>
// CHECK: return
func.func @main(%x: tensor<?x?xf32, affine_map<()[s0, s1, s2] -> (s0, s1)>>, %y: tensor<?xf32, affine_map<()[s0, s1, s2] -> (s2)>>) -> (tensor<?xi64, affine_map<()[s0, s1, s2] -> (s0 * 2)>>, tensor<?xf32, affine_map<()[s0, s1, s2] -> (s2)>>)
    attributes {luminal.symbols = [{name = "s0", min = 1 : i64, max = 512 : i64}, {name = "s1", min = 1 : i64}, {name = "s2", min = 1 : i64, max = 9 : i64, rule = "min(s1, 9)"}]} {
  %0 = "luminal.iota"() {map = affine_map<(d0)[s0, s1, s2] -> (d0 + s0)>} : () -> tensor<?xi64, affine_map<()[s0, s1, s2] -> (s0 * 2)>>
  return %0, %y : tensor<?xi64, affine_map<()[s0, s1, s2] -> (s0 * 2)>>, tensor<?xf32, affine_map<()[s0, s1, s2] -> (s2)>>
}
