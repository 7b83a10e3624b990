;; Takes table entries until there are none.
;; expect: fails out-of-memory or trapped
(module
  (table 1 funcref)
  (func (export "call") (param i32) (result i32) (loop $l (br_if $l (i32.ne (i32.const -1) (table.grow (ref.null func) (i32.const 4096))))) (unreachable)))
