;; A thousand pieces that are all the same megabyte.
;; expect: fails too-large
(module
  (func (export "call") (param i32) (result i32) (local $at i32) (local $i i32) (local $big i32)
      (local.set $big (call $alloc (i32.const 1048576)))
      (local.set $at (call $alloc (i32.const 28000)))
      (loop $l
        (call $pair (i32.add (i32.add (local.get $at) (i32.mul (local.get $i) (i32.const 28))) (i32.const 4)) (local.get $big) (i32.const 1048576))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $l (i32.lt_u (local.get $i) (i32.const 1000))))
      (call $done (local.get $at) (i32.const 1000))))
