//! wasmtime's streams over an open file, each use of which is checked: what was opened stays open only as long as the
//! operator gives it.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::node::OpenFile;
use super::{HeldFiles, Lines};
use crate::capability::frozen::FsOperation;

pub struct Checked<S> {
    pub stream: S,
    pub file: OpenFile,
    pub held: Arc<HeldFiles>,
}

impl<S> Checked<S> {
    fn check(&self, operation: FsOperation) -> StreamResult<()> {
        let refused = |_| StreamError::LastOperationFailed(io::Error::from(io::ErrorKind::PermissionDenied).into());
        Lines::of(&self.held).still(&self.file, operation).map_err(refused)
    }

    fn check_room(&self, bytes: usize) -> StreamResult<()> {
        let refused = |_| StreamError::LastOperationFailed(io::Error::from(rustix::io::Errno::DQUOT).into());
        self.check(FsOperation::Write)?;
        Lines::of(&self.held).take_bytes(self.file.mount, bytes as u64).map_err(refused)
    }
}

#[wasmtime_wasi::async_trait]
impl<S: Pollable> Pollable for Checked<S> {
    async fn ready(&mut self) {
        self.stream.ready().await;
    }
}

#[wasmtime_wasi::async_trait]
impl InputStream for Checked<Box<dyn InputStream>> {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.check(FsOperation::Read)?;
        self.stream.read(size)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.check(FsOperation::Read)?;
        self.stream.blocking_read(size).await
    }

    async fn cancel(&mut self) {
        self.stream.cancel().await;
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for Checked<Box<dyn OutputStream>> {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.check_room(bytes.len())?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.stream.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.stream.check_write()
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.check_room(bytes.len())?;
        self.stream.blocking_write_and_flush(bytes).await
    }

    async fn cancel(&mut self) {
        self.stream.cancel().await;
    }
}
