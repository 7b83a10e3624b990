//! A way to the server that can be cut where it hurts.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};

use crate::journal::postgres::address::Address;

#[derive(Clone, Copy, PartialEq)]
#[repr(u8)]
pub enum Way {
    Open,
    /// What is sent next is lost, and the connection with it; then it is open again.
    LosesRequest,
    /// The same with what is answered next: it was done, and nobody is told.
    LosesAnswer,
    /// Takes everything and says nothing.
    Silent,
}

pub struct Proxy {
    folder: tempfile::TempDir,
    way: Arc<AtomicU8>,
    /// Connections made, and how many of them are silent for good.
    made: Arc<AtomicUsize>,
    silent: Arc<AtomicUsize>,
}

impl Proxy {
    /// Before the server at `address`.
    pub fn before(address: &Address) -> (Self, Address) {
        let tokio_postgres::config::Host::Unix(server) = &address.config.get_hosts()[0] else { panic!("a socket") };
        let server = server.join(".s.PGSQL.5432");
        let proxy = Self {
            folder: tempfile::tempdir().unwrap(),
            way: Arc::new(AtomicU8::new(Way::Open as u8)),
            made: Arc::default(),
            silent: Arc::default(),
        };
        let listener = UnixListener::bind(proxy.folder.path().join(".s.PGSQL.5432")).unwrap();
        tokio::spawn(accept(listener, server, proxy.way.clone(), proxy.made.clone(), proxy.silent.clone()));
        let database = address.config.get_dbname().unwrap();
        let url = format!("postgres://pausegate@/{database}?host={}&lease={}", proxy.folder.path().display(), address.lease.as_secs());
        (proxy, Address::parse(&url, None).unwrap())
    }

    pub fn set(&self, way: Way) {
        self.way.store(way as u8, Ordering::SeqCst);
    }

    /// As a firewall does that forgets them: new ones are served.
    pub fn silence_those_open(&self) {
        self.silent.store(self.made.load(Ordering::SeqCst), Ordering::SeqCst);
    }

    pub fn is_open(&self) -> bool {
        self.way.load(Ordering::SeqCst) == Way::Open as u8
    }
}

async fn accept(listener: UnixListener, server: PathBuf, way: Arc<AtomicU8>, made: Arc<AtomicUsize>, silent: Arc<AtomicUsize>) {
    while let Ok((client, _)) = listener.accept().await {
        let Ok(server) = UnixStream::connect(&server).await else { continue };
        let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
        let number = made.fetch_add(1, Ordering::SeqCst);
        let way = Lane { way: way.clone(), silent: silent.clone(), number };
        let (asking, answering) = (way.clone(), way);
        tokio::spawn(async move {
            tokio::select! {
                () = carry(from_client, to_server, asking, Way::LosesRequest) => {}
                () = carry(from_server, to_client, answering, Way::LosesAnswer) => {}
            }
        });
    }
}

/// The way of one connection.
#[derive(Clone)]
struct Lane {
    way: Arc<AtomicU8>,
    silent: Arc<AtomicUsize>,
    number: usize,
}

impl Lane {
    fn is_silent(&self) -> bool {
        self.way.load(Ordering::SeqCst) == Way::Silent as u8 || self.number < self.silent.load(Ordering::SeqCst)
    }
}

/// Ends, and both ends with it, where this direction loses something.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, way: Lane, losing: Way) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if way.way.compare_exchange(losing as u8, Way::Open as u8, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            return;
        }
        if way.is_silent() {
            continue;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
