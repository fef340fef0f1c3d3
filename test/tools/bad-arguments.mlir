// Each mistake is one clear message and exit status 1.
// RUN: not luminal-opt %s --no-such-pass 2>&1 | filecheck %s --check-prefix=FLAG
// FLAG: luminal-opt: error: unknown option or pass '--no-such-pass' (see luminal-opt --help)
// RUN: not luminal-opt %s --pass-pipeline='builtin.module(no-such-pass)' 2>&1 | filecheck %s --check-prefix=PASS
// PASS: luminal-opt: error: pass pipeline: 'no-such-pass' does not refer to a registered pass
// RUN: not luminal-opt %s --luminal-eqsat=speed=9 2>&1 | filecheck %s --check-prefix=OPTION
// OPTION: pass 'luminal-eqsat' has no option 'speed' (its options: {{.*}}panel-width
// RUN: not luminal-opt %s --luminal-eqsat=panel-width=wide 2>&1 | filecheck %s --check-prefix=VALUE
// VALUE: option 'panel-width' of pass 'luminal-eqsat': expected an integer, got 'wide'
// RUN: not luminal-opt %s --canonicalize=speed=9 2>&1 | filecheck %s --check-prefix=UPSTREAM
// UPSTREAM: no such option speed
// RUN: not luminal-opt %s --pass-pipeline='builtin.module(func.func(luminal-eqsat))' 2>&1 | filecheck %s --check-prefix=NESTED
// NESTED: pass 'luminal-eqsat' runs on builtin.module, not nested within 'func.func'
// RUN: not luminal-opt %s --pass-pipeline='builtin.module(cse' 2>&1 | filecheck %s --check-prefix=OPEN
// OPEN: pass pipeline: missing ')' at the end of
// RUN: not luminal-opt %s --target=tpu 2>&1 | filecheck %s --check-prefix=TARGET
// TARGET: unknown target 'tpu' (targets: cpu, cuda, metal)
// RUN: not luminal-opt %s --target=cpu --stage=nothing 2>&1 | filecheck %s --check-prefix=STAGE
// STAGE: target 'cpu' has no stage 'nothing' (its stages:
// RUN: not luminal-opt %s.missing 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: cannot open input file '{{.*}}bad-arguments.mlir.missing': No such file or directory
// RUN: not luminal-opt %s -o %t/no/such/folder.mlir 2>&1 | filecheck %s --check-prefix=OUTPUT
// OUTPUT: cannot write output file
// RUN: not luminal-opt %s --verify-each=maybe 2>&1 | filecheck %s --check-prefix=BOOL
// BOOL: expected true or false, got 'maybe'

func.func @f() {
  return
}
