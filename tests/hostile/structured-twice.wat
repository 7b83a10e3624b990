;; Two structured results.
;; expect: fails invalid-result
(module
  (func (export "call") (param i32) (result i32) (local $at i32)
      (local.set $at (call $piece (i32.const 1) @"{\"a\":1}"))
      (drop (call $piece (i32.const 1) @"{\"a\":2}"))
      (memory.copy (i32.add (local.get $at) (i32.const 28)) (local.get $at) (i32.const 28))
      (call $done (local.get $at) (i32.const 2))))
