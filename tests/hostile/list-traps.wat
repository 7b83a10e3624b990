;; Traps in `list-tools`.
;; expect: refused trapped
(module
  (func (export "list") (result i32) (unreachable)))
