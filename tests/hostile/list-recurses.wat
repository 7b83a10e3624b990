;; Calls itself for ever in `list-tools`.
;; expect: refused trapped
(module
  (func $deep (param i32) (result i32) (i32.add (i32.const 1) (call $deep (local.get 0))))
  (func (export "list") (result i32) (call $deep (i32.const 1))))
