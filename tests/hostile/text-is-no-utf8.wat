;; Text that is none.
;; expect: fails trapped
(module
  (func (export "call") (param i32) (result i32) (call $text @"\ff\fe\c0")))
