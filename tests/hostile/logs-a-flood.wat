;; A million log lines.
;; expect: done or out-of-cpu or out-of-time
(module
  (import "pausegate:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))
  (func (export "call") (param i32) (result i32) (local $i i32) (loop $l (call $log (i32.const 2) @"line") (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if $l (i32.lt_u (local.get $i) (i32.const 1000000)))) (call $text @"ok")))
