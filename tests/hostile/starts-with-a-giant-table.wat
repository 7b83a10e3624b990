;; Is born with a table of ten million entries.
;; expect: refused 
;; limit: plugin/engine::TABLE_ELEMENTS_MAX
(module
  (table 10000000 funcref)
  (func (export "call") (param i32) (result i32) (call $text @"ok")))
