//! Takes connections, a bounded number of them, each with a time to say what it wants and to take the answer, and ends them
//! in order.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

mod heard;

use heard::Heard;

/// Open at the same time; the next one waits in the system's own queue.
pub const CONNECTIONS_MAX: usize = 512;
/// For the headers of a request, from the first byte of it or the end of the one before.
const HEADERS_WITHIN: Duration = Duration::from_secs(20);
/// For the other end to take some of what is written to it.
const TAKEN_WITHIN: Duration = Duration::from_secs(20);
const HEADERS_BYTES_MAX: usize = 32 << 10;
const HEADERS_MAX: usize = 64;
/// After a connection could not be taken: files may have run out.
const BREATH: Duration = Duration::from_millis(100);
/// For requests under way when the server ends.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// Who is at the other end of the connection: a proxy, where there is one.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// Serves until `stop`, then lets requests under way end.
pub async fn listen(listener: TcpListener, router: Router, stop: CancellationToken) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                let connection = serve(stream, peer, router.clone(), stop.clone());
                connections.spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(BREATH).await,
        }
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    // Who reads slowly is cut off then: what was decided is in the journal.
    tokio::time::timeout(ENDS_WITHIN, all).await.ok();
}

async fn serve(stream: TcpStream, peer: SocketAddr, router: Router, stop: CancellationToken) {
    stream.set_nodelay(true).ok();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (mut request, router) = (request.map(Body::new), router.clone());
        request.extensions_mut().insert(Peer(peer));
        async move { Ok::<_, Infallible>(answer(router, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN).max_buf_size(HEADERS_BYTES_MAX).max_headers(HEADERS_MAX);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(Heard::new(stream, TAKEN_WITHIN)), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    // A connection that breaks has nobody to be told.
    connection.await.ok();
}

async fn answer(router: Router, request: hyper::Request<Body>) -> axum::response::Response {
    use hyper::service::Service as _;
    let service = hyper_util::service::TowerToHyperService::new(router.into_service::<Body>());
    service.call(request).await.unwrap_or_else(|never| match never {})
}
