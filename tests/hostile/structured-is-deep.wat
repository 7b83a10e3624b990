;; A structured result of 3,000 levels.
;; expect: fails invalid-result
(module
  (func (export "call") (param i32) (result i32) (call $structured @(3000*"[" 3000*"]"))))
