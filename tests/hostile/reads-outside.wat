;; Reads outside its memory.
;; expect: fails trapped
(module
  (func (export "call") (param i32) (result i32) (i32.load (i32.const -4))))
