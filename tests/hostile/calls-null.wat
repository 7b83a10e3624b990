;; Calls an entry of a table that holds nothing.
;; expect: fails trapped
(module
  (table 1 funcref)
  (func (export "call") (param i32) (result i32) (call_indirect (result i32) (i32.const 0))))
