;; Two tools of one name, to see which one counts.
;; expect: tool-refused twice
(module
  (func (export "list") (result i32) (local $at i32)
      (local.set $at (call $tool @"go" @"The first." @"{\"type\":\"object\"}" (i32.const 0)))
      (drop (call $alloc (i32.const 60)))
      (memory.copy (i32.add (local.get $at) (i32.const 60)) (local.get $at) (i32.const 60))
      (call $catalog (local.get $at) (i32.const 2) (i32.const 0) (i32.const 0))))
