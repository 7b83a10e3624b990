;; A name with a right-to-left override.
;; expect: tool-refused 
(module
  (func (export "list") (result i32) (call $catalog (call $tool @"go\u{202e}og" @"Does as it likes." @"{\"type\":\"object\"}" (i32.const 2)) (i32.const 1) (i32.const 0) (i32.const 0))))
