//! The one engine: what compiled code may do, how many instances fit, and the thread that moves its epoch.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig};

/// How often a running guest looks at its deadline and lets others run.
pub const TICK: Duration = Duration::from_millis(5);
/// CPython wants 1 MiB.
const WASM_STACK_BYTES: usize = 1 << 20;
/// The guest's stack and room for the host functions it calls.
const ASYNC_STACK_BYTES: usize = 2 << 20;
/// A Python component has about 14 core instances.
const CORE_INSTANCES_PER_COMPONENT: u32 = 20;
/// CPython needs more than 10 000.
pub const TABLE_ELEMENTS_MAX: usize = 32_768;
/// Address space reserved per memory, so that bounds checks are page faults.
const MEMORY_RESERVATION: u64 = 4 << 30;

/// The engine that runs plugins, with `instances` slots of `memory_bytes_max` each.
///
/// Without the address space for a pool it falls back to allocating per call: slower, the same behaviour.
pub fn build(instances: u32, memory_bytes_max: u64) -> wasmtime::Result<Engine> {
    Engine::new(config().allocation_strategy(InstanceAllocationStrategy::Pooling(pool(instances, memory_bytes_max))))
        .or_else(|_| Engine::new(config().allocation_strategy(InstanceAllocationStrategy::OnDemand)))
}

fn config() -> Config {
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(true)
        .cranelift_opt_level(OptLevel::Speed)
        .max_wasm_stack(WASM_STACK_BYTES)
        .async_stack_size(ASYNC_STACK_BYTES)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .memory_reservation(MEMORY_RESERVATION)
        .memory_guard_size(32 << 20)
        .wasm_backtrace_max_frames(NonZeroUsize::new(32));
    config
}

fn pool(instances: u32, memory_bytes_max: u64) -> PoolingAllocationConfig {
    let memory_bytes = usize::try_from(memory_bytes_max.min(MEMORY_RESERVATION)).expect("64-bit addresses");
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_memories(instances * 2)
        .total_tables(instances * 8)
        .total_core_instances(instances * CORE_INSTANCES_PER_COMPONENT)
        .total_stacks(instances)
        .max_memory_size(memory_bytes)
        .table_elements(TABLE_ELEMENTS_MAX)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(2 << 20)
        .max_memories_per_component(8)
        .max_core_instances_per_component(64)
        .max_tables_per_component(64)
        .linear_memory_keep_resident(4 << 20)
        .table_keep_resident(64 << 10)
        .max_unused_warm_slots(32);
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.pagemap_scan(Enabled::Yes);
    }
    pool
}

/// Moves the epoch on while something runs, from a thread of its own: no async worker can hold it up.
#[derive(Clone)]
pub struct Ticker {
    running: Arc<AtomicUsize>,
    thread: Thread,
}

impl Ticker {
    /// The thread ends with the engine.
    pub fn start(engine: &Engine) -> std::io::Result<Self> {
        let running = Arc::new(AtomicUsize::new(0));
        let (weak, counter) = (engine.weak(), Arc::clone(&running));
        let thread = std::thread::Builder::new().name("pausegate-epoch".into()).spawn(move || {
            while let Some(engine) = weak.upgrade() {
                engine.increment_epoch();
                drop(engine);
                match counter.load(Ordering::Acquire) {
                    0 => std::thread::park_timeout(Duration::from_secs(1)),
                    _ => std::thread::sleep(TICK),
                }
            }
        })?;
        Ok(Self { running, thread: thread.thread().clone() })
    }

    /// The epoch moves while the returned value lives.
    pub fn running(&self) -> Running {
        if self.running.fetch_add(1, Ordering::AcqRel) == 0 {
            self.thread.unpark();
        }
        Running(Arc::clone(&self.running))
    }
}

pub struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
