;; Sleeps a millisecond at a time, for ever.
;; expect: fails out-of-time
(module
  (import "wasi:clocks/monotonic-clock@0.2.12" "subscribe-duration" (func $wait (param i64) (result i32)))
  (import "wasi:io/poll@0.2.12" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:io/poll@0.2.12" "[resource-drop]pollable" (func $drop (param i32)))
  (func (export "call") (param i32) (result i32) (local $p i32) (loop $l (local.set $p (call $wait (i64.const 1000000))) (call $block (local.get $p)) (call $drop (local.get $p)) (br $l)) (unreachable)))
