//! The outside: a server on loopback that counts what it is asked, and may kill who asks.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::kill::{Kill, Side};

/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Of what was sent before, when somebody looks: all of it is answered at once, so this is long.
const QUIET: Duration = Duration::from_secs(20);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub method: String,
    /// Without the query.
    pub path: String,
    pub key: String,
}

#[derive(Default)]
struct Inner {
    asked: Vec<Asked>,
    /// Who dies at which of the requests from now on.
    victim: Option<(Pid, Side, u64)>,
    /// Connections that are accepted, and whose request has neither counted nor died.
    coming: u64,
}

#[derive(Default)]
struct Shared {
    inner: Mutex<Inner>,
    less_comes: Condvar,
}

pub struct Server {
    pub port: u16,
    shared: Arc<Shared>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, shared) = (listener.local_addr().unwrap().port(), Arc::new(Shared::default()));
        let kept = Arc::downgrade(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // The trial is over, and with it whoever could ask.
                let Some(shared) = kept.upgrade() else { return };
                shared.inner.lock().unwrap().coming += 1;
                std::thread::spawn(move || answer(stream.unwrap(), &shared));
            }
        });
        Self { port, shared }
    }

    pub fn aim(&self, process: Pid, kill: Option<Kill>) {
        self.shared.inner.lock().unwrap().victim = match kill {
            Some(Kill::Request(side, count)) => Some((process, side, count)),
            _ => None,
        };
    }

    /// What took effect, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.inner.lock().unwrap().asked.clone()
    }

    /// What a person finds who looks there, when all that was sent before has come.
    pub fn has(&self, key: &str) -> bool {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "GET /look?key={key} HTTP/1.1\r\n\r\n").unwrap();
        let mut told = String::new();
        stream.read_to_string(&mut told).unwrap();
        told.contains("200 OK")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared = Arc::default();
        // Wakes the listener, so that it sees that it is over.
        TcpStream::connect(("127.0.0.1", self.port)).ok();
    }
}

impl Inner {
    fn has(&self, key: &str) -> bool {
        self.asked.iter().any(|asked| asked.key == key && asked.method != "GET")
    }

    /// Whether the one who asks dies at this side of this request.
    fn dies(&mut self, side: Side) -> bool {
        let Some((process, at, left)) = &mut self.victim else { return false };
        if side == Side::Before {
            *left -= 1;
        }
        let hit = *at == side && *left == 0;
        if hit {
            kill_process(*process, Signal::KILL).unwrap();
        }
        // Past it, so that it is not counted below nothing.
        if side == Side::After && *left == 0 {
            self.victim = None;
        }
        hit
    }
}

/// One request of a connection. What `reconcile` or a person asks has its key in the query and is no effect.
fn answer(mut stream: TcpStream, shared: &Shared) {
    let head = read_head(&mut stream);
    let mut inner = shared.inner.lock().unwrap();
    inner.coming -= 1;
    shared.less_comes.notify_all();
    let Some(head) = head else { return };
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap().to_owned(), words.next().unwrap());
    let (status, body) = match target.split_once("?key=") {
        Some((_, key)) => {
            // Connections come in their order: what a dead process sent was accepted before this.
            let (quiet, waited) = shared.less_comes.wait_timeout_while(inner, QUIET, |inner| inner.coming > 0).unwrap();
            assert!(!waited.timed_out(), "a request neither came nor ended");
            if quiet.has(key) { ("200 OK", "found".to_owned()) } else { ("404 Not Found", String::new()) }
        }
        None => {
            let key = head.lines().find_map(|line| line.strip_prefix("idempotency-key: ")).unwrap_or_default().to_owned();
            if inner.dies(Side::Before) {
                return;
            }
            inner.asked.push(Asked { method, path: target.to_owned(), key });
            if inner.dies(Side::After) {
                return;
            }
            ("200 OK", format!("{target} done"))
        }
    };
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()).ok();
}

/// `None` where the one who asks died meanwhile.
fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == HEAD_BYTES_MAX || stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}
