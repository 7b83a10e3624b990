;; Calls itself for ever.
;; expect: fails trapped
(module
  (func $deep (param i32) (result i32) (i32.add (i32.const 1) (call $deep (local.get 0))))
  (func (export "call") (param i32) (result i32) (call $deep (i32.const 1))))
