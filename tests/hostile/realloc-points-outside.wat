;; Gives the host memory that is not there.
;; expect: fails trapped
(module
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const -64)))
