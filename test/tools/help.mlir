// RUN: luminal-opt --help | filecheck %s
// RUN: luminal-opt --show-passes | filecheck %s --check-prefix=ALL

// CHECK: usage: luminal-opt
// CHECK: --pass-pipeline
// CHECK: --luminal-eqsat
// CHECK-NEXT: {{[A-Z].*}}
// CHECK: panel-width=<int>
// CHECK: targets and their stages
// CHECK: upstream passes
// CHECK: convert-scf-to-cf
// ALL: --luminal-eqsat
// ALL: {{^  canonicalize$}}
// ALL-NEXT: {{.*}} max-iterations=10
// ALL: convert-gpu-to-nvvm (on gpu.module)
