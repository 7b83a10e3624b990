use super::*;
use proptest::prelude::*;

fn matches(pattern: &str, url: &str) -> bool {
    UrlPattern::parse(pattern)
        .unwrap_or_else(|error| panic!("{pattern}: {error}"))
        .matches(&Url::parse(url).unwrap_or_else(|error| panic!("{url}: {error}")))
}

#[test]
fn w22_only_the_granted_origin_in_every_spelling() {
    for (pattern, url, fits) in [
        ("https://api.test", "https://api.test/", true),
        ("https://api.test", "https://api.test/a/b?c=d#e", true),
        ("https://api.test", "https://API.TEST./x", true),
        ("https://API.test.:443/", "https://api.test/", true),
        ("https://api.test/", "https://api.test/x", false),
        ("https://api.test", "http://api.test/", false),
        ("https://api.test", "https://api.test:8443/", false),
        ("https://api.test", "https://api.test.evil.test/", false),
        ("https://api.test", "https://xapi.test/", false),
        ("https://api.test", "https://user@api.test/", false),
        ("https://api.test", "https://user:pw@api.test/", false),
        ("https://api.test", "https://api.test@evil.test/", false),
        ("https://api.test", "https://169.254.169.254/", false),
        ("https://api.test", "https://[::1]/", false),
        ("https://api.test", "https://localhost./", false),
        ("https://bücher.test", "https://xn--bcher-kva.test/", true),
        ("https://xn--bcher-kva.test", "https://BÜCHER.test/", true),
        ("http://127.0.0.1:8080", "http://127.1:8080/x", true),
        ("http://0x7f000001", "http://127.0.0.1/", true),
        ("http://127.0.0.1", "http://[::ffff:127.0.0.1]/", true),
        ("http://[::ffff:7f00:1]", "http://127.0.0.1/", true),
        ("http://127.0.0.1", "http://[::127.0.0.1]/", false),
        ("http://127.0.0.1", "http://[64:ff9b::127.0.0.1]/", false),
        ("http://127.0.0.1", "http://１２７.0.0.1/", true),
        ("http://127.0.0.1", "http://0177.0.0.01./", true),
        ("http://127.0.0.1", "http://%31%32%37.0.0.1/", true),
        ("https://api.test", "https://api%2etest/", true),
        ("https://api.test", "https://ａｐｉ。test/", true),
        ("https://api.test", "https://\tapi\n.test/", true),
        ("https://api.test/a", "https://api.test\\a", true),
        ("https://api.test", "https://evil.test\\@api.test/", false),
        ("https://api.test/v1/**", "https://api.test/v1/%2e%2e/v2", false),
        ("https://api.test/v1/**", "https://api.test/v1/..%2fv2", false),
        ("https://api.test/v1/**", "https://api.test/v1/..%5cv2", false),
        ("http://[::1]:80", "http://[0:0:0:0:0:0:0:1]/", true),
        ("http://[::1]", "http://[::2]/", false),
        ("http://192.168.1.100:8080", "http://192.168.1.100:8080/any/path", true),
        ("http://192.168.1.100:8080", "http://192.168.1.100:8081/", false),
        ("http://192.168.1.100:8080", "http://192.168.1.101:8080/", false),
    ] {
        assert_eq!(matches(pattern, url), fits, "{pattern} on {url}");
    }
}

#[test]
fn a_star_crosses_neither_dot_nor_slash() {
    for (pattern, url, fits) in [
        ("https://*.a.test/x", "https://b.a.test/x", true),
        ("https://*.a.test/x", "https://c.b.a.test/x", false),
        ("https://*.a.test/x", "https://a.test/x", false),
        ("https://api-*.a.test/x", "https://api-1.a.test/x", true),
        ("https://a.test/v1/*", "https://a.test/v1/x", true),
        ("https://a.test/v1/*", "https://a.test/v1/x?y=/z", true),
        ("https://a.test/v1/*", "https://a.test/v1/x/y", false),
        ("https://a.test/v1/*", "https://a.test/v1/", false),
        ("https://a.test/v1/*", "https://a.test/v1/x%2Fy", false),
        ("https://a.test/v1/*", "https://a.test/v1/x%5cy", false),
        ("https://a.test/*/x", "https://a.test//x", false),
        ("https://a.test/v1/**", "https://a.test/v1/x/y", true),
        ("https://a.test/v1/**", "https://a.test/v1/x%2Fy", true),
        ("https://a.test/v1/**", "https://a.test/v1", false),
        ("https://a.test/v1/**", "https://a.test/v1/../v2/x", false),
        ("https://a.test/v1/**", "https://a.test/v1/%2e%2E/v2", false),
        ("https://a.test/v1/**", "https://a.test/v1/..%2Fv2", false),
        ("https://a.test/v1/**", "https://a.test/v1/x%2f%2e%2e%2fv2", false),
        ("https://a.test/v1/**", "https://a.test/v1/..%5cv2", false),
        ("https://a.test/v1/**", "https://a.test/v10", false),
        ("https://a.test/%7Euser/é", "https://a.test/~user/%c3%a9", true),
        ("https://a.test/~user", "https://a.test/%7euser", true),
        ("https://a.test/a%2Ab", "https://a.test/a*b", true),
        ("https://a.test/a%2Ab", "https://a.test/axb", false),
        ("https://a.test/V1", "https://a.test/v1", false),
    ] {
        assert_eq!(matches(pattern, url), fits, "{pattern} on {url}");
    }
}

#[test]
fn w26_a_bad_pattern_is_refused_with_a_hint() {
    let check = |text: &str| {
        let error = UrlPattern::parse(text).expect_err(text);
        format!("{text}: {error}{}", error.hint.as_ref().map_or(String::new(), |hint| format!(" | {hint}")))
    };
    let all: Vec<String> = [
        "localhost",
        "localhost:8000/x",
        "*",
        "https://*",
        "*.com",
        "https://*.com",
        "https://api.*.com/",
        "https://192.168.1.*/",
        "https://a/b?c",
        "https://a/b#c",
        "ftp://a.test/",
        "https://u:p@a.test/",
        "https://a.test:*/",
        "https://a.test:0/",
        "https://a.test:99999/",
        "https:///x",
        "https://a..test/",
        "https://a.test/../x",
        "https://a.test/x/%2e%2E/y",
        "https://a.test//x",
        "https://a.test/%zz",
        "https://a.test/a b",
        "https://a.test/{args.x}",
        "https://a.test\\x",
        "https://**.a.test/",
        "https://[::1/",
        "",
    ]
    .iter()
    .map(|text| check(text))
    .collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    localhost: `localhost` has no scheme | write `https://localhost` or `http://localhost`
    localhost:8000/x: `localhost:8000/x` has no scheme | write `https://localhost:8000/x` or `http://localhost:8000/x`
    *: `*` has no scheme | name the scheme and the host, such as `https://api.example.com/**`; no pattern stands for every host
    https://*: host `*` is too wide: `*` may only stand left of the last two labels of a name | write `https://*.example.com/**`, or name each host or address on a line of its own
    *.com: `*.com` has no scheme | name the scheme and the host, such as `https://api.example.com/**`; no pattern stands for every host
    https://*.com: host `*.com` is too wide: `*` may only stand left of the last two labels of a name | write `https://*.example.com/**`, or name each host or address on a line of its own
    https://api.*.com/: host `api.*.com` is too wide: `*` may only stand left of the last two labels of a name | write `https://*.example.com/**`, or name each host or address on a line of its own
    https://192.168.1.*/: host `192.168.1.*` is too wide: `*` may only stand left of the last two labels of a name | write `https://*.example.com/**`, or name each host or address on a line of its own
    https://a/b?c: queries are not matched, so a URL pattern cannot hold `?` | write `https://a/b`; it covers every query
    https://a/b#c: a fragment is never sent, so a URL pattern cannot hold `#` | write `https://a/b`
    ftp://a.test/: scheme `ftp` is not `http` or `https`
    https://u:p@a.test/: a URL pattern cannot hold a user name or password
    https://a.test:*/: `*` is not a port | write one line for each port; without one it is 443 for `https`, 80 for `http`
    https://a.test:0/: `0` is not a port | write one line for each port; without one it is 443 for `https`, 80 for `http`
    https://a.test:99999/: `99999` is not a port | write one line for each port; without one it is 443 for `https`, 80 for `http`
    https:///x: host `` cannot be read: empty host
    https://a..test/: host `a..test` cannot be read: empty or encoded label
    https://a.test/../x: a URL pattern cannot hold `.` or `..` as a segment
    https://a.test/x/%2e%2E/y: a URL pattern cannot hold `.` or `..` as a segment
    https://a.test//x: a URL pattern cannot hold `//` in its path
    https://a.test/%zz: `%zz` holds a `%` without two hex digits
    https://a.test/a b: a URL pattern cannot hold ` `
    https://a.test/{args.x}: segment `{args.x}` is not one whole `{args.name}`
    https://a.test\x: a URL pattern cannot hold `\\`
    https://**.a.test/: host `**.a.test` is too wide: `*` may only stand left of the last two labels of a name | write `https://*.example.com/**`, or name each host or address on a line of its own
    https://[::1/: host `[` cannot be read: invalid IPv6 address
    : `` has no scheme | write `https://api.example.com/**` or `http://api.example.com/**`
    ");
}

#[test]
fn w26_a_url_has_a_pattern_whatever_stands_in_its_path() {
    for (url, wanted) in [
        ("https://a.test/%zz/50%", "https://a.test/%25zz/50%25"),
        ("https://a.test/a*b/%2a", "https://a.test/a%2Ab/%2a"),
        ("https://a.test/a//b/", "https://a.test/a/**/b/"),
        ("https://a.test//", "https://a.test/**/"),
        ("https://a.test", "https://a.test/"),
    ] {
        let url = Url::parse(url).unwrap();
        assert_eq!(exact(&url), wanted);
        assert!(UrlPattern::parse(&exact(&url)).unwrap().matches(&url), "{url}");
    }
}

proptest! {
    #[test]
    fn the_exact_pattern_of_a_url_matches_it(path in "[a-z/*%.{}~ é-]{0,12}", host in "[a-z]{1,5}\\.test\\.?", port in 1..9999u16) {
        let url = Url::parse(&format!("https://{host}:{port}/{path}")).unwrap();
        if let Ok(pattern) = UrlPattern::parse(&exact(&url)) {
            let segments: Vec<Vec<u8>> = url.path().split('/').map(|segment| percent_decode_str(segment).collect()).collect();
            prop_assert_eq!(pattern.matches(&url), !segments.iter().any(|segment| hides_dots(segment)));
        }
    }

    #[test]
    fn a_path_pattern_agrees_with_a_slow_reading(pattern in "(/([ab]|\\*|\\*\\*){1,3}){1,4}", path in "(/[ab]{0,2}){1,4}") {
        let fast = matches(&format!("https://a.test{pattern}"), &format!("https://a.test{path}"));
        prop_assert_eq!(fast, slow(pattern.as_bytes(), path.as_bytes(), b'/'));
    }
}

/// The definition, by trying everything.
fn slow(pattern: &[u8], text: &[u8], before: u8) -> bool {
    let stars = pattern.iter().take_while(|byte| **byte == b'*').count();
    match (stars, pattern.first(), text.first()) {
        (0, None, None) => true,
        (0, Some(wanted), Some(found)) => wanted == found && slow(&pattern[1..], &text[1..], *found),
        (0, ..) => false,
        (1, ..) => {
            let rest = &pattern[1..];
            let whole = before == b'/' && rest.first().is_none_or(|next| *next == b'/');
            let longest = text.iter().take_while(|byte| **byte != b'/').count();
            (usize::from(whole)..=longest).any(|length| slow(rest, &text[length..], b'*'))
        }
        (stars, ..) => (0..=text.len()).any(|length| slow(&pattern[stars..], &text[length..], b'*')),
    }
}
