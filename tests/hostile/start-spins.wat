;; Never returns from its start function.
;; expect: refused out-of-
(module
  (func $s (loop $l (br $l)))
  (start $s))
