//! Bodies on their way: of a request, looked through for secrets; of a response, timed, scrubbed, and the connection
//! given back at its end.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame};
use tokio::time::{Sleep, sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::pool::Lease;
use crate::plugin::scrub::{Scrubber, Sieve};

/// Bytes of a request's body that are looked through before anything is sent. Of a longer one the rest is looked through
/// as it goes, and the request is broken off where a value begins.
pub const LOOKED_THROUGH_BYTES: usize = 256 << 10;

/// The body again, if no secret's value stands in what of it is looked through beforehand.
pub async fn looked_through(mut body: WasiBody, scrubber: &Arc<Scrubber>) -> Result<WasiBody, Error> {
    let mut start = Vec::new();
    while start.len() <= LOOKED_THROUGH_BYTES {
        match body.frame().await {
            // Trailers could only go where the guest set `trailer`, which is forbidden.
            Some(frame) => start.extend_from_slice(&frame?.into_data().unwrap_or_default()),
            None => {
                return if scrubber.finds(&start) { Err(Error::HttpRequestDenied) } else { Ok(whole(start)) };
            }
        }
    }
    if scrubber.finds(&start) {
        return Err(Error::HttpRequestDenied);
    }
    let mut sieve = Sieve::new(Arc::clone(scrubber));
    let ready = [Frame::data(sieve.push(&start).into())].into();
    Ok(Sieved { body, sieve: Some(sieve), on_find: OnFind::BreakOff, ready }.boxed_unsync())
}

fn whole(bytes: Vec<u8>) -> WasiBody {
    Full::new(Bytes::from(bytes)).map_err(|never| match never {}).boxed_unsync()
}

/// A response's body on its way to the guest.
pub fn to_guest(body: WasiBody, lease: Lease, between_bytes: Option<Duration>, sieve: Option<Sieve>) -> WasiBody {
    let timer = between_bytes.map(|limit| (limit, Box::pin(sleep(limit))));
    let mut leased = Leased { body, lease: Some(lease), timer };
    leased.give_back_at_end();
    match sieve {
        Some(sieve) => Sieved { body: leased.boxed_unsync(), sieve: Some(sieve), on_find: OnFind::Replace, ready: VecDeque::new() }.boxed_unsync(),
        None => leased.boxed_unsync(),
    }
}

/// Holds the connection for as long as the body comes from it.
struct Leased {
    body: WasiBody,
    lease: Option<Lease>,
    /// Time between two pieces, and when it is over.
    timer: Option<(Duration, Pin<Box<Sleep>>)>,
}

impl Leased {
    fn give_back_at_end(&mut self) {
        if self.body.is_end_stream()
            && let Some(lease) = self.lease.take()
        {
            lease.end();
        }
    }
}

impl Body for Leased {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) else {
            if let Some((_, timer)) = &mut this.timer {
                ready!(timer.as_mut().poll(cx));
                this.lease = None;
                return Poll::Ready(Some(Err(Error::ConnectionReadTimeout)));
            }
            return Poll::Pending;
        };
        if let Some((limit, timer)) = &mut this.timer {
            timer.as_mut().set(sleep(*limit));
        }
        match &frame {
            Some(Ok(_)) => this.give_back_at_end(),
            Some(Err(_)) => this.lease = None,
            None => this.lease.take().into_iter().for_each(Lease::end),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

enum OnFind {
    Replace,
    BreakOff,
}

/// A body through a sieve.
struct Sieved {
    body: WasiBody,
    /// `None` once all of the body went through it.
    sieve: Option<Sieve>,
    on_find: OnFind,
    ready: VecDeque<Frame<Bytes>>,
}

impl Sieved {
    fn queue(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.ready.push_back(Frame::data(bytes.into()));
        }
    }

    /// The rest of the sieve, once nothing more comes.
    fn finish(&mut self) -> Result<(), Error> {
        let Some(mut sieve) = self.sieve.take() else { return Ok(()) };
        let rest = sieve.finish();
        self.check(&sieve)?;
        self.queue(rest);
        Ok(())
    }

    fn check(&self, sieve: &Sieve) -> Result<(), Error> {
        match self.on_find {
            OnFind::BreakOff if sieve.found() => Err(Error::HttpRequestDenied),
            _ => Ok(()),
        }
    }

    fn take(&mut self, frame: Frame<Bytes>) -> Result<(), Error> {
        match frame.into_data() {
            Ok(bytes) => {
                let Some(mut sieve) = self.sieve.take() else { return Ok(()) };
                let out = sieve.push(&bytes);
                self.check(&sieve)?;
                self.sieve = Some(sieve);
                self.queue(out);
            }
            Err(frame) => {
                let trailers = match (&self.on_find, &self.sieve) {
                    (OnFind::Replace, Some(sieve)) => frame.into_trailers().ok().map(|trailers| headers(&trailers, sieve.scrubber())),
                    _ => None,
                };
                self.finish()?;
                self.ready.extend(trailers.map(Frame::trailers));
            }
        }
        Ok(())
    }
}

impl Body for Sieved {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(frame)));
            }
            if self.sieve.is_none() {
                return Poll::Ready(None);
            }
            let taken = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => self.take(frame),
                Some(Err(error)) => Err(error),
                None => self.finish(),
            };
            if let Err(error) = taken {
                self.sieve = None;
                self.ready.clear();
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}

/// Without the values of secrets; a field whose name is one is left out.
pub fn headers(fields: &HeaderMap, scrubber: &Scrubber) -> HeaderMap {
    let mut scrubbed = HeaderMap::with_capacity(fields.len());
    for (name, value) in fields.iter().filter(|(name, _)| !scrubber.finds(name.as_str().as_bytes())) {
        // What took the value's place is printable, so it always fits.
        if let Ok(value) = http::HeaderValue::from_bytes(&scrubber.bytes(value.as_bytes())) {
            scrubbed.append(name.clone(), value);
        }
    }
    scrubbed
}
