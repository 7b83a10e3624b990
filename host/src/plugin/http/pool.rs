//! Connections kept open between the requests of one plugin under the same grant lines; shared by no one else.
//!
//! The lines hold the binding of a secret too, so a connection that carried a secret is used for nothing without it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http_body_util::Limited;
use hyper::client::conn::http1::SendRequest;
use tokio::sync::OwnedSemaphorePermit;
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};
use wasmtime_wasi_http::{Error, WasiBody};

use crate::capability::HeldHttp;

/// Idle connections of one plugin, its lines and an origin.
pub const IDLE_PER_KEY_MAX: usize = 4;
/// Idle connections of all plugins; the one idle for longest makes room.
pub const IDLE_MAX: usize = 64;
/// How long one stays idle: less than servers commonly allow.
pub const IDLE_TIME: Duration = Duration::from_secs(15);
/// How long one that was just given back may take to be ready: only its own task's turn is waited for.
const READY_TIME: Duration = Duration::from_secs(1);

/// Whose a connection is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub plugin: String,
    pub lines: Vec<HeldHttp>,
    /// `https://api.test:443`
    pub origin: String,
}

/// An open connection, closed when it is dropped.
pub struct Connection {
    pub sender: SendRequest<Limited<WasiBody>>,
    pub _worker: AbortOnDropJoinHandle<Result<(), Error>>,
}

impl Connection {
    pub async fn is_ready(&mut self) -> bool {
        tokio::time::timeout(READY_TIME, self.sender.ready()).await.is_ok_and(|ready| ready.is_ok())
    }
}

/// A connection in use, and the place it takes among those of its attempt.
pub struct Lease {
    pub connection: Connection,
    pub key: Key,
    pub pool: Arc<Pool>,
    pub counted: OwnedSemaphorePermit,
}

impl Lease {
    /// The response was read to its end.
    pub fn end(self) {
        drop(self.counted);
        self.pool.put(self.key, self.connection);
    }
}

pub struct Pool {
    idle: Mutex<Kept>,
    idle_time: Duration,
}

#[derive(Default)]
struct Kept {
    /// Oldest first.
    connections: VecDeque<Idle>,
    count: u64,
}

struct Idle {
    number: u64,
    key: Key,
    connection: Connection,
    /// Ends it when its time is over.
    _timer: AbortOnDropJoinHandle<()>,
}

impl Pool {
    pub fn new(idle_time: Duration) -> Self {
        Self { idle: Mutex::default(), idle_time }
    }

    /// The one used last.
    pub fn take(&self, key: &Key) -> Option<Connection> {
        let mut kept = self.kept();
        let at = kept.connections.iter().rposition(|idle| &idle.key == key)?;
        kept.connections.remove(at).map(|idle| idle.connection)
    }

    fn put(self: &Arc<Self>, key: Key, connection: Connection) {
        let mut kept = self.kept();
        let same = kept.connections.iter().filter(|idle| idle.key == key).count();
        if connection.sender.is_closed() || same >= IDLE_PER_KEY_MAX {
            return;
        }
        if kept.connections.len() >= IDLE_MAX {
            kept.connections.pop_front();
        }
        kept.count += 1;
        let (number, time, pool) = (kept.count, self.idle_time, Arc::downgrade(self));
        let _timer = spawn(async move {
            tokio::time::sleep(time).await;
            if let Some(pool) = pool.upgrade() {
                pool.end(number);
            }
        });
        kept.connections.push_back(Idle { number, key, connection, _timer });
    }

    fn end(&self, number: u64) {
        self.kept().connections.retain(|idle| idle.number != number);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.idle.lock().expect("no panic under this lock")
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use hyper::client::conn::http1;
    use tokio::io::AsyncReadExt;
    use wasmtime_wasi_http::io::TokioIo;

    use super::*;

    fn key(plugin: &str) -> Key {
        Key { plugin: plugin.into(), lines: Vec::new(), origin: "http://a.test:80".into() }
    }

    /// A connection and the server's end of it.
    async fn connection() -> (Connection, tokio::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let _worker = spawn(async move { connection.await.map_err(Error::from) });
        (Connection { sender, _worker }, tokio::net::TcpStream::from_std(server).unwrap())
    }

    #[tokio::test]
    async fn a_connection_is_kept_for_its_key_alone() {
        let pool = Arc::new(Pool::new(IDLE_TIME));
        let (one, _server) = connection().await;
        pool.put(key("a"), one);
        assert!(pool.take(&key("b")).is_none());
        let line = HeldHttp { url: "http://a.test/**".into(), methods: vec!["GET".into()], private: false, secret: None };
        assert!(pool.take(&Key { lines: vec![line], ..key("a") }).is_none());
        assert!(pool.take(&Key { origin: "http://a.test:81".into(), ..key("a") }).is_none());
        assert!(pool.take(&key("a")).unwrap().is_ready().await);
        assert!(pool.take(&key("a")).is_none(), "it is used by one at a time");
    }

    /// limit: plugin/http/pool::IDLE_PER_KEY_MAX, plugin/http/pool::IDLE_MAX
    #[tokio::test]
    async fn kept_connections_are_limited_by_key_and_in_all() {
        let pool = Arc::new(Pool::new(IDLE_TIME));
        let mut servers = Vec::new();
        for number in 0..IDLE_PER_KEY_MAX + 1 {
            let (one, server) = connection().await;
            servers.push(server);
            pool.put(key("a"), one);
            assert_eq!(pool.kept().connections.len(), (number + 1).min(IDLE_PER_KEY_MAX));
        }
        for number in 0..IDLE_MAX {
            let (one, server) = connection().await;
            servers.push(server);
            pool.put(key(&number.to_string()), one);
        }
        assert_eq!(pool.kept().connections.len(), IDLE_MAX);
        assert!(pool.take(&key("a")).is_none(), "the oldest made room");
    }

    /// limit: plugin/http/pool::IDLE_TIME
    #[tokio::test]
    async fn an_idle_connection_is_closed_when_its_time_is_over() {
        let pool = Arc::new(Pool::new(Duration::from_millis(20)));
        let (one, mut server) = connection().await;
        pool.put(key("a"), one);
        let closed = tokio::time::timeout(Duration::from_secs(10), server.read(&mut [0; 1])).await.expect("it is closed");
        assert_eq!(closed.unwrap(), 0);
        assert!(pool.take(&key("a")).is_none());
    }
}
