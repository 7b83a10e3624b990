;; 100,000 wants in 24 bytes.
;; expect: refused 
(module
  (func (export "list") (result i32) (call $catalog (call $tool @"go" @"d" @"{\"type\":\"object\"}" (i32.const 2)) (i32.const 1) (call $want @"fs" @"{}" @"x") (i32.const 100000))))
