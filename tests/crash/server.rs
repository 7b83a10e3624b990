//! The outside: a server on loopback that counts what it is asked, and may kill or stop who asks.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::process::{Pid, kill_process};

use super::kill::{Fate, Kill, Side};

/// Bytes of a request's head.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// What was sent before has come by then, when somebody looks; who is frozen in the midst of asking is not waited for.
const QUIET: Duration = Duration::from_secs(5);

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
    /// Who is struck at which of the requests from now on, and how.
    aim: Option<Aim>,
    /// Who may be, where whoever asks is aimed at.
    alive: Vec<Pid>,
    struck: Vec<(Pid, Fate)>,
    /// Connections that are accepted, and whose request has neither counted nor died.
    coming: u64,
}

struct Aim {
    /// `None` for whoever asks.
    at: Option<Pid>,
    side: Side,
    left: u64,
    fate: Fate,
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

    /// At a process, or at whoever of those alive asks; at nobody where the fate names no request.
    pub fn aim(&self, at: Option<Pid>, fate: Fate) {
        self.shared.inner.lock().unwrap().aim = match fate.kill() {
            Some(Kill::Request(side, left)) => Some(Aim { at, side, left, fate }),
            _ => None,
        };
    }

    /// Whether nobody has been struck by what was aimed last.
    pub fn aims(&self) -> bool {
        self.shared.inner.lock().unwrap().aim.is_some()
    }

    pub fn lives(&self, process: Pid) {
        self.shared.inner.lock().unwrap().alive.push(process);
    }

    /// Before it is waited for. Returns how it was struck.
    pub fn is_gone(&self, process: Pid) -> Vec<Fate> {
        let mut inner = self.shared.inner.lock().unwrap();
        inner.alive.retain(|alive| *alive != process);
        let struck = inner.struck.iter().filter(|(who, _)| *who == process).map(|(_, fate)| *fate).collect();
        inner.struck.retain(|(who, _)| *who != process);
        struck
    }

    pub fn alive(&self) -> Vec<Pid> {
        self.shared.inner.lock().unwrap().alive.clone()
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

    /// Strikes the one who asks, from `port`, if it is to be struck at this side of this request.
    fn strikes(&mut self, side: Side, port: u16) -> Option<Fate> {
        let aim = self.aim.as_mut()?;
        if side == Side::Before {
            aim.left = aim.left.saturating_sub(1);
        }
        if aim.left > 0 {
            return None;
        }
        let (hit, at, fate) = (aim.side == side, aim.at, aim.fate);
        // Past it.
        if hit || side == Side::After {
            self.aim = None;
        }
        if !hit {
            return None;
        }
        // Whoever asks may have died by another hand.
        let who = at.or_else(|| self.alive.iter().copied().find(|process| has_port(*process, port)))?;
        kill_process(who, fate.signal()).ok()?;
        self.struck.push((who, fate));
        Some(fate)
    }
}

/// Whether a process has a connection from this port of ours.
fn has_port(process: Pid, port: u16) -> bool {
    let ours = format!("0100007F:{port:04X}");
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let mut rows = table.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
    let Some(row) = rows.find(|row| row.get(1) == Some(&ours.as_str())) else { return false };
    let socket = format!("socket:[{}]", row[9]);
    let files = std::fs::read_dir(format!("/proc/{}/fd", process.as_raw_nonzero()));
    files.into_iter().flatten().flatten().any(|file| std::fs::read_link(file.path()).is_ok_and(|link| link.as_os_str() == socket.as_str()))
}

/// One request of a connection. What `reconcile` or a person asks has its key in the query and is no effect.
fn answer(mut stream: TcpStream, shared: &Shared) {
    let port = stream.peer_addr().map_or(0, |peer| peer.port());
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
            let (quiet, _) = shared.less_comes.wait_timeout_while(inner, QUIET, |inner| inner.coming > 0).unwrap();
            if quiet.has(key) { ("200 OK", "found".to_owned()) } else { ("404 Not Found", String::new()) }
        }
        None => {
            let key = head.lines().find_map(|line| line.strip_prefix("idempotency-key: ")).unwrap_or_default().to_owned();
            if inner.strikes(Side::Before, port).is_some() {
                return;
            }
            inner.asked.push(Asked { method, path: target.to_owned(), key });
            // Who is frozen finds its answer when it wakes.
            if let Some(Fate::Dies(_)) = inner.strikes(Side::After, port) {
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
