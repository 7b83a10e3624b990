;; Takes memory in `list-tools` until there is none.
;; expect: refused out-of-memory
(module
  (func (export "list") (result i32) (loop $l (br_if $l (i32.ne (i32.const -1) (memory.grow (i32.const 256))))) (unreachable)))
