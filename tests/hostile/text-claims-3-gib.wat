;; Text longer than its memory.
;; expect: fails trapped or too-large
(module
  (func (export "call") (param i32) (result i32) (call $text (i32.const 0) (i32.const 0xC0000000))))
