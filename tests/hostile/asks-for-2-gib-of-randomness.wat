;; 2 GiB of random bytes in one call.
;; expect: fails trapped
(module
  (import "wasi:random/random@0.2.12" "get-random-bytes" (func $random (param i64 i32)))
  (func (export "call") (param i32) (result i32) (call $random (i64.const 2147483648) (i32.const 1024)) (call $text @"ok")))
