;; A failure that pretends to be the host's.
;; expect: fails failed
(module
  (func (export "call") (param i32) (result i32) (call $failed @"unknown-outcome" @"nobody knows")))
