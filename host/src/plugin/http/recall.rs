//! A request compared with what an earlier attempt asked for at its place: answered as it was then, or made and recorded.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::stream;
use http::header::HOST;
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited, StreamBody};
use hyper::body::{Body, Frame, SizeHint};
use wasmtime_wasi_http::{Error, WasiBody};

use super::send::{Outgoing, REQUEST_BODY_BYTES_MAX};
use super::{Sent, attempted};
use crate::call::recording::{Answer, Response};
use crate::call::result::from_base64;
use crate::capability::is_safe;
use crate::digest::Hasher;
use crate::plugin::recorder::{self, Recall, Recorder, Slot};

#[expect(clippy::large_enum_variant, reason = "one for each request, and taken apart at once")]
pub(super) enum Recalled {
    Given(Sent),
    /// Beside it what it is compared by, where it is to be recorded, and whether its body is in that already.
    Make(Request<WasiBody>, Option<Hasher>, bool),
}

impl Outgoing {
    /// Read whole only where there is something to compare it with.
    pub(super) async fn recalled(&self, request: Request<WasiBody>) -> Result<Recalled, Error> {
        let recorder = &self.ledger.recorder;
        let (parts, body) = request.into_parts();
        let mut asked = self.asked(&parts.headers);
        let compares = recorder.compares(self.place);
        let body = if compares {
            let whole = self.read(body).await?;
            asked.bytes(&whole);
            Full::new(whole).map_err(|never| match never {}).boxed_unsync()
        } else {
            body
        };
        match recorder.recall(self.place, &asked, &attempted(&self.method, &self.url)) {
            Recall::Given(answer) => Ok(Recalled::Given(sent(answer))),
            Recall::Make => Ok(Recalled::Make(Request::from_parts(parts, body), Some(asked), compares)),
            Recall::MakeAgain => Ok(Recalled::Make(Request::from_parts(parts, body), None, compares)),
            Recall::Diverged(why) => {
                self.ledger.diverge(why);
                std::future::pending().await
            }
        }
    }

    /// Recorded from here on: nobody is asked about it any more.
    pub(super) fn begin(&self, asked: Option<Hasher>) -> Slot {
        self.ledger.recorder.begin(self.place, asked?, !is_safe(&self.method))
    }

    fn asked(&self, headers: &HeaderMap) -> Hasher {
        let own = headers.iter().filter(|(name, _)| *name != HOST);
        let mut headers: Vec<_> = own.map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes())).collect();
        headers.sort_unstable();
        let fields = headers.iter().flat_map(|(name, value)| [*name, *value]);
        let parts: Vec<_> = [&b"http"[..], self.method.as_bytes(), self.url.as_str().as_bytes()].into_iter().chain(fields).collect();
        recorder::request(&parts)
    }

    async fn read(&self, body: WasiBody) -> Result<Bytes, Error> {
        match Limited::new(body, REQUEST_BODY_BYTES_MAX).collect().await {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(Error::HttpRequestBodySize(Some(REQUEST_BODY_BYTES_MAX as u64))),
            Err(error) => Err(error.downcast::<Error>().map_or(Error::HttpProtocolError, |error| self.told_of(*error))),
        }
    }
}

type Made = Result<http::Response<WasiBody>, Error>;

/// A body that was not read yet is hashed as it goes.
pub(super) fn asking(recorder: &Arc<Recorder>, slot: Slot, request: Request<WasiBody>) -> Request<WasiBody> {
    request.map(|body| Asking { body, recorder: Arc::clone(recorder), slot }.boxed_unsync())
}

/// What came back, recorded on its way to the guest.
pub(super) fn recorded(recorder: &Arc<Recorder>, slot: Slot, made: Made) -> Made {
    match made {
        Ok(response) => {
            recorder.responds(slot, head(&response));
            Ok(response.map(|body| Answering::new(body, Arc::clone(recorder), slot).boxed_unsync()))
        }
        Err(error) => {
            let (name, text) = named(&error);
            recorder.answered(slot, Answer::Error { name: name.to_owned(), text });
            Err(error)
        }
    }
}

/// Of an error only what the guest is told of it.
fn named(error: &Error) -> (&'static str, Option<String>) {
    let name = match error {
        Error::DnsError { rcode, .. } => return ("dns-error", rcode.clone()),
        Error::Connect(_) | Error::ConnectionRefused => "connection-refused",
        Error::Tls(_) | Error::TlsProtocolError => "tls-protocol-error",
        Error::Hyper(_) | Error::HttpProtocolError => "http-protocol-error",
        Error::DestinationNotFound => "destination-not-found",
        Error::ConnectionTimeout => "connection-timeout",
        Error::ConnectionReadTimeout => "connection-read-timeout",
        Error::HttpResponseTimeout => "http-response-timeout",
        Error::HttpRequestDenied => "http-request-denied",
        Error::HttpRequestBodySize(_) => "http-request-body-size",
        Error::HttpRequestUriTooLong => "http-request-uri-too-long",
        Error::HttpRequestUriInvalid => "http-request-uri-invalid",
        Error::HttpResponseHeaderSectionSize(_) => "http-response-header-section-size",
        Error::HttpResponseContentCoding(_) => "http-response-content-coding",
        Error::HttpResponseTransferCoding(_) => "http-response-transfer-coding",
        Error::ConfigurationError => "configuration-error",
        _ => "internal-error",
    };
    (name, None)
}

fn error(name: &str, text: Option<String>) -> Error {
    match name {
        "dns-error" => Error::DnsError { rcode: text, info_code: None },
        "connection-refused" => Error::ConnectionRefused,
        "tls-protocol-error" => Error::TlsProtocolError,
        "http-protocol-error" => Error::HttpProtocolError,
        "destination-not-found" => Error::DestinationNotFound,
        "connection-timeout" => Error::ConnectionTimeout,
        "connection-read-timeout" => Error::ConnectionReadTimeout,
        "http-response-timeout" => Error::HttpResponseTimeout,
        "http-request-denied" => Error::HttpRequestDenied,
        "http-request-body-size" => Error::HttpRequestBodySize(None),
        "http-request-uri-too-long" => Error::HttpRequestUriTooLong,
        "http-request-uri-invalid" => Error::HttpRequestUriInvalid,
        "http-response-header-section-size" => Error::HttpResponseHeaderSectionSize(None),
        "http-response-content-coding" => Error::HttpResponseContentCoding(None),
        "http-response-transfer-coding" => Error::HttpResponseTransferCoding(None),
        "configuration-error" => Error::ConfigurationError,
        _ => Error::InternalError(text),
    }
}

/// A byte is the character of its number, and back.
fn fields(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| value.as_bytes().iter().map(|byte| char::from(*byte)).collect();
    headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}

fn headers(fields: Vec<(String, String)>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let value: Option<Vec<u8>> = value.chars().map(|one| u8::try_from(u32::from(one)).ok()).collect();
        let read = (HeaderName::try_from(name), value.map(HeaderValue::try_from));
        if let (Ok(name), Some(Ok(value))) = read {
            headers.append(name, value);
        }
    }
    headers
}

fn head(response: &http::Response<WasiBody>) -> Response {
    Response { status: response.status().as_u16(), headers: fields(response.headers()), ..Response::default() }
}

fn sent(answer: Answer) -> Sent {
    match answer {
        Answer::Response(response) => Ok((told(response)?, Box::new(async { Ok(()) }))),
        Answer::Error { name, text } => Err(error(&name, text)),
        Answer::Values { .. } | Answer::Keys { .. } | Answer::Changed { .. } | Answer::Unkept => Err(Error::HttpResponseIncomplete),
    }
}

fn told(response: Response) -> Result<http::Response<WasiBody>, Error> {
    let body = from_base64(&response.body).ok_or(Error::HttpResponseIncomplete)?;
    let data = (!body.is_empty()).then(|| Ok(Frame::data(Bytes::from(body))));
    let trailers = (!response.trailers.is_empty()).then(|| Ok(Frame::trailers(headers(response.trailers))));
    // The guest went on without the rest, and does so again.
    let cut = response.cut.then_some(Err(Error::ConnectionTerminated));
    let frames = data.into_iter().chain(trailers).chain(cut).collect::<Vec<_>>();
    let mut told = http::Response::new(StreamBody::new(stream::iter(frames)).boxed_unsync());
    *told.status_mut() = response.status.try_into().map_err(|_| Error::HttpResponseIncomplete)?;
    *told.headers_mut() = headers(response.headers);
    Ok(told)
}

/// A request's body, hashed as it goes.
struct Asking {
    body: WasiBody,
    recorder: Arc<Recorder>,
    slot: Slot,
}

impl Body for Asking {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()).and_then(Frame::data_ref) {
            self.recorder.asks(self.slot, data);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A response's body, as the guest gets it.
struct Answering {
    body: WasiBody,
    recorder: Arc<Recorder>,
    slot: Slot,
}

impl Answering {
    fn new(body: WasiBody, recorder: Arc<Recorder>, slot: Slot) -> Self {
        let this = Self { body, recorder, slot };
        this.look_for_the_end();
        this
    }

    fn look_for_the_end(&self) {
        if self.body.is_end_stream() {
            self.recorder.ends(self.slot, Vec::new());
        }
    }
}

impl Body for Answering {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    self.recorder.takes(self.slot, data);
                }
                if let Some(trailers) = frame.trailers_ref() {
                    self.recorder.ends(self.slot, fields(trailers));
                }
                self.look_for_the_end();
            }
            Some(Err(_)) => {}
            None => self.recorder.ends(self.slot, Vec::new()),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_again_as_it_was() {
        for told in [
            Error::DnsError { rcode: Some("no such name".into()), info_code: None },
            Error::ConnectionRefused,
            Error::ConnectionReadTimeout,
            Error::HttpRequestDenied,
            Error::HttpResponseTimeout,
            Error::DestinationNotFound,
        ] {
            let (name, text) = named(&told);
            assert_eq!(format!("{:?}", error(name, text)), format!("{told:?}"));
        }
    }

    #[test]
    fn header_values_come_back_byte_for_byte() {
        let mut sent = HeaderMap::new();
        sent.append("x-a", HeaderValue::from_bytes(b"caf\xe9").unwrap());
        sent.append("x-a", HeaderValue::from_static("two"));
        assert_eq!(headers(fields(&sent)), sent);
    }
}
