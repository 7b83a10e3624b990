;; Traps in its start function.
;; expect: refused trapped
(module
  (func $s (unreachable))
  (start $s))
