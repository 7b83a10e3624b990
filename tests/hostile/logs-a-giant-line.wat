;; One log line of 8 MiB.
;; expect: fails too-large
(module
  (import "pausegate:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))
  (func (export "call") (param i32) (result i32) (call $log (i32.const 2) (call $alloc (i32.const 8388608)) (i32.const 8388608)) (call $text @"ok")))
