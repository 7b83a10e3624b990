;; Returns a result at an odd address.
;; expect: fails trapped
(module
  (func (export "call") (param i32) (result i32) (i32.const 1025)))
