//! The one form of a URL that is both judged and sent.

use url::{Host, Url};

use crate::plugin::net::is_private;

/// Scheme, host, port and path: lower case, IDN and numbers resolved, no final dot, IPv4 in IPv6 as IPv4, no default port,
/// no user, path without `.` and `..`. `None` for what has no one meaning.
pub fn normal_form(uri: &http::Uri) -> Option<Url> {
    let mut url = Url::parse(&uri.to_string()).ok()?;
    if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    // Nobody listens there, and no grant names it.
    if url.port() == Some(0) {
        return None;
    }
    match url.host()? {
        Host::Domain(host) => {
            let bare = host.strip_suffix('.').unwrap_or(host);
            if !is_name(bare) {
                return None;
            }
            let bare = bare.to_owned();
            url.set_host(Some(&bare)).ok()?;
        }
        Host::Ipv6(address) => {
            if let Some(address) = address.to_ipv4_mapped() {
                url.set_ip_host(address.into()).ok()?;
            }
        }
        Host::Ipv4(_) => {}
    }
    url.set_fragment(None);
    Some(url)
}

/// A host that is only dots, or has an empty label, has no one meaning. Of other characters `*` is the one to fear: shown in
/// the line that would allow the request, it would stand for every name.
fn is_name(host: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    host.split('.').all(|label| !label.is_empty() && label.bytes().all(plain))
}

/// Names and literals that are private before anything is looked up.
pub fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => is_private(address.into()),
        Some(Host::Ipv6(address)) => is_private(address.into()),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(uri: &str) -> Option<String> {
        normal_form(&uri.parse().ok()?).map(|url| url.to_string())
    }

    #[test]
    fn w22_a_url_has_one_normal_form() {
        for uri in [
            "https://api.test/x",
            "https://API.TEST/x",
            "https://api.test./x",
            "https://api.test:443/x",
            "https://api.test/a/../x",
            "https://api.test/./x",
            "https://api.test/%2e/x",
            "https://api.test/a/%2E%2e/x",
            r"https://api.test/a\..\x",
            "HTTPS://api.test/x",
        ] {
            assert_eq!(form(uri).as_deref(), Some("https://api.test/x"), "{uri}");
        }
        for uri in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://0x7f000001/",
            "http://0X7F.1/",
            "http://2130706433/",
            "http://0177.0.0.1/",
            "http://127.0.0.1./",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://[0:0:0:0:0:FFFF:7F00:0001]:80/",
        ] {
            assert_eq!(form(uri).as_deref(), Some("http://127.0.0.1/"), "{uri}");
        }
        assert_eq!(form("https://api.test:8443/x?q=1").as_deref(), Some("https://api.test:8443/x?q=1"));
        assert_eq!(form("https://xn--bcher-kva.test/").as_deref(), Some("https://xn--bcher-kva.test/"));
        assert_eq!(form("https://api.test/a%2fb").as_deref(), Some("https://api.test/a%2fb"), "an encoded slash is no slash");
    }

    #[test]
    fn w22_what_has_no_one_meaning_is_no_url() {
        for uri in [
            "http://user@api.test/",
            "http://user:word@api.test/",
            "http://api.test@evil.test/",
            "http://a..b/",
            "http://*.api.test/",
            "http://api.test*/",
            "http://{a}.test/",
            "http://a$b.test/",
            "http://api.test../",
            "http://./",
            "http://127.0.0.1..",
            "http://1.2.3.4.5/",
            "http://256.1.1.1/",
            "http://0x7f.0.0.0x1ff/",
            "http://[fe80::1%25eth0]/",
            "http://[fe80::1%eth0]/",
            "http://[::1/",
            "http://１２７.0.0.1/",
            "http://api\u{3002}test/",
            "http://api.te\tst/",
            "http://api.test/\r\nx: y",
            "http://api.test\\@evil.test/",
            "http://xn--/",
            "http://api.test:99999/",
            "http://api.test:0/",
            "ftp://api.test/",
            "file:///etc/passwd",
            "//api.test/",
            "/x",
        ] {
            assert_eq!(form(uri), None, "{uri:?}");
        }
    }

    #[test]
    fn w22_this_host_in_every_spelling_is_local() {
        for host in [
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "127.1",
            "0",
            "0x0",
            "[::1]",
            "[::]",
            "[::127.0.0.1]",
            "[::ffff:10.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b::a9fe:a9fe]",
            "[2002:7f00:1::]",
            "[2001:470:1::5efe:10.0.0.1]",
            "169.254.169.254",
            "0xa9fea9fe",
            "168.63.129.16",
            "100.100.100.200",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[ff02::1]",
        ] {
            let url = normal_form(&format!("http://{host}/").parse().unwrap()).unwrap();
            assert!(is_local(&url), "{host}");
        }
        for host in ["api.test", "localhost.test", "1.1.1.1", "[64:ff9b::101:101]", "[::ffff:1.1.1.1]", "[2606:4700::1111]"] {
            let url = normal_form(&format!("http://{host}/").parse().unwrap()).unwrap();
            assert!(!is_local(&url), "{host}");
        }
    }
}
