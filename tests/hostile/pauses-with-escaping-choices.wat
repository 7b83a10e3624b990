;; A choice whose value and label rewrite the screen and read backwards.
;; expect: pauses
(module
  (func (export "call") (param i32) (result i32) (local $choice i32)
    (local.set $choice (call $alloc (i32.const 20)))
    (call $pair (local.get $choice) @"v\1b[2J\1b]8;;http://evil.test\07x\u{202e}y\u{200b}")
    (i32.store8 offset=8 (local.get $choice) (i32.const 1))
    (call $pair (i32.add (local.get $choice) (i32.const 12)) @"l\1b[2J\1b]8;;http://evil.test\07x\u{202e}y\u{200b}")
    (call $asks (call $pause @"k" @"which?") (i32.const 1) (local.get $choice) (i32.const 1))))
