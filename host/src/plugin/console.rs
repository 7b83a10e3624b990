//! What a guest says while it runs: log lines, progress, standard output and error. Limited, and never a reason to fail.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use super::bindings::{log, progress};
use super::scrub::Sieve;
use super::text::cut;
use super::vault::Vault;
use crate::plugin::Watcher;

/// Bytes of all lines of one attempt that are passed on.
pub const LOG_BYTES_MAX: usize = 64 << 10;
/// Lines of one attempt that are passed on.
pub const LOG_LINES_MAX: usize = 1000;
/// Progress reports of one attempt that are passed on.
pub const PROGRESS_MAX: usize = 1000;
/// The end of standard error that is kept for the message of a trap: a panic's text stands there.
pub const STDERR_TAIL_BYTES: usize = 2 << 10;
/// Bytes taken in one write.
const WRITE_BYTES_MAX: usize = 64 << 10;

pub struct Console {
    call_id: String,
    watcher: Option<Arc<dyn Watcher>>,
    vault: Arc<Vault>,
    said: Mutex<Said>,
}

#[derive(Default)]
struct Said {
    bytes: usize,
    lines: usize,
    dropped: usize,
    progress: usize,
    stdout: Written,
    stderr: Written,
    tail: Vec<u8>,
}

/// What stands on a stream without a line end.
#[derive(Default)]
struct Written {
    pending: Vec<u8>,
    /// There from the first write on, where there are secrets: one may be written in pieces.
    sieve: Option<Sieve>,
}

impl Console {
    pub fn new(call_id: String, watcher: Option<Arc<dyn Watcher>>, vault: Arc<Vault>) -> Self {
        Self { call_id, watcher, vault, said: Mutex::default() }
    }

    fn line(&self, said: &mut Said, level: &'static str, message: &str) {
        let room = LOG_BYTES_MAX.saturating_sub(said.bytes);
        if said.lines >= LOG_LINES_MAX || room == 0 {
            said.dropped += 1;
            return;
        }
        said.lines += 1;
        said.bytes += message.len().max(1);
        if let Some(watcher) = &self.watcher {
            watcher.log(&self.call_id, level, &cut(message, room));
        }
    }

    pub fn log(&self, level: &'static str, message: String) {
        let message = &self.vault.text(message);
        let mut said = self.said.lock().expect("no panic under this lock");
        self.line(&mut said, level, message);
    }

    fn progress(&self, done: f64, total: Option<f64>, message: String) {
        let message = &self.vault.text(message);
        let mut said = self.said.lock().expect("no panic under this lock");
        said.progress += 1;
        if said.progress > PROGRESS_MAX || !done.is_finite() {
            return;
        }
        if let Some(watcher) = &self.watcher {
            watcher.progress(&self.call_id, done, total.filter(|total| total.is_finite()), &cut(message, 1024));
        }
    }

    fn write(&self, stream: Stream, bytes: &[u8]) {
        let mut said = self.said.lock().expect("no panic under this lock");
        let written = said.written(stream);
        if written.sieve.is_none() {
            written.sieve = self.vault.sieve();
        }
        match written.sieve.as_mut().map(|sieve| sieve.push(bytes)) {
            Some(bytes) => self.take(&mut said, stream, &bytes),
            None => self.take(&mut said, stream, bytes),
        }
    }

    fn take(&self, said: &mut Said, stream: Stream, bytes: &[u8]) {
        if stream == Stream::Error {
            let tail = &bytes[bytes.len().saturating_sub(STDERR_TAIL_BYTES)..];
            said.tail.extend_from_slice(tail);
            let over = said.tail.len().saturating_sub(STDERR_TAIL_BYTES);
            said.tail.drain(..over);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let pending = &mut said.written(stream).pending;
            let room = LOG_BYTES_MAX.saturating_sub(pending.len());
            pending.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.flush(said, stream);
            }
        }
    }

    /// What a sieve still keeps: nothing more comes that could make a secret of it.
    fn drain(&self, said: &mut Said, stream: Stream) {
        if let Some(mut sieve) = said.written(stream).sieve.take() {
            self.take(said, stream, &sieve.finish());
        }
    }

    fn flush(&self, said: &mut Said, stream: Stream) {
        let pending = std::mem::take(&mut said.written(stream).pending);
        let text = String::from_utf8_lossy(&pending);
        let text = text.trim_end_matches(['\r', '\n']);
        if !text.is_empty() {
            self.line(said, stream.level(), text);
        }
    }

    /// Passes on what stands without a line end, and how much was dropped.
    pub fn finish(&self) {
        let mut said = self.said.lock().expect("no panic under this lock");
        for stream in [Stream::Output, Stream::Error] {
            self.drain(&mut said, stream);
            self.flush(&mut said, stream);
        }
        if let Some(watcher) = self.watcher.as_ref().filter(|_| said.dropped > 0) {
            let message = format!("{} more log lines were dropped (limit {LOG_LINES_MAX} lines, {LOG_BYTES_MAX} bytes)", said.dropped);
            watcher.log(&self.call_id, "warn", &message);
        }
    }

    /// The last of standard error.
    pub fn stderr_tail(&self) -> String {
        let mut said = self.said.lock().expect("no panic under this lock");
        self.drain(&mut said, Stream::Error);
        String::from_utf8_lossy(&said.tail).trim().to_owned()
    }
}

impl Said {
    fn written(&mut self, stream: Stream) -> &mut Written {
        match stream {
            Stream::Output => &mut self.stdout,
            Stream::Error => &mut self.stderr,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Output,
    Error,
}

impl Stream {
    fn level(self) -> &'static str {
        match self {
            Self::Output => "info",
            Self::Error => "warn",
        }
    }
}

/// Standard output or error of a guest.
#[derive(Clone)]
pub struct Pipe(pub Arc<Console>, pub Stream);

impl IsTerminal for Pipe {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Pipe {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        // Only WASI 0.3 asks for it, which is not linked.
        Box::new(tokio::io::sink())
    }
}

impl OutputStream for Pipe {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.0.write(self.1, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES_MAX)
    }
}

impl Pollable for Pipe {
    fn ready<'a, 'b>(&'a mut self) -> Pin<Box<dyn Future<Output = ()> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(std::future::ready(()))
    }
}

impl log::Host for super::state::State {
    fn write(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        let level = match level {
            log::Level::Trace => "trace",
            log::Level::Debug => "debug",
            log::Level::Info => "info",
            log::Level::Warn => "warn",
            log::Level::Error => "error",
        };
        self.console.log(level, message);
        Ok(())
    }
}

impl progress::Host for super::state::State {
    fn report(&mut self, done: f64, total: Option<f64>, message: String) -> wasmtime::Result<()> {
        self.console.progress(done, total, message);
        Ok(())
    }
}
