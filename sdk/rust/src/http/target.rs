//! The parts of a URL that `wasi:http` takes. The host checks them; this only takes them apart.

/// Where a request goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    pub(super) scheme: &'a str,
    /// Host, and port where one is given.
    pub(super) authority: &'a str,
    /// Starts with a slash; without fragment.
    pub(super) path_and_query: String,
}

impl<'a> Target<'a> {
    pub(super) fn parse(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let rest = rest.split('#').next()?;
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if scheme.is_empty() || authority.is_empty() {
            return None;
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        Some(Self { scheme, authority, path_and_query: format!("{slash}{path}") })
    }
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn a_url_comes_apart() {
        let check = |url, expected: Option<(&str, &str, &str)>| {
            let parsed = Target::parse(url);
            let parts = parsed.as_ref().map(|target| (target.scheme, target.authority, &*target.path_and_query));
            assert_eq!(parts, expected, "{url}");
        };
        check("https://a.example", Some(("https", "a.example", "/")));
        check("http://a.example:8080/x/y?z=1#top", Some(("http", "a.example:8080", "/x/y?z=1")));
        check("http://a.example?z=/", Some(("http", "a.example", "/?z=/")));
        check("a.example/x", None);
        check("https:///x", None);
        check("://a.example", None);
    }
}
