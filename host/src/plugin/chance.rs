//! Clock and chance of a guest: what it reads and draws is recorded, so that an attempt that is made again goes the same way.

use std::sync::Arc;
use std::time::Duration;

use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::HostWallClock;
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};

use super::limits::RANDOM_BYTES_MAX;
use super::recorder::{Recorder, Stream};
use super::state::State;
use crate::clock;

/// What guests are told of the clock's steps.
const RESOLUTION: Duration = Duration::from_micros(1);

pub struct WallClock(pub Arc<Recorder>);

impl HostWallClock for WallClock {
    fn resolution(&self) -> Duration {
        RESOLUTION
    }

    fn now(&self) -> Duration {
        self.0.time(clock::since_1970)
    }
}

pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    random::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    insecure::add_to_linker::<_, HasSelf<State>>(linker, |state| state)?;
    insecure_seed::add_to_linker::<_, HasSelf<State>>(linker, |state| state)
}

impl State {
    fn draw(&self, stream: Stream, bytes: u64) -> wasmtime::Result<Vec<u8>> {
        if bytes > RANDOM_BYTES_MAX {
            wasmtime::bail!("{bytes} random bytes at once, the limit is {RANDOM_BYTES_MAX}");
        }
        Ok(self.recorder.draw(stream, bytes as usize, clock::secret))
    }

    fn number(&self, stream: Stream) -> wasmtime::Result<u64> {
        Ok(u64::from_le_bytes(self.draw(stream, 8)?.try_into().expect("eight bytes")))
    }
}

impl random::Host for State {
    fn get_random_bytes(&mut self, bytes: u64) -> wasmtime::Result<Vec<u8>> {
        self.draw(Stream::Secure, bytes)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.number(Stream::Secure)
    }
}

impl insecure::Host for State {
    fn get_insecure_random_bytes(&mut self, bytes: u64) -> wasmtime::Result<Vec<u8>> {
        self.draw(Stream::Insecure, bytes)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.number(Stream::Insecure)
    }
}

impl insecure_seed::Host for State {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        Ok((self.number(Stream::Seed)?, self.number(Stream::Seed)?))
    }
}
