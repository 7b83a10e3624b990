//! A request that only an approval opens: read whole, compared with what was approved, or held back for a person.

use std::sync::Mutex;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use wasmtime_wasi_http::{Error, WasiBody};

use super::send::Outgoing;
use super::{is_local, refusal};
use crate::capability::frozen::{FROZEN_BODY_BYTES_MAX, FROZEN_NAME_BYTES_MAX, HttpUse, PREVIEW_BYTES_MAX};
use crate::capability::{FrozenUse, Refusal};
use crate::digest::Digest;
use crate::plugin::ledger::{HadEffect, too_late};
use crate::plugin::text::cut;

impl Outgoing {
    /// The request again once it is known to be an approved one. Of one that is not, nothing comes back: the attempt ends.
    pub(super) async fn approved(&self, approved: &Mutex<Vec<HttpUse>>, request: Request<WasiBody>) -> Result<Request<WasiBody>, Error> {
        let (parts, body) = request.into_parts();
        let body = self.whole(body).await?;
        let frozen = self.frozen(&parts.headers, &body)?;
        if spend(approved, &frozen) {
            let body = Full::new(body).map_err(|never| match never {}).boxed_unsync();
            return Ok(Request::from_parts(parts, body));
        }
        let frozen = FrozenUse::Http(frozen);
        match self.ledger.hold_back(frozen.clone()) {
            Ok(()) => std::future::pending().await,
            Err(HadEffect) => {
                let line = refusal(&self.ledger.plugin, &self.method, &self.url, is_local(&self.url)).allow_with;
                self.ledger.refuse(too_late(&frozen, &line));
                Err(Error::HttpRequestDenied)
            }
        }
    }

    async fn whole(&self, body: WasiBody) -> Result<Bytes, Error> {
        match Limited::new(body, FROZEN_BODY_BYTES_MAX).collect().await {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => {
                self.too_large(&format!("a body of over {FROZEN_BODY_BYTES_MAX} bytes"));
                Err(Error::HttpRequestBodySize(Some(FROZEN_BODY_BYTES_MAX as u64)))
            }
            Err(error) => Err(error.downcast::<Error>().map_or(Error::HttpProtocolError, |error| self.told_of(*error))),
        }
    }

    fn frozen(&self, headers: &HeaderMap, body: &Bytes) -> Result<HttpUse, Error> {
        let url = self.url.to_string();
        if url.len() > FROZEN_NAME_BYTES_MAX {
            self.too_large(&format!("a URL of over {FROZEN_NAME_BYTES_MAX} bytes"));
            return Err(Error::HttpRequestUriTooLong);
        }
        // `host` is made from the URL when the request is sent.
        let own = headers.iter().filter(|(name, _)| *name != HOST);
        let mut headers: Vec<_> = own.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())).collect();
        headers.sort();
        let shown = &body[..body.len().min(PREVIEW_BYTES_MAX)];
        Ok(HttpUse {
            method: self.method.clone(),
            url,
            headers,
            body_digest: Digest::of_bytes(body),
            body_bytes: body.len() as u64,
            preview: String::from_utf8_lossy(shown).into_owned(),
        })
    }

    fn too_large(&self, what: &str) {
        let attempted = format!("http {} {} with {what}", self.method, cut(self.url.as_str(), 500));
        let allow_with = "# a person cannot be asked about a request of that size; take `when = \"approved\"` from the line".to_owned();
        self.ledger.refuse(Refusal { attempted, allow_with });
    }
}

/// Takes the approval of exactly this request, if there is one.
fn spend(approved: &Mutex<Vec<HttpUse>>, frozen: &HttpUse) -> bool {
    let mut approved = approved.lock().expect("no panic under this lock");
    let found = approved.iter().position(|held| held == frozen);
    found.map(|index| approved.swap_remove(index)).is_some()
}
