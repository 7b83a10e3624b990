//! One request to a receiver: resolved once, sent to an address that was looked at, and nowhere else.
//!
//! Addresses of this machine and its network are refused unless the channel says otherwise; a redirect is not followed; no
//! proxy of the environment stands between, since it would resolve the name anew.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use url::{Host, Url};

use super::Undelivered;
use crate::model::install_tls;
use crate::plugin::{Resolve, is_private};

/// The whole request, or a conversation with a mail server; the answer's body is not read.
pub const SEND_MAX: Duration = Duration::from_secs(15);
/// Addresses of one name that are tried.
const ADDRESSES_MAX: usize = 8;

pub struct Sender<'s> {
    pub resolver: &'s dyn Resolve,
}

pub struct Post<'p> {
    pub url: &'p Url,
    pub private: bool,
    pub headers: BTreeMap<&'static str, String>,
    /// JSON.
    pub body: String,
}

impl Sender<'_> {
    /// Nothing of the address but its host is said where it fails: the rest may be a secret.
    pub async fn post(&self, post: Post<'_>) -> Result<(), Undelivered> {
        let host = post.url.host_str().unwrap_or_default().to_owned();
        let sent = tokio::time::timeout(SEND_MAX, self.sent(post)).await;
        sent.unwrap_or_else(|_| Err(too_late())).map_err(|undelivered| undelivered.of(&host))
    }

    async fn sent(&self, post: Post<'_>) -> Result<(), Undelivered> {
        let unsent = |error: reqwest::Error| Undelivered::Now(trouble(&error));
        let host = post.url.host().ok_or_else(|| Undelivered::Now("its address names no host".to_owned()))?;
        let addresses = reachable(self.resolver, host, post.url.port_or_known_default().unwrap_or(443), post.private).await?;
        install_tls();
        let mut client = reqwest::Client::builder()
            .user_agent(concat!("pausegate/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy();
        if let Some(Host::Domain(name)) = post.url.host() {
            client = client.resolve_to_addrs(name, &addresses);
        }
        let mut request = client.build().map_err(unsent)?.post(post.url.clone()).header("content-type", "application/json");
        for (name, value) in post.headers {
            request = request.header(name, value);
        }
        let answer = request.body(post.body).send().await.map_err(unsent)?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            // The receiver wants no more of it.
            status if status.as_u16() == 410 => Err(Undelivered::Ever(format!("answered {status}"))),
            status => Err(Undelivered::Now(format!("answered {status}"))),
        }
    }
}

pub fn too_late() -> Undelivered {
    Undelivered::Now(format!("no answer within {} s", SEND_MAX.as_secs()))
}

/// What may be spoken to, of what the name leads to.
pub async fn reachable(resolver: &dyn Resolve, host: Host<&str>, port: u16, private: bool) -> Result<Vec<SocketAddr>, Undelivered> {
    let found: Vec<IpAddr> = match host {
        Host::Ipv4(address) => vec![address.into()],
        Host::Ipv6(address) => vec![address.into()],
        Host::Domain(name) => {
            let resolved = resolver.resolve(name).await;
            resolved.map_err(|error| Undelivered::Now(format!("its name is not found: {error}")))?
        }
    };
    if found.is_empty() {
        return Err(Undelivered::Now("its name leads to no address".to_owned()));
    }
    // One among public ones is no slip of whoever owns the name.
    if !private && found.iter().copied().any(is_private) {
        return Err(Undelivered::Now("is an address of this machine or its network; `private = true` in its channel allows that".to_owned()));
    }
    Ok(found.into_iter().take(ADDRESSES_MAX).map(|address| SocketAddr::new(address, port)).collect())
}

/// Without the address, which may hold a secret.
fn trouble(error: &reqwest::Error) -> String {
    let mut text = if error.is_connect() { "cannot be reached".to_owned() } else { "the request failed".to_owned() };
    let mut source = std::error::Error::source(error);
    // The innermost one says what the network said.
    while let Some(cause) = source {
        if let Some(io) = cause.downcast_ref::<std::io::Error>() {
            text = format!("{text}: {}", io.kind());
        }
        source = cause.source();
    }
    text
}
