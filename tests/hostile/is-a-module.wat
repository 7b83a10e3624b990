;; A core module, not a component.
;; expect: refused not a component
;; raw
(module (func (export "go")))
