;; Returns a catalogue outside its memory.
;; expect: refused trapped
(module
  (func (export "list") (result i32) (i32.const -64)))
