// RUN: luminal-opt %s --split-input-file --verify-diagnostics

func.func @sizes(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{'kernel.contract' op sizes [0, 1, 1, 2] do not add up to the domain's rank 3}}
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<3x4xf32>, %bt: tensor<4x5xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (3, 5, 4)>, sizes = array<i64: 0, 1, 1, 2>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @lhs_uses_n(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{'kernel.contract' op lhs_map uses dims that lhs does not have: d1}}
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<3x4xf32>, %bt: tensor<4x5xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (3, 5, 4)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d1)>,
      rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @packed_shape(%a: tensor<3x4xf32>, %b: tensor<1x5x8xf32>) {
  // expected-error@+1 {{'kernel.contract' op rhs is not the panel tensor of this domain}}
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<3x4xf32>, %bt: tensor<1x5x8xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (3, 5, 4)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      packed = 8 : i64, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<3x4xf32>, tensor<1x5x8xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @neither_map_nor_packed(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{'kernel.contract' op needs exactly one of 'packed' and 'rhs_map'}}
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<3x4xf32>, %bt: tensor<4x5xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (3, 5, 4)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @half_accumulator(%a: tensor<3x4xf16>, %b: tensor<4x5xf16>) {
  // expected-error@+1 {{'kernel.contract' op argument 4 of the body has type 'f16', expected 'f32'}}
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<3x4xf16>, %bt: tensor<4x5xf16>, %m: index, %n: index, %acc: f16):
    "kernel.yield"(%acc) : (f16) -> ()
  }) {domain = affine_map<() -> (3, 5, 4)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<3x4xf16>, tensor<4x5xf16>) -> tensor<3x5xf16>
  return
}

// -----

func.func @scatter_yield(%x: tensor<5xf32>) {
  // expected-error@+1 {{'kernel.scatter' op the body yields (f32), expected (f32, i64)}}
  %0 = "kernel.scatter"(%x) ({
  ^bb0(%xt: tensor<5xf32>, %c: index):
    %v = "kernel.load"(%xt, %c) {map = affine_map<(d0) -> (d0)>} : (tensor<5xf32>, index) -> f32
    "kernel.yield"(%v) : (f32) -> ()
  }) {domain = affine_map<() -> (3)>, mode = "set"} : (tensor<5xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @unknown_field(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{'kernel.contract' op schedule has no field 'tiles'; it may have tile, k_block, row_block, order, unroll, pack_lhs, pack_rhs}}
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<3x4xf32>, %bt: tensor<4x5xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (3, 5, 4)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      schedule = {tiles = array<i64: 6, 2>}, rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @tile_of_one(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{'kernel.contract' op schedule's tile must be [rows, vectors]}}
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<3x4xf32>, %bt: tensor<4x5xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (3, 5, 4)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      schedule = {tile = array<i64: 6>}, rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @tile_too_large(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{'kernel.contract' op vectors of the schedule's tile must be between 1 and 8, got 9}}
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<3x4xf32>, %bt: tensor<4x5xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (3, 5, 4)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      schedule = {tile = array<i64: 6, 9>}, rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @no_such_order(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{'kernel.contract' op schedule's order must be mn or nm, got "k"}}
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<3x4xf32>, %bt: tensor<4x5xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (3, 5, 4)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      schedule = {order = "k"}, rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @negative_k_block(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{'kernel.contract' op schedule's k_block must be at least 0, got -1}}
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<3x4xf32>, %bt: tensor<4x5xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (3, 5, 4)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      schedule = {k_block = -1 : i64}, rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @pack_is_no_flag(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{'kernel.contract' op schedule's pack_rhs must be true or false, got 1 : i64}}
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<3x4xf32>, %bt: tensor<4x5xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (3, 5, 4)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      schedule = {pack_rhs = 1 : i64}, rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @schedule_is_no_dictionary(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{'kernel.contract' op attribute 'schedule' must be a DictAttr, got '"fast"'}}
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<3x4xf32>, %bt: tensor<4x5xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (3, 5, 4)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      schedule = "fast", rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @no_such_library(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error@+1 {{'kernel.contract' op library must be one of blas, got 'lapack'}}
  %0 = "kernel.contract"(%a, %b) ({
  ^bb0(%at: tensor<3x4xf32>, %bt: tensor<4x5xf32>, %m: index, %n: index, %acc: f32):
    "kernel.yield"(%acc) : (f32) -> ()
  }) {domain = affine_map<() -> (3, 5, 4)>, sizes = array<i64: 0, 1, 1, 1>, lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>,
      library = "lapack", rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>, out_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}
