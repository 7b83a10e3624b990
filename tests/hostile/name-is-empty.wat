;; A tool without a name.
;; expect: tool-refused 
(module
  (func (export "list") (result i32) (call $catalog (call $tool @"" @"Does as it likes." @"{\"type\":\"object\"}" (i32.const 2)) (i32.const 1) (i32.const 0) (i32.const 0))))
