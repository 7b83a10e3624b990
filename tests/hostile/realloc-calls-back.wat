;; Calls the host while the host hands over arguments.
;; expect: fails trapped
(module
  (import "pausegate:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (call $log (i32.const 2) @"again") (call $alloc (local.get 3))))
