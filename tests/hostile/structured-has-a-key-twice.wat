;; A structured result that says two things.
;; expect: fails invalid-result
(module
  (func (export "call") (param i32) (result i32) (call $structured @"{\"ok\":true,\"ok\":false}")))
