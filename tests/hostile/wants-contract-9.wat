;; Built for a contract of the future.
;; expect: refused 9.0.0
;; contract: 9.0.0
(module
  (func (export "call") (param i32) (result i32) (call $text @"ok")))
