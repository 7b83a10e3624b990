//! Patterns of tools, arguments, paths and URLs.
