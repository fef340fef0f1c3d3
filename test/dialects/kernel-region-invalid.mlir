// RUN: luminal-opt %s --split-input-file --verify-diagnostics

func.func @domain(%x: tensor<3xf32>) {
  // expected-error@+1 {{'kernel.region' op result has dims (3), expected (4)}}
  %0 = "kernel.region"(%x) ({
  ^bb0(%t: tensor<3xf32>, %i: index):
    %1 = "kernel.load"(%t, %i) {map = affine_map<(d0) -> (d0)>} : (tensor<3xf32>, index) -> f32
    "kernel.yield"(%1) : (f32) -> ()
  }) {domain = affine_map<() -> (4)>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @arguments(%x: tensor<3xf32>) {
  // expected-error@+1 {{'kernel.region' op the body takes 1 arguments, expected 2}}
  %0 = "kernel.region"(%x) ({
  ^bb0(%i: index):
    %1 = "kernel.constant"() {value = 0.0 : f32} : () -> f32
    "kernel.yield"(%1) : (f32) -> ()
  }) {domain = affine_map<() -> (3)>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @argument_type(%x: tensor<3xf32>) {
  // expected-error@+1 {{'kernel.region' op argument 1 of the body has type 'i64', expected 'index'}}
  %0 = "kernel.region"(%x) ({
  ^bb0(%t: tensor<3xf32>, %i: i64):
    %1 = "kernel.constant"() {value = 0.0 : f32} : () -> f32
    "kernel.yield"(%1) : (f32) -> ()
  }) {domain = affine_map<() -> (3)>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @yield_type() {
  // expected-error@+1 {{'kernel.region' op the body yields (i64), expected (f32)}}
  %0 = "kernel.region"() ({
  ^bb0(%i: index):
    %1 = "kernel.index_value"(%i) {map = affine_map<(d0) -> (d0)>} : (index) -> i64
    "kernel.yield"(%1) : (i64) -> ()
  }) {domain = affine_map<() -> (3)>} : () -> tensor<3xf32>
  return
}

// -----

func.func @load_map(%x: tensor<3x4xf32>) {
  %0 = "kernel.region"(%x) ({
  ^bb0(%t: tensor<3x4xf32>, %i: index):
    // expected-error@+1 {{'kernel.load' op map has 1 results, expected 2}}
    %1 = "kernel.load"(%t, %i) {map = affine_map<(d0) -> (d0)>} : (tensor<3x4xf32>, index) -> f32
    "kernel.yield"(%1) : (f32) -> ()
  }) {domain = affine_map<() -> (3)>} : (tensor<3x4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @scalar_dtype() {
  %0 = "kernel.region"() ({
  ^bb0(%i: index):
    %1 = "kernel.index_value"(%i) {map = affine_map<(d0) -> (d0)>} : (index) -> i64
    // expected-error@+1 {{'kernel.exp' op operand must be f64 or f32 or f16 or bf16, got 'i64'}}
    %2 = "kernel.exp"(%1) : (i64) -> i64
    "kernel.yield"(%2) : (i64) -> ()
  }) {domain = affine_map<() -> (3)>} : () -> tensor<3xi64>
  return
}

// -----

func.func @scalar_types_differ() {
  %0 = "kernel.region"() ({
  ^bb0(%i: index):
    %1 = "kernel.constant"() {value = 1 : i64} : () -> i64
    %2 = "kernel.constant"() {value = 1 : i32} : () -> i32
    // expected-error@+1 {{'kernel.add' op operand types differ: 'i64' and 'i32'}}
    %3 = "kernel.add"(%1, %2) : (i64, i32) -> i64
    "kernel.yield"(%3) : (i64) -> ()
  }) {domain = affine_map<() -> (3)>} : () -> tensor<3xi64>
  return
}

// -----

func.func @reduce_kind() {
  %0 = "kernel.region"() ({
  ^bb0(%i: index):
    // expected-error@+1 {{'kernel.reduce' op kind must be one of sum, max, min, prod, got "mean"}}
    %1 = "kernel.reduce"() ({
    ^bb0(%k: index):
      %2 = "kernel.constant"() {value = 1.0 : f32} : () -> f32
      "kernel.yield"(%2) : (f32) -> ()
    }) {extents = affine_map<() -> (8)>, kind = "mean"} : () -> f32
    "kernel.yield"(%1) : (f32) -> ()
  }) {domain = affine_map<() -> (3)>} : () -> tensor<3xf32>
  return
}
