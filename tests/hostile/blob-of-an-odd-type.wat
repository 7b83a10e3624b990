;; A blob whose media type is a header of its own.
;; expect: fails invalid-result
(module
  (func (export "call") (param i32) (result i32) (local $at i32)
      (local.set $at (call $piece (i32.const 2) @"image/png\0d\0aset-cookie: a=b"))
      (call $done (local.get $at) (i32.const 1))))
