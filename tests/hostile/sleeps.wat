;; Sleeps an hour.
;; expect: fails out-of-time
(module
  (import "wasi:clocks/monotonic-clock@0.2.12" "subscribe-duration" (func $wait (param i64) (result i32)))
  (import "wasi:io/poll@0.2.12" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:io/poll@0.2.12" "[resource-drop]pollable" (func $drop (param i32)))
  (func (export "call") (param i32) (result i32) (call $block (call $wait (i64.const 3600000000000))) (unreachable)))
