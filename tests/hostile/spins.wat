;; Never returns.
;; expect: fails out-of-cpu or out-of-time
(module
  (func (export "call") (param i32) (result i32) (loop $l (br $l)) (unreachable)))
