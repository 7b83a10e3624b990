;; A failure message of 300 MiB, where it has the memory for it.
;; expect: fails out-of-memory
(module
  (func (export "call") (param i32) (result i32)
    (call $failed @"failed" (call $alloc (i32.const 314572800)) (i32.const 314572800))))
