;; A reason of 1 MiB.
;; expect: pauses
(module
  (func (export "call") (param i32) (result i32) (call $pause @"k" @(131072*"because "))))
