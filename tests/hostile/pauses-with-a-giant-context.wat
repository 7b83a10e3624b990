;; A context of 128 KiB.
;; expect: fails too-large or invalid-result
(module
  (func (export "call") (param i32) (result i32) (call $with_context (call $pause @"k" @"why") @("\"" 131072*"x" "\""))))
