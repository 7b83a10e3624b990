;; Never returns after its result was taken.
;; expect: fails out-of-cpu or out-of-time
(module
  (func (export "call") (param i32) (result i32) (call $text @"ok"))
  (func (export "post") (param i32) (loop $l (br $l))))
