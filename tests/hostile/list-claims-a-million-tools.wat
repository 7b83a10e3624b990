;; A list of a million tools in a memory that holds none.
;; expect: refused 
(module
  (func (export "list") (result i32) (call $catalog (i32.const 1024) (i32.const 1000000) (i32.const 0) (i32.const 0))))
