;; A schema that says two things.
;; expect: tool-refused schema
(module
  (func (export "list") (result i32) (call $offer @"d" @"{\"type\":\"object\",\"type\":\"string\"}")))
