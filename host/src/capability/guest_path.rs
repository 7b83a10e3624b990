//! Paths as a guest names them: absolute, `/` between segments, compared as text in normal form only.

/// `/a/b`: absolute, without `.`, `..`, `//`, final slash or control characters; `/` itself is one.
pub fn is_normal(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    let odd = |segment: &str| matches!(segment, "" | "." | "..");
    !path.chars().any(char::is_control) && (rest.is_empty() || !rest.split('/').any(odd))
}

/// The path at the mount or below it; both in normal form.
pub fn covers(mount: &str, path: &str) -> bool {
    mount == path || is_below(mount, path)
}

pub fn is_below(mount: &str, path: &str) -> bool {
    below(mount, path).is_some()
}

/// What follows the mount, without the slash between.
pub fn below<'a>(mount: &str, path: &'a str) -> Option<&'a str> {
    let rest = if mount == "/" { path.strip_prefix('/')? } else { path.strip_prefix(mount)?.strip_prefix('/')? };
    (!rest.is_empty()).then_some(rest)
}

/// The folder of an entry; `/` is in none.
pub fn parent(path: &str) -> Option<&str> {
    match path.rsplit_once('/')? {
        (_, "") => None,
        ("", _) => Some("/"),
        (folder, _) => Some(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_but_the_root_is_in_a_folder() {
        assert_eq!((parent("/a/b"), parent("/a"), parent("/")), (Some("/a"), Some("/"), None));
    }

    #[test]
    fn only_one_spelling_is_normal() {
        for path in ["/", "/a", "/a/b.c", "/a/..b", "/ä b"] {
            assert!(is_normal(path), "{path}");
        }
        for path in ["", "a", "./a", "/a/", "//", "//a", "/a//b", "/.", "/a/./b", "/a/..", "/a\0", "/a\n"] {
            assert!(!is_normal(path), "{path}");
        }
    }

    #[test]
    fn below_ends_at_segment_borders() {
        assert_eq!(below("/build", "/build/a/b"), Some("a/b"));
        assert_eq!(below("/build", "/buildx/a"), None);
        assert_eq!(below("/build", "/build"), None);
        assert_eq!(below("/", "/a"), Some("a"));
        assert_eq!(below("/", "/"), None);
        assert!(covers("/build", "/build") && covers("/", "/") && !covers("/build/a", "/build"));
    }
}
