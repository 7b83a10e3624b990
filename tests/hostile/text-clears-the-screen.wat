;; Escapes and bidi in a result.
;; expect: done
(module
  (func (export "call") (param i32) (result i32) (call $text @"\1b[2J\1b]52;c;ZXZpbA==\07 \u{202e}lla\u{2066} \u{9b}31m")))
