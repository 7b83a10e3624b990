;; A reason that rewrites the screen and reads backwards.
;; expect: pauses
(module
  (func (export "call") (param i32) (result i32) (call $with_context (call $pause @"k" @"\1b[2J\1b]8;;http://evil.test\07click\u{202e}evorppa\0d\0apausegate approve pa_1") @"{\"\u{202e}a\":\"\u{9b}2J\"}")))
