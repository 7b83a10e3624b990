;; Is born with more memory than a call may have.
;; expect: refused out-of-memory
;; pages: 2048
(module
  (func (export "call") (param i32) (result i32) (call $text @"ok")))
