//! Who asks, as a token or a browser's session says it, and what they may.
//!
//! The one place where a request becomes an [`Actor`]. Nothing in a body, a query or another header names who asks.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde::{Deserialize, Serialize};

use super::State;
use super::listen::Peer;
use super::origin;
use super::problem::Problem;
use super::tokens::Token;
use crate::chain::Actor;
use crate::clock::since_boot;

/// The browser's session.
pub const COOKIE: &str = "pausegate_session";
/// Wrong tokens, codes and sessions of one address in a window; beyond it they are answered without a look.
pub const FAILURES_MAX: u32 = 20;
const WINDOW: Duration = Duration::from_secs(60);
/// Addresses kept; beyond it the one whose window ends first goes.
const PEERS_MAX: usize = 4096;

/// What a token may. `admin` may all of it, and takes changed plugins on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Look at every chain and pause
    Read,
    /// Start chains, and carry on, speak to, fork and cancel those it knows of
    Run,
    /// Decide what the rules let its person decide
    Approve,
    /// All of it, and accept changed plugins
    Admin,
}

impl Scope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Run => "run",
            Self::Approve => "approve",
            Self::Admin => "admin",
        }
    }
}

/// Who asks. `actor` is what chains and decisions store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub actor: Actor,
    pub scopes: Vec<Scope>,
    /// By a browser's session, not by a token in a header.
    pub by_session: bool,
}

impl Identity {
    fn of(token: Token, by_session: bool) -> Self {
        Self { actor: Actor(format!("token:{}", token.name)), name: token.name, scopes: token.scopes, by_session }
    }

    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.iter().any(|own| *own == scope || *own == Scope::Admin)
    }

    pub fn needs(&self, scope: Scope) -> Result<(), Problem> {
        if self.may(scope) {
            return Ok(());
        }
        Err(Problem::forbidden(format!("token `{}` may not do this: it lacks `{}`", self.name, scope.as_str())).with("scope", scope.as_str().into()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Identity
where
    State: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        identify(parts, &State::from_ref(state))
    }
}

fn identify(parts: &Parts, state: &State) -> Result<Identity, Problem> {
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.0.ip());
    let bearer = bearer(&parts.headers)?;
    let session = bearer.is_none().then(|| cookie(&parts.headers)).flatten();
    let found = match (bearer, session) {
        (Some(text), _) => state.tokens.by_text(text)?.map(|token| Identity::of(token, false)),
        (None, Some(session)) => state.tokens.by_session(session)?.map(|token| Identity::of(token, true)),
        (None, None) => return Err(Problem::unauthenticated("a token is needed: `Authorization: Bearer …`")),
    };
    let Some(identity) = found else { return Err(state.failures.count(peer, &state.metrics)) };
    if identity.by_session && !parts.method.is_safe() && !origin::is_shown(&parts.headers) {
        return Err(Problem::forbidden("a browser says where a request comes from; this one did not"));
    }
    Ok(identity)
}

/// `Authorization` is a bearer token or an error: nobody means a cookie beside it.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let text = value.to_str().ok().and_then(|text| text.split_once(' '));
    match text {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        _ => Err(Problem::unauthenticated("`Authorization` is no bearer token")),
    }
}

pub fn cookie(headers: &HeaderMap) -> Option<&str> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(';'));
    pairs.filter_map(|pair| pair.trim().split_once('=')).find(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

/// Wrong tokens by address. A right one is let in all the same: behind a proxy an address is many people.
#[derive(Default)]
pub struct Failures(Mutex<HashMap<IpAddr, (Duration, u32)>>);

impl Failures {
    /// Counts one, and says what the answer is.
    pub fn count(&self, peer: Option<IpAddr>, metrics: &super::metrics::Metrics) -> Problem {
        metrics.failed_token();
        let Some(peer) = peer else { return wrong() };
        let (now, mut peers) = (since_boot(), self.0.lock().expect("no panic under this lock"));
        if peers.len() >= PEERS_MAX && !peers.contains_key(&peer) {
            peers.retain(|_, (until, _)| *until > now);
            let first = peers.iter().min_by_key(|(_, (until, _))| *until).map(|(peer, _)| *peer);
            if let Some(first) = first.filter(|_| peers.len() >= PEERS_MAX) {
                peers.remove(&first);
            }
        }
        let (until, failures) = peers.entry(peer).or_insert((now + WINDOW, 0));
        if *until <= now {
            (*until, *failures) = (now + WINDOW, 0);
        }
        *failures = failures.saturating_add(1);
        match *failures > FAILURES_MAX {
            false => wrong(),
            true => Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-failures", "too many wrong tokens from this address; wait")
                .header(header::RETRY_AFTER, (*until - now).as_secs().max(1)),
        }
    }
}

fn wrong() -> Problem {
    Problem::unauthenticated("the token or session is not known here; it may be revoked, or its time is over")
}

#[cfg(test)]
mod tests {
    use super::super::metrics::Metrics;
    use super::*;

    #[test]
    fn wrong_tokens_of_one_address_are_limited_and_of_all_bounded() {
        let (failures, metrics) = (Failures::default(), Metrics::default());
        let at = |number: u32| Some(IpAddr::from(std::net::Ipv4Addr::from_bits(number)));
        let statuses: Vec<_> = (0..=FAILURES_MAX).map(|_| failures.count(at(1), &metrics).status.as_u16()).collect();
        assert!(statuses[..FAILURES_MAX as usize].iter().all(|status| *status == 401));
        assert_eq!(statuses[FAILURES_MAX as usize], 429);
        assert_eq!(failures.count(at(2), &metrics).status, StatusCode::UNAUTHORIZED, "another address is not held to it");
        (0..2 * PEERS_MAX as u32).for_each(|number| drop(failures.count(at(number), &metrics)));
        assert!(failures.0.lock().unwrap().len() <= PEERS_MAX);
    }

    #[test]
    fn a_cookie_is_found_among_others_and_a_bearer_is_one() {
        let headers = |name: header::HeaderName, text: &str| HeaderMap::from_iter([(name, text.parse().unwrap())]);
        assert_eq!(cookie(&headers(header::COOKIE, "a=b; pausegate_session=pgs_1;c=d")), Some("pgs_1"));
        assert_eq!(cookie(&headers(header::COOKIE, "xpausegate_session=pgs_1")), None);
        assert_eq!(bearer(&headers(header::AUTHORIZATION, "bearer  pgt_1 ")).unwrap(), Some("pgt_1"));
        for text in ["Basic YTpi", "pgt_1", ""] {
            assert!(bearer(&headers(header::AUTHORIZATION, text)).is_err(), "{text}");
        }
    }
}
