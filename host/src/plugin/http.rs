//! Outgoing HTTP: every request is brought into one form, judged against the lines that an attempt holds, and sent to an
//! address that was looked up once and checked. Redirects go to the guest, no proxy is used. Secrets are put in on the
//! way out, after the guest's own words were looked through, and taken out of what comes back. What came back is recorded:
//! made again after a pause, a call is given it, and the request is not made again.

use std::cell::OnceCell;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use http::{HeaderName, Request};
use tokio::sync::Semaphore;
use url::Url;
use wasmtime_wasi_http::{Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpHooks};

use super::ledger::Ledger;
use super::net::Net;
use crate::capability::frozen::HttpUse;
use crate::capability::pattern::{UrlPattern, exact};
use crate::capability::{FrozenUse, Held, HeldHttp, Opening, Refusal, Secret};

mod approval;
mod body;
pub mod form;
mod guard;
mod pool;
mod recall;
mod send;

use form::{is_local, normal_form};
pub use pool::{IDLE_TIME, Pool};

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
        let approved = held.uses.iter().filter_map(|frozen| if let FrozenUse::Http(frozen) = frozen { Some(frozen.clone()) } else { None });
        Self {
            lines: held.http.iter().map(Line::new).collect(),
            reach: reach(held),
            approved: Arc::new(Mutex::new(approved.collect())),
            connections: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            deadline,
            ledger,
            net,
        }
    }

    /// By what the attempt held when it started and, where the operator gives something else by now, by that too.
    fn allowed(&self, method: &str, url: &Url) -> Option<Allowed> {
        let at_start = Self::reached(&self.lines, &self.reach, method, url)?;
        let Some(now) = self.ledger.now() else { return Some(at_start) };
        let by_now = Self::reached(&now.http.iter().map(Line::new).collect::<Vec<_>>(), &reach(&now), method, url)?;
        Some(at_start.and(by_now))
    }

    fn reached(lines: &[Line], reach: &[Line], method: &str, url: &Url) -> Option<Allowed> {
        let held = Self::judge(lines, method, url);
        held.or_else(|| Some(Allowed { waits: true, ..Self::judge(reach, method, url)? }))
    }

    /// Of these lines those that allow it, and what they say together. Of a URL that is private by its spelling, only lines
    /// that admit it: another one beside them takes nothing away.
    fn judge(lines: &[Line], method: &str, url: &Url) -> Option<Allowed> {
        let local = is_local(url);
        let allowing = lines.iter().filter(|line| !local || line.held.private).filter(|line| {
            let pattern = line.pattern.get_or_init(|| UrlPattern::parse(&line.held.url).ok());
            line.held.methods.iter().any(|held| held == method) && pattern.as_ref().is_some_and(|pattern| pattern.matches(url))
        });
        let lines: Vec<_> = allowing.map(|line| line.held.clone()).collect();
        (!lines.is_empty()).then(|| Allowed::by(lines))
    }

    fn prepare(&self, request: &Request<WasiBody>, options: Option<RequestOptions>) -> Result<send::Outgoing, Error> {
        let method = request.method().as_str().to_owned();
        if method == "CONNECT" {
            return Err(Error::HttpRequestMethodInvalid);
        }
        let url = normal_form(request.uri()).ok_or(Error::HttpRequestUriInvalid)?;
        let Some(allowed) = self.allowed(&method, &url) else {
            self.ledger.refuse(refusal(&self.ledger.plugin, &method, &url, is_local(&url)));
            return Err(Error::HttpRequestDenied);
        };
        self.guard(request, &allowed.secrets, &attempted(&method, &url))?;
        let connection = Arc::clone(&self.connections).try_acquire_owned().map_err(|_| Error::ConnectionLimitReached)?;
        Ok(send::Outgoing {
            method,
            url,
            waits: allowed.waits.then(|| Arc::clone(&self.approved)),
            allowed,
            options: options.unwrap_or_default(),
            deadline: self.deadline,
            connection,
            place: self.ledger.recorder.place(),
            ledger: Arc::clone(&self.ledger),
            net: Arc::clone(&self.net),
        })
    }

    /// Before the host puts in anything: the guest wrote no secret, and those to put in are there.
    fn guard(&self, request: &Request<WasiBody>, secrets: &[Secret], attempted: &str) -> Result<(), Error> {
        let vault = &self.ledger.vault;
        if let Some(why) = guard::objection(request, secrets, vault.scrubber().map(|scrubber| &**scrubber)) {
            self.ledger.refuse(Refusal { attempted: attempted.to_owned(), allow_with: format!("# {why}") });
            return Err(Error::HttpRequestDenied);
        }
        for secret in secrets {
            if let Err(refusal) = vault.value(secret, attempted) {
                self.ledger.refuse(refusal);
                return Err(Error::ConfigurationError);
            }
        }
        Ok(())
    }
}

impl Line {
    fn new(held: &HeldHttp) -> Self {
        Self { held: held.clone(), pattern: OnceCell::new() }
    }
}

fn reach(held: &Held) -> Vec<Line> {
    held.reach.iter().filter_map(|opening| if let Opening::Http(held) = opening { Some(Line::new(held)) } else { None }).collect()
}

/// Whether lines allow a request, for the oracle of the grants.
#[cfg(test)]
pub fn allows(lines: &[HeldHttp], method: &str, url: &Url) -> bool {
    Requests::judge(&lines.iter().map(Line::new).collect::<Vec<_>>(), method, url).is_some()
}

/// Judges requests as an attempt with these lines does, without making them; for the benchmark.
pub fn judging(lines: &[HeldHttp]) -> impl Fn(&str, &http::Uri) -> bool + use<> {
    let lines: Vec<_> = lines.iter().map(Line::new).collect();
    move |method, uri| normal_form(uri).is_some_and(|url| Requests::judge(&lines, method, &url).is_some())
}

/// What the lines that match a request say of it.
struct Allowed {
    /// Admitted by one is admitted.
    private: Private,
    /// Of several for the same place the first line's.
    secrets: Vec<Secret>,
    lines: Vec<HeldHttp>,
    /// Only an approval opens it.
    waits: bool,
}

impl Allowed {
    fn by(lines: Vec<HeldHttp>) -> Self {
        let mut secrets: Vec<Secret> = Vec::new();
        for secret in lines.iter().filter_map(|line| line.secret.as_ref()) {
            if !secrets.iter().any(|other| other.slot == secret.slot) {
                secrets.push(secret.clone());
            }
        }
        let private = if lines.iter().any(|line| line.private) { Private::Admitted } else { Private::Refused };
        Self { private, secrets, lines, waits: false }
    }

    /// What both say: connections kept under one alone are not taken up again.
    fn and(mut self, other: Self) -> Self {
        if other.private == Private::Refused {
            self.private = Private::Refused;
        }
        self.secrets.retain(|secret| other.secrets.contains(secret));
        self.lines.extend(other.lines);
        Self { waits: self.waits || other.waits, ..self }
    }
}

/// Whether an address of this host or network may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Private {
    Refused,
    Admitted,
}

impl WasiHttpHooks for Requests {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        guard::is_forbidden(name)
    }

    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(guard::is_forbidden)
    }

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

fn refusal(plugin: &str, method: &str, url: &Url, private: bool) -> Refusal {
    let text = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let mut allow_with = format!("[[plugins.{plugin}.http]]\nurl = {}\nmethods = [{}]", text(&exact(url)), text(method));
    if private {
        allow_with.push_str("\nprivate = true");
    }
    Refusal { attempted: attempted(method, url), allow_with }
}

fn attempted(method: &str, url: &Url) -> String {
    format!("http {method} {}", exact(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w25_a_line_for_public_addresses_takes_nothing_from_one_beside_it() {
        let line = |private| HeldHttp { url: "http://127.0.0.1:8080/**".into(), methods: vec!["GET".into()], private, secret: None };
        let url = Url::parse("http://127.0.0.1:8080/x").unwrap();
        assert!(!allows(&[line(false)], "GET", &url));
        assert!(allows(&[line(false), line(true)], "GET", &url) && allows(&[line(true)], "GET", &url));
    }

    #[test]
    fn w26_a_refusal_says_what_would_allow_it() {
        let url = Url::parse("http://localhost:8000/x?secret=1").unwrap();
        let refusal = refusal("fetch", "POST", &url, is_local(&url));
        assert_eq!(refusal.attempted, "http POST http://localhost:8000/x");
        assert_eq!(refusal.allow_with, "[[plugins.fetch.http]]\nurl = \"http://localhost:8000/x\"\nmethods = [\"POST\"]\nprivate = true");
    }
}
