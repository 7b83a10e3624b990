;; Returns a catalogue at an odd address.
;; expect: refused trapped
(module
  (func (export "list") (result i32) (drop (call $usual)) (i32.const 1025)))
