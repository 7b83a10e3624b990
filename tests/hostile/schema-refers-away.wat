;; A schema that wants the host to fetch one.
;; expect: tool-refused schema
(module
  (func (export "list") (result i32) (call $offer @"d" @"{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"http://127.0.0.1:9/s.json\"}}}")))
