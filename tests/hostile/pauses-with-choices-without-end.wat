;; A choice of 100,000 that are all empty.
;; expect: fails invalid-result or too-large or trapped
(module
  (func (export "call") (param i32) (result i32) (call $asks (call $pause @"k" @"why") (i32.const 1) (call $alloc (i32.const 2000000)) (i32.const 100000))))
