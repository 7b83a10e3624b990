;; Traps after its result was taken.
;; expect: fails trapped
(module
  (func (export "call") (param i32) (result i32) (call $text @"ok"))
  (func (export "post") (param i32) (unreachable)))
