//! What the host's tests run inside the sandbox: one small tool for each limit, door and promise. Well-behaved tools
//! are in `plugins/`; here a tool does the forbidden thing and tells what came of it.
//!
//! A tool whose name ends in `_as_reader` is declared `read-only` and does not keep to it.

mod files;
mod hoards;
mod limits;
mod pauses;
mod raw;
mod secrets;
mod stepwise;
mod telling;
mod values;
mod web;

use files::{append_then_sleep, fs_all, fs_as_reader, fs_op};
use hoards::{choices, headers, logline, pollables};
use limits::{alloc, big, bigerror, boom, counter, echo, echo_once, env, exit, fail, logflood, print, progress, random, recurse, sleep, spin};
use pauses::{approve_then_empty, ask_color_then_write, bad_result, pause, pause_forever, reserved, swallow};
use raw::Probe;
use secrets::{remembers, say};
use stepwise::step_by_step;
use telling::retold;
use values::{kv, kv_as_reader, settings};
use web::{at_once, drip, follow, http, http_as_reader, sockets, times_out, upload};

pausegate_sdk::plugin! {
    /// The tools that the SDK can make; `raw` has those that break the contract in ways it does not let one.
    pub(crate) struct Tools {
        tools: [
            echo, echo_once, spin, sleep, alloc, recurse, boom, big, bigerror, fail, exit, print, logflood, progress,
            env, random, counter, pause, pause_forever, ask_color_then_write, approve_then_empty, swallow, reserved,
            pollables, headers, logline, choices, bad_result, fs_op, fs_all, fs_as_reader, append_then_sleep, http, http_as_reader, drip,
            kv, kv_as_reader, settings,
            at_once, follow, sockets, times_out, upload, say, remembers, step_by_step, retold,
        ],
    }
}

pausegate_sdk::export! { plugin: Probe }

#[cfg(test)]
mod tests {
    use pausegate_sdk::Plugin as _;

    #[test]
    fn every_tool_has_a_name_of_its_own() {
        assert_eq!(super::Probe::catalog().unwrap().tools.len(), 50);
    }
}
