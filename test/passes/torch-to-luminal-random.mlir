// RUN: luminal-opt --torch-to-luminal %s | filecheck %s

// Random numbers come from an argument behind all others, which the runtime draws for each call. Two ops count
// on from it, so that their streams differ; each is the generator's word compared with p * 2^32.
// CHECK-LABEL: func.func @coins
// CHECK-SAME: (%[[X:.*]]: tensor<5xf32>{{.*}}, %[[SEED:.*]]: tensor<i64> {luminal.kind = "input", luminal.name = "random seed"})
// CHECK: %[[STEP:.*]] = "luminal.constant"() {{.*}}-7046029254386353131
// CHECK: %[[FIRST:.*]] = "luminal.add"(%[[SEED]], %[[STEP]])
// CHECK: "luminal.iota"() {{.*}} -> tensor<5xi64>
// CHECK: "luminal.constant"() {{.*}}dense<1288490189>
// CHECK: "luminal.less_than"({{.*}}) : (tensor<5xi64>, tensor<5xi64>) -> tensor<5xi1>
// CHECK: "luminal.add"(%[[FIRST]], %[[STEP]])
func.func @coins(%x: !torch.vtensor<[5],f32>) -> (!torch.vtensor<[5],f32>, !torch.vtensor<[5],f32>) {
  %p = torch.constant.float 3.000000e-01
  %none = torch.constant.none
  %0 = torch.aten.bernoulli.p %x, %p, %none : !torch.vtensor<[5],f32>, !torch.float, !torch.none -> !torch.vtensor<[5],f32>
  %1 = torch.aten.bernoulli.p %x, %p, %none : !torch.vtensor<[5],f32>, !torch.float, !torch.none -> !torch.vtensor<[5],f32>
  return %0, %1 : !torch.vtensor<[5],f32>, !torch.vtensor<[5],f32>
}

// Without random numbers there is no such argument.
// CHECK-LABEL: func.func @evaluation
// CHECK-SAME: (%[[X:.*]]: tensor<5xf32>) -> tensor<5xf32>
// CHECK: return %[[X]]
func.func @evaluation(%x: !torch.vtensor<[5],f32>) -> !torch.vtensor<[5],f32> {
  %p = torch.constant.float 3.000000e-01
  %train = torch.constant.bool false
  %0 = torch.aten.dropout %x, %p, %train : !torch.vtensor<[5],f32>, !torch.float, !torch.bool -> !torch.vtensor<[5],f32>
  return %0 : !torch.vtensor<[5],f32>
}
