//! An error of wasmtime as the failure that the chain sees.

use wasmtime::{Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use super::limits::Stop;
use super::state::State;
use super::text::cut;
use crate::call::{Failure, kind};

/// Bytes of a message about a trap, the guest's last words included.
pub const MESSAGE_BYTES_MAX: usize = 4 << 10;
/// wasmtime keeps the type of this error to itself, so its words are all there is.
const CROSSING_WORDS: &str = "fuel allocated for hostcalls has been exhausted";

pub fn failure(error: &wasmtime::Error, state: &State) -> Failure {
    if let Some(stop) = error.downcast_ref::<Stop>() {
        return stop.failure();
    }
    if let Some(out_of_memory) = state.memory.failure() {
        return out_of_memory;
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return trapped(&format!("the plugin exited with status {}", exit.0), state);
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        let place = error.downcast_ref::<WasmBacktrace>().and_then(|trace| trace.frames().iter().find_map(|frame| frame.func_name()));
        let place = place.map(|name| format!(" in `{}`", cut(name, 200))).unwrap_or_default();
        return trapped(&format!("the plugin trapped: {trap}{place}"), state);
    }
    if error.chain().any(|cause| cause.to_string().contains(CROSSING_WORDS)) {
        return Failure::new(kind::TOO_LARGE, "the plugin handed over more bytes at once than the host takes");
    }
    trapped(&format!("the plugin failed: {}", error.root_cause()), state)
}

fn trapped(what: &str, state: &State) -> Failure {
    let said = state.console.stderr_tail();
    let message = if said.is_empty() { what.to_owned() } else { format!("{what}; it said: {said}") };
    Failure::new(kind::TRAPPED, cut(&message, MESSAGE_BYTES_MAX).into_owned())
}
