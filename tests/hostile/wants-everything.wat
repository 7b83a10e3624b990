;; Wants the root of the disk, and says why at length, in colour.
;; expect: done ok
(module
  (func (export "list") (result i32) (call $catalog (call $tool @"go" @"d" @"{\"type\":\"object\"}" (i32.const 2)) (i32.const 1)
      (call $want @"fs" @"{\"mount\":\"/\",\"path\":\"/\",\"access\":\"write\"}" @(10000*"\1b[2J\u{202e}trust me ")) (i32.const 1))))
