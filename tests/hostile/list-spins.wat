;; Never returns from `list-tools`.
;; expect: refused out-of-
(module
  (func (export "list") (result i32) (loop $l (br $l)) (unreachable)))
