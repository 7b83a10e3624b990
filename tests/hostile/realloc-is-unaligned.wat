;; Gives the host memory at an odd address.
;; expect: fails trapped
(module
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1025)))
