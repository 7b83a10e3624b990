;; A form whose titles and words rewrite the screen and read backwards.
;; expect: pauses
(module
  (func (export "call") (param i32) (result i32)
    (call $asks (call $pause @"k" @"fill in") (i32.const 3)
      @"{\"type\":\"object\",\"title\":\"\\u001b[2J\u{202e}y\u{200b}\u{9b}2J\",\"properties\":{\"\\u001b[2J\u{202e}y\u{200b}\u{9b}2J\":{\"type\":\"string\",\"description\":\"\\u001b[2J\u{202e}y\u{200b}\u{9b}2J\",\"enum\":[\"\\u001b[2J\u{202e}y\u{200b}\u{9b}2J\"]}}}")))
