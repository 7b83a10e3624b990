;; Two choices of one value: whichever a person takes, the plugin decides what it meant.
;; expect: fails invalid-result
(module
  (func (export "call") (param i32) (result i32) (call $asks (call $pause @"k" @"why") (i32.const 1) (call $alloc (i32.const 40)) (i32.const 2))))
