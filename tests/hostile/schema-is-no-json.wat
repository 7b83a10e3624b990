;; A schema that cannot be read.
;; expect: tool-refused schema
(module
  (func (export "list") (result i32) (call $offer @"d" @"{type: object}")))
