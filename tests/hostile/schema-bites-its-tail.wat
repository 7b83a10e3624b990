;; A schema that is itself: looked at once.
;; expect: done ok
(module
  (func (export "list") (result i32) (call $offer @"d" @"{\"type\":\"object\",\"$ref\":\"#\"}")))
