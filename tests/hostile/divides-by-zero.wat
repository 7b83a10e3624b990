;; Divides by zero.
;; expect: fails trapped
(module
  (func (export "call") (param i32) (result i32) (i32.div_u (i32.const 1) (i32.const 0))))
