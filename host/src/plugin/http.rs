//! Outgoing HTTP: every request is brought into one form, judged against the lines that an attempt holds, and sent to an
//! address that was looked up once and checked. Redirects go to the guest, no proxy is used, nothing is kept open.

use std::cell::OnceCell;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use http::Request;
use tokio::sync::Semaphore;
use url::{Host, Url};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::ledger::Ledger;
use super::net::{Net, is_private};
use crate::capability::frozen::HttpUse;
use crate::capability::pattern::{UrlPattern, exact};
use crate::capability::{FrozenUse, Held, HeldHttp, Opening, Refusal};

mod approval;
mod send;

/// Requests of one attempt that are open at the same time.
pub const CONNECTIONS_MAX: usize = 8;

/// The requests of one attempt.
pub struct Requests {
    lines: Vec<Line>,
    /// Approved-only lines: what they cover is asked about.
    reach: Vec<Line>,
    /// Requests that a person approved, each once.
    approved: Arc<Mutex<Vec<HttpUse>>>,
    connections: Arc<Semaphore>,
    deadline: Instant,
    ledger: Arc<Ledger>,
    net: Arc<Net>,
}

struct Line {
    held: HeldHttp,
    /// Read at the first request; `None` for one that cannot be read and so matches nothing.
    pattern: OnceCell<Option<UrlPattern>>,
}

type Sent = Result<(http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

impl Requests {
    pub fn new(held: &Held, deadline: Instant, ledger: Arc<Ledger>, net: Arc<Net>) -> Self {
        let line = |held: &HeldHttp| Line { held: held.clone(), pattern: OnceCell::new() };
        let reach = held.reach.iter().filter_map(|opening| if let Opening::Http(held) = opening { Some(line(held)) } else { None });
        let approved = held.uses.iter().filter_map(|frozen| if let FrozenUse::Http(frozen) = frozen { Some(frozen.clone()) } else { None });
        Self {
            lines: held.http.iter().map(line).collect(),
            reach: reach.collect(),
            approved: Arc::new(Mutex::new(approved.collect())),
            connections: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            deadline,
            ledger,
            net,
        }
    }

    /// Whether one of the lines allows it, and whether one of those admits private addresses.
    fn judge(lines: &[Line], method: &str, url: &Url) -> Option<Private> {
        let allowing = lines.iter().filter(|line| {
            let pattern = line.pattern.get_or_init(|| UrlPattern::parse(&line.held.url).ok());
            line.held.methods.iter().any(|held| held == method) && pattern.as_ref().is_some_and(|pattern| pattern.matches(url))
        });
        allowing.map(|line| if line.held.private { Private::Admitted } else { Private::Refused }).max()
    }

    fn prepare(&self, request: &Request<WasiBody>, options: Option<RequestOptions>) -> Result<send::Outgoing, Error> {
        let method = request.method().as_str().to_owned();
        if method == "CONNECT" {
            return Err(Error::HttpRequestMethodInvalid);
        }
        let url = normal_form(request.uri()).ok_or(Error::HttpRequestUriInvalid)?;
        let held = Self::judge(&self.lines, &method, &url);
        let Some(private) = held.or_else(|| Self::judge(&self.reach, &method, &url)) else {
            self.ledger.refuse(refusal(&self.ledger.plugin, &method, &url, is_local(&url)));
            return Err(Error::HttpRequestDenied);
        };
        let waits = held.is_none().then(|| Arc::clone(&self.approved));
        if private == Private::Refused && is_local(&url) {
            self.ledger.refuse(refusal(&self.ledger.plugin, &method, &url, true));
            return Err(Error::HttpRequestDenied);
        }
        let connection = Arc::clone(&self.connections).try_acquire_owned().map_err(|_| Error::ConnectionLimitReached)?;
        Ok(send::Outgoing {
            method,
            url,
            private,
            waits,
            options: options.unwrap_or_default(),
            deadline: self.deadline,
            connection,
            ledger: Arc::clone(&self.ledger),
            net: Arc::clone(&self.net),
        })
    }
}

/// Whether an address of this host or network may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Private {
    Refused,
    Admitted,
}

impl WasiHttpHooks for Requests {
    fn set_host_header(&mut self) -> bool {
        // Set from the checked URL when the request is sent.
        false
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let prepared = self.prepare(&request, options);
        Box::new(async move {
            let sending: Pin<Box<dyn Future<Output = Sent> + Send>> = Box::pin(prepared?.send(request));
            sending.await
        })
    }
}

/// Scheme, host, port and path in the one form that is both judged and sent: lower case, IDN and numbers resolved, no
/// final dot, no default port, no user, path without `.` and `..`.
fn normal_form(uri: &http::Uri) -> Option<Url> {
    let mut url = Url::parse(&uri.to_string()).ok()?;
    if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    if let Some(Host::Domain(host)) = url.host()
        && let Some(bare) = host.strip_suffix('.')
    {
        let bare = bare.to_owned();
        url.set_host(Some(&bare)).ok()?;
    }
    url.set_fragment(None);
    // A host that is only dots, or has an empty label, has no one meaning.
    match url.host()? {
        Host::Domain(host) if host.split('.').any(str::is_empty) => None,
        _ => Some(url),
    }
}

/// Names and literals that are private before anything is looked up.
fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => is_private(address.into()),
        Some(Host::Ipv6(address)) => is_private(address.into()),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

fn refusal(plugin: &str, method: &str, url: &Url, private: bool) -> Refusal {
    let shown = exact(url);
    let text = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let mut allow_with = format!("[[plugins.{plugin}.http]]\nurl = {}\nmethods = [{}]", text(&shown), text(method));
    if private {
        allow_with.push_str("\nprivate = true");
    }
    Refusal { attempted: format!("http {method} {}", super::text::cut(&shown, 500)), allow_with }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w22_a_url_has_one_normal_form() {
        let form = |uri: &str| normal_form(&uri.parse().unwrap()).map(|url| url.to_string());
        for uri in [
            "https://api.test/x",
            "https://API.TEST/x",
            "https://api.test./x",
            "https://api.test:443/x",
            "https://api.test/a/../x",
            "https://api.test/./x",
        ] {
            assert_eq!(form(uri).as_deref(), Some("https://api.test/x"), "{uri}");
        }
        for uri in ["http://127.0.0.1/", "http://127.1/", "http://0x7f000001/", "http://2130706433/", "http://0177.0.0.1/", "http://127.0.0.1./"] {
            assert_eq!(form(uri).as_deref(), Some("http://127.0.0.1/"), "{uri}");
        }
        assert_eq!(form("http://user@api.test/"), None);
        assert_eq!(form("http://a..b/"), None);
        assert_eq!(form("https://api.test:8443/x?q=1").as_deref(), Some("https://api.test:8443/x?q=1"));
    }

    #[test]
    fn w26_a_refusal_says_what_would_allow_it() {
        let url = Url::parse("http://localhost:8000/x?secret=1").unwrap();
        let refusal = refusal("fetch", "POST", &url, is_local(&url));
        assert_eq!(refusal.attempted, "http POST http://localhost:8000/x");
        assert_eq!(refusal.allow_with, "[[plugins.fetch.http]]\nurl = \"http://localhost:8000/x\"\nmethods = [\"POST\"]\nprivate = true");
    }
}
