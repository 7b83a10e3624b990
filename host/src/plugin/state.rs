//! The store of one attempt, and the linker that gives every component the same imports over it.

use std::collections::BTreeMap;
use std::sync::Arc;

use wasmtime::Engine;
use wasmtime::component::{HasSelf, Linker, ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::bindings;
use super::chance::WallClock;
use super::console::{Console, Pipe, Stream};
use super::fs::Files;
use super::http::Requests;
use super::keyvalue::Values;
use super::ledger::Ledger;
use super::limits::{HANDLES_MAX, HTTP_FIELD_BYTES_MAX, Memory, Watch};
use super::net::Net;
use super::recorder::Recorder;
use crate::capability::{Held, Limits};

pub struct State {
    pub table: ResourceTable,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    requests: Requests,
    pub files: Files,
    pub config: BTreeMap<String, String>,
    pub values: Values,
    pub memory: Memory,
    pub console: Arc<Console>,
    pub recorder: Arc<Recorder>,
    pub watch: Watch,
}

impl State {
    pub fn new(mut held: Held, limits: &Limits, watch: Watch, console: Arc<Console>, ledger: Arc<Ledger>, net: Arc<Net>, values: Values) -> Self {
        let mut wasi = WasiCtx::builder();
        let recorder = Arc::clone(&ledger.recorder);
        wasi.wall_clock(WallClock(Arc::clone(&recorder)))
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false)
            .stdout(Pipe(Arc::clone(&console), Stream::Output))
            .stderr(Pipe(Arc::clone(&console), Stream::Error));
        for (name, value) in &held.env {
            wasi.env(name, value);
        }
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES_MAX);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(HTTP_FIELD_BYTES_MAX);
        Self {
            table,
            wasi: wasi.build(),
            http,
            requests: Requests::new(&held, watch.deadline, Arc::clone(&ledger), net),
            config: std::mem::take(&mut held.config),
            values,
            files: Files::new(&held, limits, ledger),
            memory: Memory::new(limits.memory_bytes),
            console,
            recorder,
            watch,
        }
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.requests, table: &mut self.table, ctx: &mut self.http }
    }
}

/// Everything is linked; what an attempt holds decides what works.
pub fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    bindings::log::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    bindings::progress::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    super::keyvalue::add_to_linker(&mut linker)?;
    super::config::add_to_linker(&mut linker)?;
    // Our own checks stand in front of wasmtime's filesystem, and chance is recorded, so these interfaces are replaced.
    linker.allow_shadowing(true);
    super::fs::add_to_linker(&mut linker)?;
    super::chance::add_to_linker(&mut linker)?;
    linker.allow_shadowing(false);
    Ok(linker)
}
