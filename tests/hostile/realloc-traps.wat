;; Traps when the host hands over arguments.
;; expect: fails trapped
(module
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (unreachable)))
