//! What a guest may not write into a request: how it travels, another method than the one that was judged, a secret.

use http::{HeaderName, Request};
use percent_encoding::percent_decode_str;
use wasmtime_wasi_http::{DEFAULT_FORBIDDEN_HEADERS, WasiBody};

use crate::capability::Secret;
use crate::capability::secret::Slot;
use crate::plugin::scrub::Scrubber;

/// Besides those that wasmtime forbids: framing and hops, and headers by which some servers take another method.
const FORBIDDEN: [&str; 6] = ["expect", "te", "trailer", "x-http-method", "x-http-method-override", "x-method-override"];

pub fn is_forbidden(name: &HeaderName) -> bool {
    DEFAULT_FORBIDDEN_HEADERS.contains(name) || FORBIDDEN.contains(&name.as_str()) || name.as_str().starts_with("proxy-")
}

/// Why the request is not sent, looked for before the host puts anything into it.
pub fn objection(request: &Request<WasiBody>, secrets: &[Secret], scrubber: Option<&Scrubber>) -> Option<String> {
    let taken = secrets.iter().find(|secret| is_set(request, &secret.slot));
    if let Some(secret) = taken {
        return Some(format!("nothing allows a plugin to set {} itself: the secret {} goes there", secret.slot, secret.name));
    }
    let place = written(request, scrubber?)?;
    Some(wrote(place))
}

pub fn wrote(place: &str) -> String {
    format!("nothing allows a plugin to write a secret's value itself, as this one did into the {place}")
}

fn is_set(request: &Request<WasiBody>, slot: &Slot) -> bool {
    match slot {
        Slot::Header(name) => request.headers().contains_key(name.as_str()),
        Slot::Query(name) => parameters(request.uri().query().unwrap_or_default()).any(|own| own.eq_ignore_ascii_case(name)),
    }
}

/// Names in a query, as the most forgiving server would read them.
fn parameters(query: &str) -> impl Iterator<Item = String> {
    let name = |pair: &str| pair.split('=').next().unwrap_or_default().replace('+', " ");
    query.split(['&', ';']).map(move |pair| percent_decode_str(&name(pair)).decode_utf8_lossy().into_owned())
}

/// Where a value stands.
fn written(request: &Request<WasiBody>, scrubber: &Scrubber) -> Option<&'static str> {
    if scrubber.finds(request.uri().to_string().as_bytes()) {
        return Some("URL");
    }
    let in_header = request.headers().iter().any(|(name, value)| scrubber.finds(name.as_str().as_bytes()) || scrubber.finds(value.as_bytes()));
    in_header.then_some("headers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_in_every_spelling() {
        let names: Vec<_> = parameters("a=1&ke%79=2;x+y=3&=4&z").collect();
        assert_eq!(names, ["a", "key", "x y", "", "z"]);
    }

    #[test]
    fn headers_of_the_way_are_forbidden() {
        for name in ["host", "connection", "proxy-anything", "transfer-encoding", "upgrade", "te", "trailer", "x-http-method-override", "expect"] {
            assert!(is_forbidden(&HeaderName::from_static(name)), "{name}");
        }
        for name in ["authorization", "content-length", "accept", "x-http-methods"] {
            assert!(!is_forbidden(&HeaderName::from_static(name)), "{name}");
        }
    }
}
