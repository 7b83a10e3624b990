;; A context that cannot be read.
;; expect: fails invalid-result
(module
  (func (export "call") (param i32) (result i32) (call $with_context (call $pause @"k" @"why") @"{")))
