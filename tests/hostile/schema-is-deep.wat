;; A schema of 3,000 levels.
;; expect: tool-refused schema
(module
  (func (export "list") (result i32) (call $offer @"d" @(3000*"{\"not\":" "true" 3000*"}"))))
