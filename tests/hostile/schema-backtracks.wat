;; A pattern that only backtracking can match.
;; expect: tool-refused schema
(module
  (func (export "list") (result i32) (call $offer @"d" @"{\"type\":\"object\",\"properties\":{\"a\":{\"pattern\":\"^(a+)+\\\\1$\"}}}")))
