;; A component with nothing in it.
;; expect: refused 
;; raw
(component)
