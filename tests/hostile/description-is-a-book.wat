;; A description of 1 MiB.
;; expect: done ok
(module
  (func (export "list") (result i32) (call $offer @(131072*"a story ") @"{\"type\":\"object\"}")))
