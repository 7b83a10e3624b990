;; A tool that says nothing of itself.
;; expect: tool-refused description
(module
  (func (export "list") (result i32) (call $catalog (call $tool @"go" @" \n " @"{\"type\":\"object\"}" (i32.const 2)) (i32.const 1) (i32.const 0) (i32.const 0))))
