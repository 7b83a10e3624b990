;; Text of 3 MiB.
;; expect: fails too-large
(module
  (func (export "call") (param i32) (result i32) (call $text (call $alloc (i32.const 3145728)) (i32.const 3145728))))
