;; Text of 12 MiB.
;; expect: fails too-large
(module
  (func (export "call") (param i32) (result i32) (call $text (call $alloc (i32.const 12582912)) (i32.const 12582912))))
