;; A name of 3 GiB.
;; expect: refused 
(module
  (func (export "list") (result i32) (call $catalog (call $tool (i32.const 0) (i32.const 0xC0000000) @"d" @"{\"type\":\"object\"}" (i32.const 2)) (i32.const 1) (i32.const 0) (i32.const 0))))
