//! What one attempt may use: memory summed over all memories and tables, time, processor, handles, bytes per crossing.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use wasmtime::{ResourceLimiter, Store, StoreContextMut, UpdateDeadline};

use super::meter::Meter;
use super::state::State;
use crate::call::{Failure, kind};
use crate::capability::Limits;

/// Bytes a guest may make the host copy in one crossing; a result may need twice its limit.
pub const CROSSING_BYTES_MAX: u64 = 4 << 20;
/// Handles a guest may hold at once.
pub const HANDLES_MAX: usize = 4096;
/// Bytes one request for randomness may ask for.
pub const RANDOM_BYTES_MAX: u64 = 1 << 20;
/// Bytes of the headers of one HTTP message.
pub const HTTP_FIELD_BYTES_MAX: usize = 64 << 10;
/// What a table entry costs the host.
const TABLE_ENTRY_BYTES: u64 = 8;
const INSTANCES_MAX: usize = 64;

/// Why the host ended an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Cancelled,
    OutOfTime(Duration),
    OutOfCpu(Duration),
}

impl Stop {
    pub fn failure(self) -> Failure {
        match self {
            Self::Cancelled => Failure::new(kind::CANCELLED, "the call was cancelled"),
            Self::OutOfTime(limit) => Failure::new(kind::OUT_OF_TIME, format!("the call took longer than its limit of {limit:?}")),
            Self::OutOfCpu(limit) => Failure::new(kind::OUT_OF_CPU, format!("the call computed for longer than its limit of {limit:?}")),
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.failure().message)
    }
}

impl std::error::Error for Stop {}

/// When an attempt must end.
#[derive(Clone)]
pub struct Watch {
    pub deadline: Instant,
    pub time: Duration,
    pub cpu: Duration,
    pub cancel: CancellationToken,
    pub let_go: CancellationToken,
    pub meter: Arc<Meter>,
}

impl Watch {
    pub fn start(limits: &Limits, cancel: CancellationToken, let_go: CancellationToken) -> Self {
        let now = Instant::now();
        let deadline = now.checked_add(limits.time).unwrap_or(now + Duration::from_secs(365 * 24 * 3600));
        Self { deadline, time: limits.time, cpu: limits.cpu, cancel, let_go, meter: Arc::default() }
    }

    fn check(&self) -> Result<(), Stop> {
        if self.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        if Instant::now() >= self.deadline {
            return Err(Stop::OutOfTime(self.time));
        }
        if self.meter.used() >= self.cpu {
            return Err(Stop::OutOfCpu(self.cpu));
        }
        Ok(())
    }
}

/// Puts the limits on a fresh store.
pub fn install(store: &mut Store<State>, limits: &Limits) {
    store.limiter(|state| &mut state.memory);
    let crossing = CROSSING_BYTES_MAX.max(limits.output_bytes.saturating_mul(2));
    store.set_hostcall_fuel(usize::try_from(crossing).unwrap_or(usize::MAX));
    store.set_max_component_handles(HANDLES_MAX);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|cx: StoreContextMut<'_, State>| {
        cx.data().watch.check()?;
        // tokio's own yield: it lets timers and sockets have their turn, which waking ourselves would not.
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
    });
}

/// All linear memories and tables of a store together.
#[derive(Debug)]
pub struct Memory {
    limit: u64,
    used: u64,
    /// What the guest wanted when it was refused: its later abort is then told as what it is.
    pub refused: Option<u64>,
}

impl Memory {
    pub fn new(limit: u64) -> Self {
        Self { limit, used: 0, refused: None }
    }

    pub fn failure(&self) -> Option<Failure> {
        let wanted = self.refused?;
        let message = format!("the call wanted {wanted} bytes of memory, its limit is {} bytes", self.limit);
        Some(Failure::new(kind::OUT_OF_MEMORY, message))
    }

    fn grow(&mut self, more: u64) -> bool {
        let wanted = self.used.saturating_add(more);
        if wanted > self.limit {
            self.refused = Some(wanted);
            return false;
        }
        self.used = wanted;
        true
    }
}

impl ResourceLimiter for Memory {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.grow((desired - current) as u64))
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.refused.get_or_insert(self.used);
        Ok(())
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.grow((desired - current) as u64 * TABLE_ENTRY_BYTES))
    }

    fn instances(&self) -> usize {
        INSTANCES_MAX
    }

    fn tables(&self) -> usize {
        INSTANCES_MAX
    }

    fn memories(&self) -> usize {
        INSTANCES_MAX
    }
}
