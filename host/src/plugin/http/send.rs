//! One allowed request on its own connection, to an address that was checked.

use std::error::Error as StdError;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::header::HOST;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::client::conn::http1;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::TlsConnector;
use url::{Host, Url};
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::super::ledger::Ending;
use super::{HttpUse, Ledger, Net, Private, Sent, is_private, refusal};

/// Bytes of one request's body.
pub const REQUEST_BODY_BYTES_MAX: usize = 16 << 20;
/// Bytes of one response's body.
pub const RESPONSE_BODY_BYTES_MAX: usize = 16 << 20;
/// Bytes of one response's status line and headers.
pub const RESPONSE_HEADER_BYTES_MAX: usize = 64 << 10;
/// Wall time of looking up a name and connecting, if the guest asks for nothing shorter.
pub const CONNECT_TIME: Duration = Duration::from_secs(30);

pub struct Outgoing {
    pub method: String,
    pub url: Url,
    pub private: Private,
    /// Only an approval opens it: the requests that have one.
    pub waits: Option<Arc<Mutex<Vec<HttpUse>>>>,
    pub options: RequestOptions,
    pub deadline: Instant,
    pub connection: OwnedSemaphorePermit,
    pub ledger: Arc<Ledger>,
    pub net: Arc<Net>,
}

type Sender = http1::SendRequest<Limited<WasiBody>>;

impl Outgoing {
    pub async fn send(self, request: Request<WasiBody>) -> Sent {
        let request = match &self.waits {
            Some(approved) => self.approved(approved, request).await?,
            None => request,
        };
        let connect_time = self.options.connect_timeout.unwrap_or(CONNECT_TIME).min(CONNECT_TIME);
        let connecting = tokio::time::timeout(connect_time, async {
            let addresses = self.addresses().await?;
            self.connect(&addresses).await
        });
        let (mut sender, worker) = connecting.await.map_err(|_| Error::ConnectionTimeout)??;
        let left = self.deadline.saturating_duration_since(Instant::now());
        let first_byte = self.options.first_byte_timeout.unwrap_or(left).min(left);
        self.ledger.http_request(&self.method).map_err(|Ending| Error::HttpRequestDenied)?;
        let request = on_the_wire(request, &self.url)?;
        let response = tokio::time::timeout(first_byte, sender.send_request(request)).await;
        let response = response.map_err(|_| Error::ConnectionReadTimeout)?.map_err(told)?;
        if header_bytes(&response) > RESPONSE_HEADER_BYTES_MAX {
            return Err(Error::HttpResponseHeaderSectionSize(Some(RESPONSE_HEADER_BYTES_MAX as u32)));
        }
        let connection = self.connection;
        // The connection lives, and counts, until the guest drops the response.
        let finished = async move {
            let _counted = connection;
            worker.await
        };
        Ok((limited(response), Box::new(finished)))
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
        if self.private == Private::Refused && addresses.iter().copied().any(is_private) {
            self.ledger.refuse(refusal(&self.ledger.plugin, &self.method, &self.url, true));
            return Err(Error::HttpRequestDenied);
        }
        let port = self.url.port_or_known_default().ok_or(Error::HttpRequestUriInvalid)?;
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    async fn connect(&self, addresses: &[SocketAddr]) -> Result<(Sender, AbortOnDropJoinHandle<Result<(), Error>>), Error> {
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
        handshake(TlsConnector::from(config).connect(name, stream).await.map_err(Error::Tls)?).await
    }
}

async fn handshake<S>(stream: S) -> Result<(Sender, AbortOnDropJoinHandle<Result<(), Error>>), Error>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = http1::Builder::new().max_buf_size(RESPONSE_HEADER_BYTES_MAX).handshake(TokioIo::new(stream)).await?;
    Ok((sender, spawn(async move { connection.await.map_err(Error::from) })))
}

/// Path and query in the request line, host in its header, both from the checked URL.
fn on_the_wire(request: Request<WasiBody>, url: &Url) -> Result<Request<Limited<WasiBody>>, Error> {
    let (mut parts, body) = request.into_parts();
    parts.uri = url[url::Position::BeforePath..].parse().map_err(|_| Error::HttpRequestUriInvalid)?;
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    parts.headers.insert(HOST, HeaderValue::from_str(host).map_err(|_| Error::HttpRequestUriInvalid)?);
    Ok(Request::from_parts(parts, Limited::new(body, REQUEST_BODY_BYTES_MAX)))
}

/// hyper's own limit is on its buffer, which may be larger than what it was told.
fn header_bytes<B>(response: &Response<B>) -> usize {
    response.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}

fn limited(response: Response<hyper::body::Incoming>) -> Response<WasiBody> {
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
    if error.is_parse_too_large() {
        return Error::HttpResponseHeaderSectionSize(Some(RESPONSE_HEADER_BYTES_MAX as u32));
    }
    if error.is_timeout() { Error::HttpResponseTimeout } else { Error::from(error) }
}
