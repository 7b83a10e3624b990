;; A form of 3,000 levels.
;; expect: fails invalid-result
(module
  (func (export "call") (param i32) (result i32) (call $asks (call $pause @"k" @"why") (i32.const 3) @(3000*"{\"not\":" "true" 3000*"}"))))
