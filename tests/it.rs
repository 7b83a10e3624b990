//! All tests from outside the library, in one binary: each is a module, so that the host is linked once.

mod tidy;
