;; Imports an interface that no host has.
;; expect: refused 
;; raw
(component
  (import "host:secrets/vault@1.0.0" (instance (export "open" (func)))))
