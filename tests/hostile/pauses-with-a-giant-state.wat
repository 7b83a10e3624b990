;; A state of 64 KiB and one byte.
;; expect: fails too-large or invalid-result
(module
  (func (export "call") (param i32) (result i32) (call $with_state (call $pause @"k" @"why") (call $alloc (i32.const 65537)) (i32.const 65537))))
