;; Calls an empty function for ever.
;; expect: fails out-of-cpu or out-of-time
(module
  (func $nothing)
  (func (export "call") (param i32) (result i32) (loop $l (call $nothing) (br $l)) (unreachable)))
