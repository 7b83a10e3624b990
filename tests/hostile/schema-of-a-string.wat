;; A schema of something else than an object.
;; expect: tool-refused schema
(module
  (func (export "list") (result i32) (call $offer @"d" @"{\"type\":\"string\"}")))
