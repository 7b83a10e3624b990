//! One allowed request, on a connection of its own or one kept from before, to an address that was checked.

use std::error::Error as StdError;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Empty, LengthLimitError, Limited};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use rustls::pki_types::ServerName;
use secrecy::ExposeSecret;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::TlsConnector;
use url::{Host, Url};
use wasmtime_wasi::runtime::spawn;
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::pool::{Connection, Key, Lease};
use super::recall::{self, Recalled};
use super::{Allowed, HttpUse, Ledger, Net, Private, Sent, attempted, body, guard, refusal};
use crate::capability::secret::Slot;
use crate::capability::{Refusal, is_safe};
use crate::plugin::ledger::Ending;
use crate::plugin::net::is_private;
use crate::plugin::recorder::Place;
use crate::plugin::scrub::Scrubber;

/// Bytes of one request's body.
pub const REQUEST_BODY_BYTES_MAX: usize = 16 << 20;
/// Bytes of one response's body.
pub const RESPONSE_BODY_BYTES_MAX: usize = 16 << 20;
/// Bytes of one response's status line and headers.
pub const RESPONSE_HEADER_BYTES_MAX: usize = 64 << 10;
/// Wall time of looking up a name and connecting, if the guest asks for nothing shorter.
pub const CONNECT_TIME: Duration = Duration::from_secs(30);

pub(super) struct Outgoing {
    pub method: String,
    pub url: Url,
    pub allowed: Allowed,
    /// Only an approval opens it: the requests that have one.
    pub waits: Option<Arc<Mutex<Vec<HttpUse>>>>,
    pub options: RequestOptions,
    pub deadline: Instant,
    pub connection: OwnedSemaphorePermit,
    pub place: Place,
    pub ledger: Arc<Ledger>,
    pub net: Arc<Net>,
}

impl Outgoing {
    pub async fn send(self, request: Request<WasiBody>) -> Sent {
        let request = self.looked_through(request).await?;
        let (request, asked, hashed) = match self.recalled(request).await? {
            Recalled::Given(sent) => return sent,
            Recalled::Make(request, asked, hashed) => (request, asked, hashed),
        };
        let request = match &self.waits {
            Some(approved) => self.approved(approved, request).await,
            None => Ok(request),
        };
        let (recorder, slot) = (Arc::clone(&self.ledger.recorder), self.begin(asked));
        let made = match request {
            Ok(request) if hashed => self.make(request).await,
            Ok(request) => self.make(recall::asking(&recorder, slot, request)).await,
            Err(error) => Err(error),
        };
        Ok((recall::recorded(&recorder, slot, made)?, Box::new(async { Ok(()) })))
    }

    async fn make(self, request: Request<WasiBody>) -> Result<Response<WasiBody>, Error> {
        let (connection, response) = self.exchange(request).await?;
        self.check(&response)?;
        let sieve = self.ledger.vault.sieve();
        let response = match &sieve {
            Some(sieve) => self.scrubbed(response, sieve.scrubber()),
            None => response,
        };
        let key = self.key();
        let lease = Lease { connection, key, pool: Arc::clone(&self.net.pool), counted: self.connection };
        Ok(limited(response).map(|body| body::to_guest(body, lease, self.options.between_bytes_timeout, sieve)))
    }

    /// A kept connection is only for what can be sent again: the server may close it at any moment.
    async fn exchange(&self, request: Request<WasiBody>) -> Result<(Connection, Response<Incoming>), Error> {
        let request = self.on_the_wire(request)?;
        let mut counted = false;
        let mut count = || {
            if std::mem::replace(&mut counted, true) {
                Ok(())
            } else {
                self.ledger.http_request(&self.method).map_err(|Ending| Error::HttpRequestDenied)
            }
        };
        if is_safe(&self.method) && request.body().is_end_stream() {
            while let Some(mut kept) = self.net.pool.take(&self.key()) {
                if !kept.is_ready().await {
                    continue;
                }
                count()?;
                match self.answer(&mut kept, without_body(&request)).await {
                    Err(Error::Hyper(_)) => {}
                    answered => return Ok((kept, answered?)),
                }
            }
        }
        let mut fresh = self.open().await?;
        count()?;
        let response = self.answer(&mut fresh, request.map(|body| Limited::new(body, REQUEST_BODY_BYTES_MAX))).await?;
        Ok((fresh, response))
    }

    /// A body is looked through before anything is sent, if there are secrets that could stand in it.
    async fn looked_through(&self, request: Request<WasiBody>) -> Result<Request<WasiBody>, Error> {
        let Some(scrubber) = self.ledger.vault.scrubber() else { return Ok(request) };
        let (parts, body) = request.into_parts();
        let body = body::looked_through(body, scrubber).await.map_err(|error| self.told_of(error))?;
        Ok(Request::from_parts(parts, body))
    }

    /// Once a request is under way, only a secret in its body is refused.
    pub(super) fn told_of(&self, error: Error) -> Error {
        if matches!(error, Error::HttpRequestDenied) {
            let why = guard::wrote("body");
            self.ledger.refuse(Refusal { attempted: attempted(&self.method, &self.url), allow_with: format!("# {why}") });
        }
        error
    }

    fn key(&self) -> Key {
        Key { plugin: self.ledger.plugin.clone(), lines: self.allowed.lines.clone(), origin: self.url.origin().ascii_serialization() }
    }

    async fn answer(&self, connection: &mut Connection, request: Request<Limited<WasiBody>>) -> Result<Response<Incoming>, Error> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let first_byte = self.options.first_byte_timeout.unwrap_or(left).min(left);
        let response = tokio::time::timeout(first_byte, connection.sender.send_request(request)).await;
        response.map_err(|_| Error::ConnectionReadTimeout)?.map_err(|error| self.told_of(told(error)))
    }

    /// Path and query in the request line, host in its header, both from the checked URL; secrets where they go.
    fn on_the_wire(&self, request: Request<WasiBody>) -> Result<Request<WasiBody>, Error> {
        let (mut parts, body) = request.into_parts();
        let mut url = self.url.clone();
        let host = &self.url[url::Position::BeforeHost..url::Position::AfterPort];
        parts.headers.insert(HOST, HeaderValue::from_str(host).map_err(|_| Error::HttpRequestUriInvalid)?);
        for secret in &self.allowed.secrets {
            let value = self.ledger.vault.value(secret, &self.method).map_err(|_| Error::ConfigurationError)?;
            let value = secret.formatted(value.expose_secret());
            match &secret.slot {
                Slot::Query(name) => {
                    url.query_pairs_mut().append_pair(name, &value);
                }
                Slot::Header(name) => {
                    let name: HeaderName = name.parse().map_err(|_| Error::ConfigurationError)?;
                    let mut value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| Error::ConfigurationError)?;
                    value.set_sensitive(true);
                    parts.headers.insert(name, value);
                }
            }
            // A value inside a compressed answer would not be found.
            parts.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        parts.uri = url[url::Position::BeforePath..].parse().map_err(|_| Error::HttpRequestUriInvalid)?;
        Ok(Request::from_parts(parts, body))
    }

    fn check(&self, response: &Response<Incoming>) -> Result<(), Error> {
        if header_bytes(response) > RESPONSE_HEADER_BYTES_MAX {
            return Err(Error::HttpResponseHeaderSectionSize(Some(RESPONSE_HEADER_BYTES_MAX as u32)));
        }
        if self.allowed.secrets.is_empty() {
            return Ok(());
        }
        let only = |name, word: &str| response.headers().get_all(name).iter().all(|value| value.as_bytes().eq_ignore_ascii_case(word.as_bytes()));
        match (only(CONTENT_ENCODING, "identity"), only(TRANSFER_ENCODING, "chunked")) {
            (true, true) => Ok(()),
            (false, _) => Err(Error::HttpResponseContentCoding(None)),
            (_, false) => Err(Error::HttpResponseTransferCoding(None)),
        }
    }

    fn scrubbed(&self, mut response: Response<Incoming>, scrubber: &Scrubber) -> Response<Incoming> {
        *response.headers_mut() = body::headers(response.headers(), scrubber);
        if self.method != "HEAD" {
            // What stands in a value's place has another length.
            response.headers_mut().remove(CONTENT_LENGTH);
        }
        response
    }

    async fn open(&self) -> Result<Connection, Error> {
        let connect_time = self.options.connect_timeout.unwrap_or(CONNECT_TIME).min(CONNECT_TIME);
        let connecting = tokio::time::timeout(connect_time, async {
            let addresses = self.addresses().await?;
            self.connect(&addresses).await
        });
        connecting.await.map_err(|_| Error::ConnectionTimeout)?
    }

    /// Looked up once; each address is checked, and only these are connected to.
    async fn addresses(&self) -> Result<Vec<SocketAddr>, Error> {
        let addresses: Vec<IpAddr> = match self.url.host().ok_or(Error::HttpRequestUriInvalid)? {
            Host::Ipv4(address) => vec![address.into()],
            Host::Ipv6(address) => vec![address.into()],
            Host::Domain(name) => {
                let found = self.net.resolver.resolve(name).await;
                found.map_err(|error| Error::DnsError { rcode: Some(error.to_string()), info_code: None })?
            }
        };
        if addresses.is_empty() {
            return Err(Error::DestinationNotFound);
        }
        if self.allowed.private == Private::Refused && addresses.iter().copied().any(is_private) {
            self.ledger.refuse(refusal(&self.ledger.plugin, &self.method, &self.url, true));
            return Err(Error::HttpRequestDenied);
        }
        let port = self.url.port_or_known_default().ok_or(Error::HttpRequestUriInvalid)?;
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    async fn connect(&self, addresses: &[SocketAddr]) -> Result<Connection, Error> {
        let stream = TcpStream::connect(addresses).await.map_err(Error::Connect)?;
        // Small requests go out at once; a socket that refuses this still works.
        let _ = stream.set_nodelay(true);
        if self.url.scheme() == "http" {
            return handshake(stream).await;
        }
        let config = self.net.tls().map_err(|error| Error::Tls(std::io::Error::other(error)))?;
        let name = match self.url.host().ok_or(Error::HttpRequestUriInvalid)? {
            Host::Domain(name) => ServerName::try_from(name.to_owned()).map_err(|_| Error::HttpRequestUriInvalid)?,
            Host::Ipv4(address) => ServerName::from(IpAddr::from(address)),
            Host::Ipv6(address) => ServerName::from(IpAddr::from(address)),
        };
        handshake(TlsConnector::from(config).connect(name, stream).await.map_err(no_tls)?).await
    }
}

async fn handshake<S>(stream: S) -> Result<Connection, Error>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = http1::Builder::new().max_buf_size(RESPONSE_HEADER_BYTES_MAX).handshake(TokioIo::new(stream)).await?;
    Ok(Connection { sender, _worker: spawn(async move { connection.await.map_err(Error::from) }) })
}

/// Whether it was the certificate is what a guest can say; why, only the host's log.
fn no_tls(error: std::io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(_)) => Error::TlsCertificateError,
        _ => Error::Tls(error),
    }
}

/// A copy of one without a body, to be sent again if need be.
fn without_body(request: &Request<WasiBody>) -> Request<Limited<WasiBody>> {
    let mut copy = Request::new(Limited::new(Empty::new().map_err(|never| match never {}).boxed_unsync(), REQUEST_BODY_BYTES_MAX));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    copy
}

/// hyper's own limit is on its buffer, which may be larger than what it was told.
fn header_bytes<B>(response: &Response<B>) -> usize {
    response.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}

fn limited(response: Response<Incoming>) -> Response<WasiBody> {
    response.map(|body| {
        let limited = Limited::new(body, RESPONSE_BODY_BYTES_MAX).map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(error) => Error::from(*error),
            Err(_) => Error::HttpResponseBodySize(Some(RESPONSE_BODY_BYTES_MAX as u64)),
        });
        limited.boxed_unsync()
    })
}

/// hyper's error, as what it was about.
fn told(error: hyper::Error) -> Error {
    if error.source().is_some_and(|source| source.is::<LengthLimitError>()) {
        return Error::HttpRequestBodySize(Some(REQUEST_BODY_BYTES_MAX as u64));
    }
    if error.source().is_some_and(|source| matches!(source.downcast_ref(), Some(Error::HttpRequestDenied))) {
        return Error::HttpRequestDenied;
    }
    if error.is_parse_too_large() {
        return Error::HttpResponseHeaderSectionSize(Some(RESPONSE_HEADER_BYTES_MAX as u32));
    }
    if error.is_timeout() { Error::HttpResponseTimeout } else { Error::from(error) }
}
