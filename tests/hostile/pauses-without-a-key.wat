;; A question without a name.
;; expect: fails invalid-result or pauses
(module
  (func (export "call") (param i32) (result i32) (call $pause @"" @"why")))
