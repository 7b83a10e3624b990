;; Progress of NaN out of minus infinity.
;; expect: done
(module
  (import "pausegate:plugin/progress@0.1.0" "report" (func $report (param f64 i32 f64 i32 i32)))
  (func (export "call") (param i32) (result i32) (call $report (f64.const nan) (i32.const 1) (f64.const -inf) @"\1b[2J") (call $text @"ok")))
