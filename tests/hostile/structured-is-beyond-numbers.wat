;; A number that no one reads back the same.
;; expect: fails invalid-result
(module
  (func (export "call") (param i32) (result i32) (call $structured @"{\"n\":9007199254740993}")))
