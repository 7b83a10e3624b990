;; Fails with a message of 1 MiB.
;; expect: refused no luck
(module
  (func (export "list") (result i32) (local $at i32)
      (local.set $at (call $alloc (i32.const 60)))
      (i32.store8 (local.get $at) (i32.const 1))
      (call $pair (i32.add (local.get $at) (i32.const 4)) @"failed")
      (call $pair (i32.add (local.get $at) (i32.const 12)) @(131072*"no luck "))
      (local.get $at)))
