// RUN: luminal-opt %s --luminal-eqsat=record-rules | filecheck %s

// CHECK-DAG: [[TRIPLE:#map[0-9]*]] = affine_map<(d0) -> (d0 * 3)>
// CHECK-DAG: [[SHIFTED:#map[0-9]*]] = affine_map<(d0) -> (d0 + 5)>

// RULE: index-sum
// RULE: want-index-sum
// i + 2 i = 3 i.
// CHECK-LABEL: func.func @index_sum(
// CHECK-SAME: "index-sum"
// CHECK-SAME: "want-index-sum"
// CHECK: "kernel.index_value"({{.*}}) {map = [[TRIPLE]]}
// CHECK: return
func.func @index_sum() -> tensor<64xi64> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<64xi64>
  %1 = "luminal.iota"() {map = affine_map<(d0) -> (d0 * 2)>} : () -> tensor<64xi64>
  %2 = "luminal.add"(%0, %1) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  return %2 : tensor<64xi64>
}

// RULE: index-shift
// RULE: want-index-shift
// i + 5.
// CHECK-LABEL: func.func @index_shift(
// CHECK-SAME: "index-shift"
// CHECK-SAME: "want-index-shift"
// CHECK: "kernel.index_value"({{.*}}) {map = [[SHIFTED]]}
// CHECK: return
func.func @index_shift() -> tensor<64xi64> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<64xi64>
  %1 = "luminal.constant"() {value = dense<5> : tensor<i64>} : () -> tensor<i64>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %3 = "luminal.add"(%0, %2) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  return %3 : tensor<64xi64>
}

// RULE: want-index-shift
// The sum may leave i64: no law.
// CHECK-LABEL: func.func @index_shift_huge(
// CHECK-SAME: "want-index-shift"
// CHECK-NOT: ""index-shift""
// CHECK: "kernel.add"
// CHECK: return
func.func @index_shift_huge() -> tensor<64xi64> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<64xi64>
  %1 = "luminal.constant"() {value = dense<9223372036854775807> : tensor<i64>} : () -> tensor<i64>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %3 = "luminal.add"(%0, %2) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  return %3 : tensor<64xi64>
}

// Nor for a number that only a call knows.
// CHECK-LABEL: func.func @index_shift_unknown(
// CHECK-NOT: "index-shift"
// CHECK: "kernel.add"
// CHECK: return
func.func @index_shift_unknown(%arg0: tensor<64xi64>) -> tensor<64xi64> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<64xi64>
  %1 = "luminal.add"(%0, %arg0) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  return %1 : tensor<64xi64>
}

// RULE: index-scale
// RULE: want-index-scale
// 3 i.
// CHECK-LABEL: func.func @index_scale(
// CHECK-SAME: "index-scale"
// CHECK-SAME: "want-index-scale"
// CHECK: "kernel.index_value"({{.*}}) {map = [[TRIPLE]]}
// CHECK: return
func.func @index_scale() -> tensor<64xi64> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<64xi64>
  %1 = "luminal.constant"() {value = dense<3> : tensor<i64>} : () -> tensor<i64>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %3 = "luminal.mul"(%0, %2) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  return %3 : tensor<64xi64>
}

// RULE: want-index-scale
// The product may leave i64: no law.
// CHECK-LABEL: func.func @index_scale_huge(
// CHECK-SAME: "want-index-scale"
// CHECK-NOT: ""index-scale""
// CHECK: "kernel.mul"
// CHECK: return
func.func @index_scale_huge() -> tensor<64xi64> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<64xi64>
  %1 = "luminal.constant"() {value = dense<4611686018427387904> : tensor<i64>} : () -> tensor<i64>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %3 = "luminal.mul"(%0, %2) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  return %3 : tensor<64xi64>
}

// RULE: want-index-scale
// Neither may two factors that are small alone.
// CHECK-LABEL: func.func @index_scaled_twice(
// CHECK-SAME: "want-index-scale"
// CHECK: "kernel.mul"
// CHECK: return
func.func @index_scaled_twice() -> tensor<64xi64> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<64xi64>
  %1 = "luminal.constant"() {value = dense<549755813888> : tensor<i64>} : () -> tensor<i64>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %3 = "luminal.mul"(%0, %2) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  %4 = "luminal.constant"() {value = dense<549755813888> : tensor<i64>} : () -> tensor<i64>
  %5 = "luminal.view"(%4) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %6 = "luminal.mul"(%3, %5) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
  return %6 : tensor<64xi64>
}

// RULE: index-less
// RULE: want-index-less
// i < 64 is true for every i.
// CHECK-LABEL: func.func @index_less(
// CHECK-SAME: "index-less"
// CHECK-SAME: "want-index-less"
// CHECK-NOT: "kernel.less_than"
// CHECK: value = true
// CHECK: return
func.func @index_less() -> tensor<64xi1> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<64xi64>
  %1 = "luminal.constant"() {value = dense<64> : tensor<i64>} : () -> tensor<i64>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %3 = "luminal.less_than"(%0, %2) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
  return %3 : tensor<64xi1>
}

// RULE: index-less
// i < 0 is false for every i.
// CHECK-LABEL: func.func @index_negative(
// CHECK-SAME: "index-less"
// CHECK-NOT: "kernel.less_than"
// CHECK: value = false
// CHECK: return
func.func @index_negative() -> tensor<64xi1> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<64xi64>
  %1 = "luminal.constant"() {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %3 = "luminal.less_than"(%0, %2) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
  return %3 : tensor<64xi1>
}

// RULE: want-index-less
// i < 63 holds for some.
// CHECK-LABEL: func.func @index_undecided(
// CHECK-SAME: "want-index-less"
// CHECK-NOT: ""index-less""
// CHECK: "kernel.less_than"
// CHECK: return
func.func @index_undecided() -> tensor<64xi1> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<64xi64>
  %1 = "luminal.constant"() {value = dense<63> : tensor<i64>} : () -> tensor<i64>
  %2 = "luminal.view"(%1) {map = affine_map<(d0) -> ()>} : (tensor<i64>) -> tensor<64xi64>
  %3 = "luminal.less_than"(%0, %2) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi1>
  return %3 : tensor<64xi1>
}

// The laws are those of i64; a cast stands between.
// CHECK-LABEL: func.func @index_i32(
// CHECK-NOT: "index-shift"
// CHECK: "kernel.add"
// CHECK: return
func.func @index_i32() -> tensor<64xi32> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0)>} : () -> tensor<64xi64>
  %1 = "luminal.cast"(%0) : (tensor<64xi64>) -> tensor<64xi32>
  %2 = "luminal.constant"() {value = dense<5> : tensor<i32>} : () -> tensor<i32>
  %3 = "luminal.view"(%2) {map = affine_map<(d0) -> ()>} : (tensor<i32>) -> tensor<64xi32>
  %4 = "luminal.add"(%1, %3) : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
  return %4 : tensor<64xi32>
}

// RULE: gather-of-iotas-1
// RULE: want-gather-view-1
// A gather at 1 affine position inside the source is a view.
// CHECK-LABEL: func.func @gather_of_iotas_1(
// CHECK-SAME: "gather-of-iotas-1"
// CHECK-SAME: "want-gather-view-1"
// CHECK-NOT: "kernel.to_index"
// CHECK: "kernel.load"
// CHECK: return
func.func @gather_of_iotas_1(%arg0: tensor<8xf32>) -> tensor<4xf32> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0 + 4)>} : () -> tensor<4xi64>
  %1 = "luminal.gather"(%arg0, %0) {map = affine_map<(d0, d1) -> (d1)>} : (tensor<8xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// RULE: want-gather-view-1
// The last position is outside: the gather clamps it, no view does.
// CHECK-LABEL: func.func @gather_outside_1(
// CHECK-SAME: "want-gather-view-1"
// CHECK-NOT: ""gather-of-iotas-1""
// CHECK: "kernel.to_index"
// CHECK: return
func.func @gather_outside_1(%arg0: tensor<8xf32>) -> tensor<4xf32> {
  %0 = "luminal.iota"() {map = affine_map<(d0) -> (d0 + 5)>} : () -> tensor<4xi64>
  %1 = "luminal.gather"(%arg0, %0) {map = affine_map<(d0, d1) -> (d1)>} : (tensor<8xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// RULE: gather-of-iotas-2
// RULE: want-gather-view-2
// A gather at 2 affine positions inside the source is a view.
// CHECK-LABEL: func.func @gather_of_iotas_2(
// CHECK-SAME: "gather-of-iotas-2"
// CHECK-SAME: "want-gather-view-2"
// CHECK-NOT: "kernel.to_index"
// CHECK: "kernel.load"
// CHECK: return
func.func @gather_of_iotas_2(%arg0: tensor<8x8xf32>) -> tensor<4x4xf32> {
  %0 = "luminal.iota"() {map = affine_map<(d0, d1) -> (d0 + 4)>} : () -> tensor<4x4xi64>
  %1 = "luminal.iota"() {map = affine_map<(d0, d1) -> (d1)>} : () -> tensor<4x4xi64>
  %2 = "luminal.gather"(%arg0, %0, %1) {map = affine_map<(d0, d1, d2, d3) -> (d2, d3)>} : (tensor<8x8xf32>, tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// RULE: want-gather-view-2
// The last position is outside: the gather clamps it, no view does.
// CHECK-LABEL: func.func @gather_outside_2(
// CHECK-SAME: "want-gather-view-2"
// CHECK-NOT: ""gather-of-iotas-2""
// CHECK: "kernel.to_index"
// CHECK: return
func.func @gather_outside_2(%arg0: tensor<8x8xf32>) -> tensor<4x4xf32> {
  %0 = "luminal.iota"() {map = affine_map<(d0, d1) -> (d0 + 5)>} : () -> tensor<4x4xi64>
  %1 = "luminal.iota"() {map = affine_map<(d0, d1) -> (d1)>} : () -> tensor<4x4xi64>
  %2 = "luminal.gather"(%arg0, %0, %1) {map = affine_map<(d0, d1, d2, d3) -> (d2, d3)>} : (tensor<8x8xf32>, tensor<4x4xi64>, tensor<4x4xi64>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// RULE: gather-of-iotas-3
// RULE: want-gather-view-3
// A gather at 3 affine positions inside the source is a view.
// CHECK-LABEL: func.func @gather_of_iotas_3(
// CHECK-SAME: "gather-of-iotas-3"
// CHECK-SAME: "want-gather-view-3"
// CHECK-NOT: "kernel.to_index"
// CHECK: "kernel.load"
// CHECK: return
func.func @gather_of_iotas_3(%arg0: tensor<8x8x8xf32>) -> tensor<4x4x4xf32> {
  %0 = "luminal.iota"() {map = affine_map<(d0, d1, d2) -> (d0 + 4)>} : () -> tensor<4x4x4xi64>
  %1 = "luminal.iota"() {map = affine_map<(d0, d1, d2) -> (d1)>} : () -> tensor<4x4x4xi64>
  %2 = "luminal.iota"() {map = affine_map<(d0, d1, d2) -> (d2)>} : () -> tensor<4x4x4xi64>
  %3 = "luminal.gather"(%arg0, %0, %1, %2) {map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d4, d5)>} : (tensor<8x8x8xf32>, tensor<4x4x4xi64>, tensor<4x4x4xi64>, tensor<4x4x4xi64>) -> tensor<4x4x4xf32>
  return %3 : tensor<4x4x4xf32>
}

// RULE: gather-of-iotas-4
// RULE: want-gather-view-4
// A gather at 4 affine positions inside the source is a view.
// CHECK-LABEL: func.func @gather_of_iotas_4(
// CHECK-SAME: "gather-of-iotas-4"
// CHECK-SAME: "want-gather-view-4"
// CHECK-NOT: "kernel.to_index"
// CHECK: "kernel.load"
// CHECK: return
func.func @gather_of_iotas_4(%arg0: tensor<8x8x8x8xf32>) -> tensor<4x4x4x4xf32> {
  %0 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3) -> (d0 + 4)>} : () -> tensor<4x4x4x4xi64>
  %1 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3) -> (d1)>} : () -> tensor<4x4x4x4xi64>
  %2 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3) -> (d2)>} : () -> tensor<4x4x4x4xi64>
  %3 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3) -> (d3)>} : () -> tensor<4x4x4x4xi64>
  %4 = "luminal.gather"(%arg0, %0, %1, %2, %3) {map = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d4, d5, d6, d7)>} : (tensor<8x8x8x8xf32>, tensor<4x4x4x4xi64>, tensor<4x4x4x4xi64>, tensor<4x4x4x4xi64>, tensor<4x4x4x4xi64>) -> tensor<4x4x4x4xf32>
  return %4 : tensor<4x4x4x4xf32>
}

// RULE: gather-of-iotas-5
// RULE: want-gather-view-5
// A gather at 5 affine positions inside the source is a view.
// CHECK-LABEL: func.func @gather_of_iotas_5(
// CHECK-SAME: "gather-of-iotas-5"
// CHECK-SAME: "want-gather-view-5"
// CHECK-NOT: "kernel.to_index"
// CHECK: "kernel.load"
// CHECK: return
func.func @gather_of_iotas_5(%arg0: tensor<8x8x8x8x8xf32>) -> tensor<4x4x4x4x4xf32> {
  %0 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4) -> (d0 + 4)>} : () -> tensor<4x4x4x4x4xi64>
  %1 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4) -> (d1)>} : () -> tensor<4x4x4x4x4xi64>
  %2 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4) -> (d2)>} : () -> tensor<4x4x4x4x4xi64>
  %3 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4) -> (d3)>} : () -> tensor<4x4x4x4x4xi64>
  %4 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4) -> (d4)>} : () -> tensor<4x4x4x4x4xi64>
  %5 = "luminal.gather"(%arg0, %0, %1, %2, %3, %4) {map = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9) -> (d5, d6, d7, d8, d9)>} : (tensor<8x8x8x8x8xf32>, tensor<4x4x4x4x4xi64>, tensor<4x4x4x4x4xi64>, tensor<4x4x4x4x4xi64>, tensor<4x4x4x4x4xi64>, tensor<4x4x4x4x4xi64>) -> tensor<4x4x4x4x4xf32>
  return %5 : tensor<4x4x4x4x4xf32>
}

// RULE: gather-of-iotas-6
// RULE: want-gather-view-6
// A gather at 6 affine positions inside the source is a view.
// CHECK-LABEL: func.func @gather_of_iotas_6(
// CHECK-SAME: "gather-of-iotas-6"
// CHECK-SAME: "want-gather-view-6"
// CHECK-NOT: "kernel.to_index"
// CHECK: "kernel.load"
// CHECK: return
func.func @gather_of_iotas_6(%arg0: tensor<8x8x8x8x8x8xf32>) -> tensor<4x4x4x4x4x4xf32> {
  %0 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0 + 4)>} : () -> tensor<4x4x4x4x4x4xi64>
  %1 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1)>} : () -> tensor<4x4x4x4x4x4xi64>
  %2 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2)>} : () -> tensor<4x4x4x4x4x4xi64>
  %3 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3)>} : () -> tensor<4x4x4x4x4x4xi64>
  %4 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4)>} : () -> tensor<4x4x4x4x4x4xi64>
  %5 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d5)>} : () -> tensor<4x4x4x4x4x4xi64>
  %6 = "luminal.gather"(%arg0, %0, %1, %2, %3, %4, %5) {map = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11) -> (d6, d7, d8, d9, d10, d11)>} : (tensor<8x8x8x8x8x8xf32>, tensor<4x4x4x4x4x4xi64>, tensor<4x4x4x4x4x4xi64>, tensor<4x4x4x4x4x4xi64>, tensor<4x4x4x4x4x4xi64>, tensor<4x4x4x4x4x4xi64>, tensor<4x4x4x4x4x4xi64>) -> tensor<4x4x4x4x4x4xf32>
  return %6 : tensor<4x4x4x4x4x4xf32>
}

// RULE: want-gather-view-6
// The last position is outside: the gather clamps it, no view does.
// CHECK-LABEL: func.func @gather_outside_6(
// CHECK-SAME: "want-gather-view-6"
// CHECK-NOT: ""gather-of-iotas-6""
// CHECK: "kernel.to_index"
// CHECK: return
func.func @gather_outside_6(%arg0: tensor<8x8x8x8x8x8xf32>) -> tensor<4x4x4x4x4x4xf32> {
  %0 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0 + 5)>} : () -> tensor<4x4x4x4x4x4xi64>
  %1 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1)>} : () -> tensor<4x4x4x4x4x4xi64>
  %2 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2)>} : () -> tensor<4x4x4x4x4x4xi64>
  %3 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3)>} : () -> tensor<4x4x4x4x4x4xi64>
  %4 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4)>} : () -> tensor<4x4x4x4x4x4xi64>
  %5 = "luminal.iota"() {map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d5)>} : () -> tensor<4x4x4x4x4x4xi64>
  %6 = "luminal.gather"(%arg0, %0, %1, %2, %3, %4, %5) {map = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, d10, d11) -> (d6, d7, d8, d9, d10, d11)>} : (tensor<8x8x8x8x8x8xf32>, tensor<4x4x4x4x4x4xi64>, tensor<4x4x4x4x4x4xi64>, tensor<4x4x4x4x4x4xi64>, tensor<4x4x4x4x4x4xi64>, tensor<4x4x4x4x4x4xi64>, tensor<4x4x4x4x4x4xi64>) -> tensor<4x4x4x4x4x4xf32>
  return %6 : tensor<4x4x4x4x4x4xf32>
}
