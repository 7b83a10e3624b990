;; A schema of 2 MiB.
;; expect: tool-refused schema
(module
  (func (export "list") (result i32) (call $offer @"d" @("{\"type\":\"object\",\"title\":\"" 2097152*"x" "\"}"))))
