;; Returns a result outside its memory.
;; expect: fails trapped
(module
  (func (export "call") (param i32) (result i32) (i32.const -64)))
