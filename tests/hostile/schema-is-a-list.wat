;; A schema that is a list.
;; expect: tool-refused schema
(module
  (func (export "list") (result i32) (call $offer @"d" @"[]")))
