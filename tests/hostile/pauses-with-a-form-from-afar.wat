;; A form that wants the host to fetch it.
;; expect: fails invalid-result
(module
  (func (export "call") (param i32) (result i32) (call $asks (call $pause @"k" @"why") (i32.const 3) @"{\"$ref\":\"https://evil.test/s.json\"}")))
