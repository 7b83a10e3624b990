//! One exchange through `wasi:http`. The host decides whether it may happen.

use super::target::Target;
use super::{Request, Response};
use crate::bindings::wasi::http::outgoing_handler;
use crate::bindings::wasi::http::types::{
    self, ErrorCode, Fields, FutureIncomingResponse, HeaderError, IncomingBody, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use crate::bindings::wasi::io::streams::StreamError;
use crate::failure::{Effect, Failure, Kind};

/// The most that `blocking-write-and-flush` takes at once.
const WRITE_BYTES_MAX: usize = 4096;
/// How much is asked for at once.
const READ_BYTES_MAX: usize = 64 * 1024;

pub(super) fn exchange(request: &Request, target: &Target) -> Result<Response, Failure> {
    let outgoing = outgoing(request, target)?;
    // Taken only when there is something to send: a host may announce a body that was taken, be it empty.
    let body = (!request.body.is_empty()).then(|| outgoing.body().expect("a new request's body is there once"));
    // Before the body is written: a host that refuses says so at once, and one that sends needs a reader for it.
    let failed = |code| failure(request, &code);
    let pending = outgoing_handler::handle(outgoing, options(request)).map_err(failed)?;
    if let Some(body) = body {
        write(body, &request.body);
    }
    let incoming = wait(&pending).map_err(failed)?;
    let status = incoming.status();
    let headers = incoming.headers().entries();
    let body = incoming.consume().expect("a new response's body is there once");
    let (body, truncated) = read(&body, request.body_bytes_max).map_err(failed)?;
    Ok(Response { status, headers, body, truncated })
}

fn outgoing(request: &Request, target: &Target) -> Result<OutgoingRequest, Failure> {
    let unfit = |what: &str| Failure::new(Kind::InvalidInput, format!("`{}`: {what} is not valid", request.url));
    let outgoing = OutgoingRequest::new(headers(request)?);
    outgoing.set_method(&method(&request.method)).map_err(|()| unfit("the method"))?;
    outgoing.set_scheme(Some(&scheme(target.scheme))).map_err(|()| unfit("the scheme"))?;
    outgoing.set_authority(Some(target.authority)).map_err(|()| unfit("the host"))?;
    outgoing.set_path_with_query(Some(&target.path_and_query)).map_err(|()| unfit("the path"))?;
    Ok(outgoing)
}

fn headers(request: &Request) -> Result<Fields, Failure> {
    let fields = Fields::new();
    let length = request.body.len().to_string();
    // Known beforehand, so it need not be sent in chunks, which some servers refuse.
    let length = (!request.body.is_empty() && request.sent_header("content-length").is_none()).then_some(("content-length", length.as_str()));
    let own = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in own.chain(length) {
        fields.append(name, value.as_bytes()).map_err(|error| match error {
            HeaderError::Forbidden => Failure::new(Kind::Denied, format!("the header `{name}` may not be set")),
            _ => Failure::new(Kind::InvalidInput, format!("the header `{name}` is not valid")),
        })?;
    }
    Ok(fields)
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "CONNECT" => Method::Connect,
        "OPTIONS" => Method::Options,
        "TRACE" => Method::Trace,
        "PATCH" => Method::Patch,
        other => Method::Other(other.into()),
    }
}

fn scheme(name: &str) -> Scheme {
    match name.to_ascii_lowercase().as_str() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.into()),
    }
}

fn options(request: &Request) -> Option<RequestOptions> {
    let timeout = u64::try_from(request.timeout?.as_nanos()).unwrap_or(u64::MAX);
    let options = RequestOptions::new();
    // A host that knows no such timeout says so; its own limits hold then.
    let _ = options.set_connect_timeout(Some(timeout));
    let _ = options.set_first_byte_timeout(Some(timeout));
    let _ = options.set_between_bytes_timeout(Some(timeout));
    Some(options)
}

/// Stops at an error without a word: the other side may answer before it read all, and what went wrong is known to
/// the response.
fn write(body: OutgoingBody, bytes: &[u8]) {
    if let Ok(stream) = body.write() {
        for chunk in bytes.chunks(WRITE_BYTES_MAX) {
            if stream.blocking_write_and_flush(chunk).is_err() {
                break;
            }
        }
    }
    let _ = OutgoingBody::finish(body, None);
}

fn wait(pending: &FutureIncomingResponse) -> Result<types::IncomingResponse, ErrorCode> {
    loop {
        if let Some(taken) = pending.get() {
            return taken.unwrap_or(Err(ErrorCode::InternalError(None)));
        }
        pending.subscribe().block();
    }
}

/// The body up to `bytes_max`, and whether there was more.
fn read(body: &IncomingBody, bytes_max: usize) -> Result<(Vec<u8>, bool), ErrorCode> {
    let stream = body.stream().map_err(|()| ErrorCode::InternalError(None))?;
    let mut bytes = Vec::new();
    loop {
        // One byte over the limit tells a body that just fits from one that does not.
        let ask = (bytes_max - bytes.len()).saturating_add(1).min(READ_BYTES_MAX);
        match stream.blocking_read(ask as u64) {
            Ok(chunk) => bytes.extend(chunk),
            Err(StreamError::Closed) => return Ok((bytes, false)),
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(types::http_error_code(&error).unwrap_or(ErrorCode::HttpResponseIncomplete));
            }
        }
        if bytes.len() > bytes_max {
            bytes.truncate(bytes_max);
            return Ok((bytes, true));
        }
    }
}

fn failure(request: &Request, code: &ErrorCode) -> Failure {
    let (kind, sent) = judge(code);
    let changes = !matches!(&*request.method, "GET" | "HEAD" | "OPTIONS" | "TRACE");
    let effect = if sent && changes { Effect::Maybe } else { Effect::None };
    Failure::new(kind, format!("{} {}: {}", request.method, request.url, words(code))).effect(effect)
}

/// The kind of failure, and whether the request may have arrived.
fn judge(code: &ErrorCode) -> (Kind, bool) {
    use ErrorCode as E;
    match code {
        E::HttpRequestDenied | E::DestinationIpProhibited => (Kind::Denied, false),
        E::DnsTimeout | E::ConnectionTimeout => (Kind::Timeout, false),
        E::ConnectionReadTimeout | E::ConnectionWriteTimeout | E::HttpResponseTimeout => (Kind::Timeout, true),
        E::DnsError(_)
        | E::DestinationNotFound
        | E::DestinationUnavailable
        | E::DestinationIpUnroutable
        | E::ConnectionRefused
        | E::ConnectionLimitReached
        | E::TlsProtocolError
        | E::TlsCertificateError
        | E::TlsAlertReceived(_) => (Kind::Unavailable, false),
        // The host lacks what the operator said it puts into the request.
        E::ConfigurationError => (Kind::AuthRequired, false),
        E::HttpRequestMethodInvalid | E::HttpRequestUriInvalid | E::HttpRequestUriTooLong => (Kind::InvalidInput, false),
        E::HttpRequestBodySize(_) | E::HttpRequestHeaderSectionSize(_) | E::HttpRequestHeaderSize(_) => (Kind::TooLarge, false),
        E::HttpResponseBodySize(_) | E::HttpResponseHeaderSectionSize(_) | E::HttpResponseHeaderSize(_) => (Kind::TooLarge, true),
        E::ConnectionTerminated | E::HttpResponseIncomplete | E::HttpProtocolError => (Kind::Unavailable, true),
        _ => (Kind::Failed, true),
    }
}

fn words(code: &ErrorCode) -> String {
    match code {
        ErrorCode::HttpRequestDenied => "not allowed by any grant".into(),
        ErrorCode::DestinationIpProhibited => "the address is not allowed by any grant".into(),
        ErrorCode::InternalError(Some(message)) => message.clone(),
        // The bindings write `ErrorCode::ConnectionRefused`.
        other => format!("{other:?}").replace("ErrorCode::", ""),
    }
}
