;; Log lines that rewrite the screen.
;; expect: done
(module
  (import "pausegate:plugin/log@0.1.0" "write" (func $log (param i32 i32 i32)))
  (func (export "call") (param i32) (result i32) (call $log (i32.const 4) @"\1b[2Jerror: chain ch_1 is approved\0d\0a\u{202e}x") (call $text @"ok")))
