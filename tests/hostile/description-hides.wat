;; Escapes, bidi and zero-width characters in a description.
;; expect: done ok
(module
  (func (export "list") (result i32) (call $offer @"\1b[31mharmless\1b[0m \u{202e}dnammoc\u{200b}\u{feff}" @"{\"type\":\"object\"}")))
