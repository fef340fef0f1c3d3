// RUN: not luminal-opt %s --torch-to-luminal 2>&1 | filecheck %s

// All failures are listed at once, with their places.
// CHECK: 3 use(s) of operations that luminal can't import
// CHECK: argument 1: dtype uint8 is not supported
// CHECK: aten.igamma: no converter
// CHECK-NEXT: at model.py:12
// CHECK: aten.sub.Tensor: subtraction with a bool operand
func.func @f(%a: !torch.vtensor<[2],f32>, %u: !torch.vtensor<[2],ui8>, %p: !torch.vtensor<[2],i1>) -> !torch.vtensor<[2],f32> {
  %one = torch.constant.int 1
  %0 = torch.operator "torch.aten.igamma"(%a, %a) : (!torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> loc("model.py":12:0)
  %1 = torch.aten.sub.Tensor %p, %p, %one : !torch.vtensor<[2],i1>, !torch.vtensor<[2],i1>, !torch.int -> !torch.vtensor<[2],i1>
  return %0 : !torch.vtensor<[2],f32>
}
