;; A hundred thousand empty pieces.
;; expect: fails too-large or trapped
(module
  (func (export "call") (param i32) (result i32) (call $done (call $alloc (i32.const 2800000)) (i32.const 100000))))
