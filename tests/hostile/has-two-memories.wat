;; Needs more than one memory.
;; expect: refused 
(module
  (memory $second 1)
  (func (export "call") (param i32) (result i32) (call $text @"ok")))
