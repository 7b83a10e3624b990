;; A million steps of progress.
;; expect: done or out-of-cpu or out-of-time
(module
  (import "pausegate:plugin/progress@0.1.0" "report" (func $report (param f64 i32 f64 i32 i32)))
  (func (export "call") (param i32) (result i32) (local $i i32) (loop $l (call $report (f64.const 1) (i32.const 0) (f64.const 0) @"step") (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if $l (i32.lt_u (local.get $i) (i32.const 1000000)))) (call $text @"ok")))
