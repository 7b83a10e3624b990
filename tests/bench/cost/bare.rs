//! The engine with nothing around it: the host's settings, a store, an instance, one call.

use std::num::NonZeroUsize;
use std::path::Path;

use wasmtime::component::{Component, Linker, ResourceTable, ResourceType};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView};

use self::bindings::exports::pausegate::plugin::tools::{Call, Outcome};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "pausegate:plugin/plugin",
        exports: { default: async },
    });
}

/// What the probe imports for its other tools, beside WASI proper.
const UNUSED: &[(&str, &[&str])] = &[
    ("pausegate:plugin/log@0.1.0", &["write"]),
    ("pausegate:plugin/progress@0.1.0", &["report"]),
    (
        "wasi:keyvalue/store@0.2.0-draft",
        &["open", "[method]bucket.get", "[method]bucket.set", "[method]bucket.delete", "[method]bucket.exists", "[method]bucket.list-keys"],
    ),
    ("wasi:keyvalue/atomics@0.2.0-draft", &["increment"]),
    ("wasi:keyvalue/batch@0.2.0-draft", &["get-many", "set-many", "delete-many"]),
    ("wasi:config/store@0.2.0-rc.1", &["get", "get-all"]),
];

pub struct Bare {
    engine: Engine,
    pre: bindings::PluginPre<State>,
}

#[derive(Default)]
struct State {
    table: ResourceTable,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    requests: NoRequests,
}

/// The probe imports HTTP; `echo` makes no use of it.
#[derive(Default)]
struct NoRequests;

type Sent = Result<(http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>), Error>;

impl WasiHttpHooks for NoRequests {
    fn send_request(
        &mut self,
        _request: http::Request<WasiBody>,
        _options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        Box::new(async { Err(Error::HttpRequestDenied) })
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.requests, table: &mut self.table, ctx: &mut self.http }
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Bare {
    pub fn compile(file: &Path) -> wasmtime::Result<Self> {
        let engine = Engine::new(&config())?;
        let component = Component::from_file(&engine, file)?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
        let mut store = linker.instance("wasi:keyvalue/store@0.2.0-draft")?;
        store.resource("bucket", ResourceType::host::<()>(), |_, _| Ok(()))?;
        for (interface, functions) in UNUSED {
            let mut instance = linker.instance(interface)?;
            for function in *functions {
                instance.func_new(function, |_, _, _, _| wasmtime::bail!("`echo` uses none of these"))?;
            }
        }
        let pre = bindings::PluginPre::new(linker.instantiate_pre(&component)?)?;
        Ok(Self { engine, pre })
    }

    pub async fn calls(&self, arguments: &str, count: usize) -> wasmtime::Result<()> {
        for _ in 0..count {
            let mut store = Store::new(&self.engine, State::default());
            // Nobody moves the epoch here.
            store.set_epoch_deadline(1);
            let plugin = self.pre.instantiate_async(&mut store).await?;
            let outcome = plugin.pausegate_plugin_tools().call_call_tool(&mut store, &call(arguments)).await?;
            wasmtime::ensure!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
        }
        Ok(())
    }
}

fn call(arguments: &str) -> Call {
    Call {
        id: "tc_01jgfj1zzz0000000000000000".to_owned(),
        tool: "echo".to_owned(),
        arguments: arguments.to_owned(),
        attempt: 1,
        idempotency_key: "0".repeat(64),
        time_left_ms: 30_000,
        approved: false,
        answers: Vec::new(),
        state: None,
        meta: Vec::new(),
    }
}

/// As in the host's `plugin/engine.rs`: what is compared is what stands around the engine.
fn config() -> Config {
    const INSTANCES: u32 = 256;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(INSTANCES)
        .total_memories(INSTANCES * 2)
        .total_tables(INSTANCES * 8)
        .total_core_instances(INSTANCES * 20)
        .total_stacks(INSTANCES)
        .max_memory_size(256 << 20)
        .table_elements(32_768)
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
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(true)
        .cranelift_opt_level(OptLevel::Speed)
        .max_wasm_stack(1 << 20)
        .async_stack_size(2 << 20)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .memory_reservation(4 << 30)
        .memory_guard_size(32 << 20)
        .wasm_backtrace_max_frames(NonZeroUsize::new(32))
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}
