;; Escapes and bidi in a failure message.
;; expect: fails failed
(module
  (func (export "call") (param i32) (result i32) (call $failed @"failed" @"\1b[2J\1b]0;owned\07 \u{202e}lla\u{2066} \u{9b}31m\00")))
