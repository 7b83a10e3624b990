;; A failure message of 1 MiB.
;; expect: fails failed
(module
  (func (export "call") (param i32) (result i32) (call $failed @"failed" @(131072*"no luck "))))
