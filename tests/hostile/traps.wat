;; Traps.
;; expect: fails trapped
(module
  (func (export "call") (param i32) (result i32) (unreachable)))
