;; A schema that is itself.
;; expect: tool-refused refers to itself
(module
  (func (export "list") (result i32) (call $offer @"d" @"{\"type\":\"object\",\"$ref\":\"#\"}")))
