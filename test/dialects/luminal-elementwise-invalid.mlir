// RUN: luminal-opt %s --split-input-file --verify-diagnostics

func.func @operand_types(%a: tensor<3xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'luminal.add' op operand types differ: 'tensor<3xf32>' and 'tensor<4xf32>'}}
  %0 = "luminal.add"(%a, %b) : (tensor<3xf32>, tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @result_type(%a: tensor<3xf32>) {
  // expected-error@+1 {{'luminal.exp2' op result type differs from the operand's: 'tensor<3xf32>' and 'tensor<3xf64>'}}
  %0 = "luminal.exp2"(%a) : (tensor<3xf32>) -> tensor<3xf64>
  return
}

// -----

func.func @floats_only(%a: tensor<3xi64>) {
  // expected-error@+1 {{'luminal.sqrt' op operand's element type must be f64 or f32 or f16 or bf16, got 'i64'}}
  %0 = "luminal.sqrt"(%a) : (tensor<3xi64>) -> tensor<3xi64>
  return
}

// -----

func.func @element_type(%a: tensor<3xi8>) {
  // expected-error@+1 {{'luminal.mul' op unsupported element type 'i8'; supported: f64, f32, f16, bf16, i64, i32, i1}}
  %0 = "luminal.mul"(%a, %a) : (tensor<3xi8>, tensor<3xi8>) -> tensor<3xi8>
  return
}

// -----

func.func @mod_on_bool(%a: tensor<3xi1>) {
  // expected-error@+1 {{'luminal.mod' op operands' element type must be f64 or f32 or f16 or bf16 or i64 or i32, got 'i1'}}
  %0 = "luminal.mod"(%a, %a) : (tensor<3xi1>, tensor<3xi1>) -> tensor<3xi1>
  return
}

// -----

func.func @less_than_result(%a: tensor<3xf32>) {
  // expected-error@+1 {{'luminal.less_than' op result's element type must be i1, got 'f32'}}
  %0 = "luminal.less_than"(%a, %a) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @missing_encoding(%a: tensor<?xf32>) {
  // expected-error@+1 {{'luminal.sin' op 'tensor<?xf32>' has a dynamic dim but no encoding that says which symbols it is made of}}
  %0 = "luminal.sin"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @encoding_mismatch(%a: tensor<?x4xf32, affine_map<()[s0] -> (s0, 5)>>) {
  // expected-error@+1 {{does not match its shape: '5' stands for a dim of 4}}
  %0 = "luminal.sin"(%a) : (tensor<?x4xf32, affine_map<()[s0] -> (s0, 5)>>) -> tensor<?x4xf32, affine_map<()[s0] -> (s0, 5)>>
  return
}

// -----

func.func @constant_type() {
  // expected-error@+1 {{'luminal.constant' op value has type 'tensor<2xf32>', result 'tensor<3xf32>'}}
  %0 = "luminal.constant"() {value = dense<1.0> : tensor<2xf32>} : () -> tensor<3xf32>
  return
}

// -----

func.func @constant_without_value() {
  // expected-error@+1 {{'luminal.constant' op needs an attribute 'value'}}
  %0 = "luminal.constant"() : () -> tensor<3xf32>
  return
}

// -----

func.func @cast_shape(%a: tensor<3xf32>) {
  // expected-error@+1 {{'luminal.cast' op result has dims (4), expected (3)}}
  %0 = "luminal.cast"(%a) : (tensor<3xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @unknown_op(%a: tensor<3xf32>) {
  // expected-error@+1 {{unregistered operation 'luminal.cosine' found in dialect ('luminal') that does not allow unknown operations}}
  %0 = "luminal.cosine"(%a) : (tensor<3xf32>) -> tensor<3xf32>
  return
}
