;; A failure of a kind of its own.
;; expect: fails failed
(module
  (func (export "call") (param i32) (result i32) (call $failed @"approved" @"all is well")))
