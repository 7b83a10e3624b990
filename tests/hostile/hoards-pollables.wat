;; Makes handles until the host has no more.
;; expect: fails trapped
(module
  (import "wasi:clocks/monotonic-clock@0.2.12" "subscribe-duration" (func $wait (param i64) (result i32)))
  (import "wasi:io/poll@0.2.12" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:io/poll@0.2.12" "[resource-drop]pollable" (func $drop (param i32)))
  (func (export "call") (param i32) (result i32) (loop $l (drop (call $wait (i64.const 1))) (br $l)) (unreachable)))
