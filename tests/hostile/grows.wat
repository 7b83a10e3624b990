;; Takes memory until there is none.
;; expect: fails out-of-memory
(module
  (func (export "call") (param i32) (result i32) (loop $l (br_if $l (i32.ne (i32.const -1) (memory.grow (i32.const 16))))) (unreachable)))
