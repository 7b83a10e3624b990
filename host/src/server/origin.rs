//! Where a request comes from, before anything else of it is looked at: a page elsewhere that a browser shows may send
//! requests here, under a name that its owner lets point here. And what every answer says to browsers.

use std::net::SocketAddr;

use axum::extract::{Request, State as Of};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use url::Url;

use super::State;
use super::problem::Problem;

const FETCH_SITE: &str = "sec-fetch-site";
/// Of answers that do not say more about themselves: nothing is loaded but from here, nothing runs that stands in a page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // With `no-referrer` a browser would hide the origin of its own forms too.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// The names under which the server is meant to be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// `host:port`, lower case, as `Host` says it.
    hosts: Vec<String>,
    /// What a browser names as the origin of the page behind a proxy.
    public: Option<String>,
    /// Links for people start with it.
    pub base: String,
    /// Browsers reach it over TLS: the cookie never goes without.
    pub secure: bool,
}

impl Origins {
    /// `listen` is the address as it is bound; on loopback the machine's own names for it come along.
    pub fn new(listen: SocketAddr, public: Option<&Url>) -> Self {
        let port = listen.port();
        let mut hosts = Vec::new();
        if !listen.ip().is_unspecified() {
            hosts.push(listen.to_string());
        }
        if listen.ip().is_loopback() || listen.ip().is_unspecified() {
            hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{port}")));
        }
        // A browser leaves the port out where it is the scheme's own.
        if port == 80 {
            hosts.extend(hosts.clone().iter().filter_map(|host| Some(host.strip_suffix(":80")?.to_owned())));
        }
        let public_host = public.and_then(|url| Some((url.host_str()?, url.port())));
        hosts.extend(public_host.map(|(host, port)| port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))));
        let base = match public {
            Some(url) => url.origin().ascii_serialization(),
            None => format!("http://{listen}"),
        };
        let public = public.map(|url| url.origin().ascii_serialization());
        Self { secure: public.as_ref().is_some_and(|origin| origin.starts_with("https:")), hosts, public, base }
    }

    fn admits_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }

    /// A page that came from here: by the same name, or by the public one.
    fn admits_origin(&self, origin: &str, host: &str) -> bool {
        let own = origin.strip_prefix("http://").is_some_and(|named| named.eq_ignore_ascii_case(host) && self.admits_host(named));
        own || self.public.as_deref().is_some_and(|public| public.eq_ignore_ascii_case(origin))
    }

    fn check(&self, headers: &HeaderMap, is_safe: bool) -> Result<(), Problem> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let host = text("host").unwrap_or_default();
        if !self.admits_host(host) || headers.get_all(header::HOST).iter().count() != 1 {
            return Err(Problem::new(
                axum::http::StatusCode::FORBIDDEN,
                "wrong-host",
                "this server is not reached by that name; its operator names it with `--public-url`",
            ));
        }
        if is_safe {
            return Ok(());
        }
        let foreign = text(FETCH_SITE).is_some_and(|site| !matches!(site, "same-origin" | "none"));
        if foreign || text("origin").is_some_and(|origin| !self.admits_origin(origin, host)) {
            return Err(Problem::new(axum::http::StatusCode::FORBIDDEN, "wrong-origin", "the request comes from another page"));
        }
        Ok(())
    }
}

/// Whether a browser has said where the request comes from; [`check`] has held it to it.
pub fn is_shown(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.contains_key(FETCH_SITE)
}

/// A layer: refuses before anything is read.
pub async fn check(Of(state): Of<State>, request: Request, next: Next) -> Response {
    let mut response = match state.origins.check(request.headers(), request.method().is_safe()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn w70_only_names_of_its_own_reach_it() {
        let local = Origins::new("127.0.0.1:7411".parse().unwrap(), None);
        let public = Origins::new("0.0.0.0:80".parse().unwrap(), Some(&Url::parse("https://gate.example/").unwrap()));
        let check = |origins: &Origins, host: &str| origins.check(&headers(&[("host", host)]), true).is_ok();
        for host in ["127.0.0.1:7411", "localhost:7411", "LOCALHOST:7411", "[::1]:7411"] {
            assert!(check(&local, host), "{host}");
        }
        for host in ["evil.test", "evil.test:7411", "127.0.0.1", "127.0.0.1:80", "localhost.:7411", "", "gate.example"] {
            assert!(!check(&local, host), "{host}");
        }
        assert!(check(&public, "gate.example") && check(&public, "localhost") && !check(&public, "gate.example:7411"));
        assert!(local.check(&HeaderMap::new(), true).is_err());
        assert!(public.secure && !local.secure);
    }

    #[test]
    fn what_changes_state_comes_from_a_page_of_its_own_or_from_no_page() {
        let local = Origins::new("127.0.0.1:7411".parse().unwrap(), None);
        let check = |origin: &str, site: &str| {
            let all = [("host", "localhost:7411"), ("origin", origin), ("sec-fetch-site", site)];
            let given: Vec<_> = all.into_iter().filter(|(_, value)| !value.is_empty()).collect();
            local.check(&headers(&given), false).is_ok()
        };
        assert!(check("", "") && check("http://localhost:7411", "same-origin") && check("", "none"));
        for (origin, site) in [
            ("https://evil.test", ""),
            ("null", ""),
            ("http://localhost:3000", "same-site"),
            ("", "cross-site"),
            ("", "same-site"),
            ("http://localhost:7411", "cross-site"),
            // Another of its names: a page under one does not speak to the other.
            ("http://127.0.0.1:7411", ""),
        ] {
            assert!(!check(origin, site), "{origin} {site}");
        }
    }
}
