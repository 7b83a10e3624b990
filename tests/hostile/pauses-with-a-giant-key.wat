;; A name of 1 KiB for a question.
;; expect: fails invalid-result or too-large
(module
  (func (export "call") (param i32) (result i32) (call $pause @(1024*"k") @"why")))
