;; A pattern whose automaton is huge.
;; expect: tool-refused schema
(module
  (func (export "list") (result i32) (call $offer @"d" @"{\"type\":\"object\",\"properties\":{\"a\":{\"pattern\":\"((((a{100}){100}){100}){100})\"}}}")))
