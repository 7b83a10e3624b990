;; Returns a case that the contract does not have.
;; expect: fails trapped
(module
  (func (export "call") (param i32) (result i32) (local $at i32) (local.set $at (call $text @"ok")) (i32.store8 (local.get $at) (i32.const 9)) (local.get $at)))
