;; A choice of nothing.
;; expect: fails invalid-result
(module
  (func (export "call") (param i32) (result i32) (call $asks (call $pause @"k" @"why") (i32.const 1) (i32.const 0) (i32.const 0))))
