;; Fills its memory again and again.
;; expect: fails out-of-cpu or out-of-time
(module
  (func (export "call") (param i32) (result i32) (loop $l (memory.fill (i32.const 0) (i32.const 7) (i32.const 131072)) (br $l)) (unreachable)))
